"""`decpomdp list` and `decpomdp info`."""

import textwrap
from typing import Annotated, Any

import typer

from decpomdp.cli import options, words

WIDTH = 100  # columns of the rules


def list_problems(as_json: options.Json = False) -> None:
    """List the built-in problems by group; names may have parameters: firefighting:3,4,3."""
    from decpomdp.domains import registry

    every = (*registry.problems(), *registry.simulators())
    families = {name: registry.family(name) for name in every}
    known = [{"name": name, "group": own.group, "summary": own.summary} for name, own in families.items()]
    if as_json:
        words.tell({"problems": known}, True, ())
        return
    rows: list[tuple[str, str]] = []
    for title in dict.fromkeys(problem["group"] for problem in known):
        own = [(problem["name"], problem["summary"]) for problem in known if problem["group"] == title]
        rows += [("", ""), (f"{title}:", ""), *own]
    words.table(("problem", "description"), rows[1:])


def info(
    problem: Annotated[str, typer.Argument(help=options.PROBLEM)],
    discount: options.Discount = None,
    as_json: options.Json = False,
) -> None:
    """Show states, agents, actions, observations and rewards of a problem."""
    from decpomdp.core import DecPOMDP
    from decpomdp.domains import registry
    from decpomdp.domains.load import load_named
    from decpomdp.domains.references import best_known

    model = load_named(problem, discount)
    agents = [
        {"name": agent.name, "actions": list(agent.actions), "observations": list(agent.observations)}
        for agent in model.agents
    ]
    result: dict[str, Any] = {"name": model.name, "discount": model.discount, "agents": agents}
    if isinstance(model, DecPOMDP):
        result |= {
            "states": list(model.states),
            "joint_actions": model.joint_actions,
            "joint_observations": model.joint_observations,
            "reward": {"min": float(model.reward.min()), "max": float(model.reward.max())},
            "start": {state: float(p) for state, p in zip(model.states, model.start, strict=True) if p > 0},
            "digest": model.digest(),
            "rules": registry.rules_of(problem) if registry.is_model(problem) else None,
            "best_known": best_known(model),
        }
        lines = _model_lines(result)
    else:
        states = getattr(model, "states", None)
        result |= {"states": states if isinstance(states, int) else None, "model": False}
        many = "" if result["states"] is None else f", {states:.3g} states"
        lines = [f"{model.name}: {len(agents)} agents{many}; simulator only (no model)", f"discount {model.discount:g}"]
    alike = len(agents) > 2 and all({**agent, "name": ""} == {**agents[0], "name": ""} for agent in agents)
    for agent in agents[:1] if alike else agents:
        lines += [
            f"{agent['name']} .. {agents[-1]['name']}" if alike else f"{agent['name']}",
            f"  actions      {' '.join(agent['actions'])}",
            f"  observations {' '.join(agent['observations'])}",
        ]
    result["note"] = registry.note(problem)
    words.tell(result, as_json, lines if result["note"] is None else [*lines, f"note: {result['note']}"])


def _model_lines(result: dict[str, Any]) -> list[str]:
    start = ", ".join(f"{state} ({p:.4g})" for state, p in list(result["start"].items())[:4])
    more = " ..." if len(result["start"]) > 4 else ""
    lines = [
        f"{result['name']}: {len(result['agents'])} agents, {len(result['states'])} states, "
        f"{result['joint_actions']} joint actions, {result['joint_observations']} joint observations",
        f"discount {result['discount']:g}, rewards from {result['reward']['min']:g} to {result['reward']['max']:g}",
        f"starts in {start}{more}",
    ]
    if result["best_known"] is not None:
        lines.append(f"best known value {result['best_known']['value']:.6g} ({result['best_known']['by']})")
    return lines if result["rules"] is None else [*lines, "", *textwrap.wrap(result["rules"], WIDTH), ""]
