"""`decpomdp list`, `decpomdp info` and `decpomdp simulate`."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from decpomdp.cli import options, words

if TYPE_CHECKING:
    from decpomdp.core import DecPOMDP, Episodes, Simulator, Watch
    from decpomdp.engines.cluster import Cluster
    from decpomdp.planners.pbvi.method import PbviFit

WIDTH = 100  # columns of the rules
PBVI = "pbvi"  # the joint policy of the centralised problem
BELIEFS = 500  # limit of its planning: a time limit would make the episodes depend on the machine


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


def simulate(
    problem: Annotated[str, typer.Argument(help=options.PROBLEM)],
    policy: Annotated[
        str,
        typer.Option(
            help="`random`, a policy of the problem, the path of a team.json, or `pbvi`: the policy of one agent that "
            "sees and does everything."
        ),
    ] = "random",
    episodes: Annotated[int, typer.Option(min=1, help="Number of episodes.")] = 1000,
    horizon: Annotated[int, typer.Option(min=1, help="Steps per episode.")] = 50,
    explore: Annotated[
        float, typer.Option(min=0, max=1, help="Probability that an agent acts uniformly at random instead.")
    ] = 0.0,
    seed: options.Seed = 0,
    discount: options.Discount = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the episodes to this file: CSV if the name ends in .csv, else Parquet.")
    ] = None,
    as_json: options.Json = False,
    engine: options.Engine = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Play a policy and record observations, actions with their probabilities, and rewards."""
    from decpomdp.core import Episodes
    from decpomdp.domains.load import load_named
    from decpomdp.evaluation.sampled import mean_return
    from decpomdp.io.episodes import EpisodeWriter
    from decpomdp.io.files import is_csv

    model = load_named(problem, discount)
    facts = {
        **getattr(model, "facts", {}),
        "policy": policy,
        "explore": str(explore),
        "seed": str(seed),
        "horizon": str(horizon),
    }
    returns = []
    with options.cluster_of(engine, scheduler) as cluster, words.counting(episodes, "episodes") as progress:
        pieces = _watched(_pieces(model, policy, explore, episodes, horizon, seed, cluster), progress)
        if out is None:
            returns = [piece.returns() for piece in pieces]
        elif is_csv(str(out)):  # at once; an episodes file is written part by part
            played = list(pieces)
            Episodes.concatenate(played).save(out)
            returns = [piece.returns() for piece in played]
        else:
            with EpisodeWriter(out, model.agents, model.discount, model.name, facts) as writer:
                for piece in pieces:
                    writer.add(piece)
                    returns.append(piece.returns())
    mean, spread = mean_return(returns)
    error = spread if episodes > 1 else None
    result = {
        "problem": model.name,
        "policy": policy,
        "episodes": episodes,
        "horizon": horizon,
        "steps": episodes * horizon,
        "discount": model.discount,
        "seed": seed,
        "mean_return": mean,
        "standard_error": error,
        "out": None if out is None else str(out),
    }
    more = "" if error is None else f" +- {words.decimal(error)} (standard error)"
    lines = [
        f"{episodes} episodes of {horizon} steps of {model.name}, policy {policy}",
        f"mean discounted return {words.decimal(mean)}{more}",
    ]
    words.tell(result, as_json, lines if out is None else [*lines, f"written to {out}"])


def _watched(pieces: "Iterator[Episodes]", progress: "Watch | None") -> "Iterator[Episodes]":
    """The same pieces; shows the number of played episodes."""
    count = 0
    for piece in pieces:
        count += piece.count
        if progress is not None:
            progress({"episodes": count})
        yield piece


def _pieces(
    model: "DecPOMDP | Simulator",
    policy: str,
    explore: float,
    episodes: int,
    horizon: int,
    seed: int,
    cluster: "Cluster | None",
) -> "Iterator[Episodes]":
    """The episodes, a bounded number at a time."""
    if policy == PBVI:
        from decpomdp.api import plan
        from decpomdp.core import DecPOMDP, InputError
        from decpomdp.planners.pbvi.semi_random import semi_random

        if not isinstance(model, DecPOMDP):
            raise InputError(f"--policy pbvi: expected a problem with a model, got {model.name}")
        if cluster is not None:
            raise InputError("--policy pbvi: expected --engine threads, got dask")
        planned = cast("PbviFit", plan(model, "pbvi", beliefs=BELIEFS, seed=seed))
        return semi_random(model, planned.policy, 1 - explore, episodes=episodes, steps=horizon, seed=seed)
    from decpomdp.rollouts import stream

    return stream(model, policy, episodes, horizon, seed, explore=explore, engine=cluster)
