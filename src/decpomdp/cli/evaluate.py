"""`decpomdp evaluate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from decpomdp.cli import options, words
from decpomdp.cli.words import decimal

if TYPE_CHECKING:
    from decpomdp.core import Team
    from decpomdp.evaluation import OffPolicyValue


def evaluate(
    team_file: Annotated[Path, typer.Argument(metavar="TEAM.json", help="The team to evaluate.")],
    problem: Annotated[
        str | None, typer.Option(help=options.PROBLEM + " Default: the problem named in the team.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Steps of an episode. Default: infinite.", show_default=False)
    ] = None,
    test_episodes: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Estimate from this many test episodes. Default without a model: 20 to 1000, as 10 s allow.",
        ),
    ] = None,
    logged: Annotated[
        Path | None, typer.Option("--episodes", metavar="FILE", help="Estimate from these recorded episodes.")
    ] = None,
    reward_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="With --episodes: range of possible rewards, for the guaranteed interval. Default: that of the file.",
        ),
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="With --episodes: confidence level of the intervals. Default: 0.95.")
    ] = None,
    seed: options.Seed = 0,
    discount: Annotated[
        float | None, typer.Option(help="Use this discount instead of the team's own (with --episodes: the file's).")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compute the exact expected discounted reward of a team, or estimate it from test or recorded episodes."""
    from decpomdp.cli import after, runs
    from decpomdp.core import DecPOMDP, InputError
    from decpomdp.domains.load import is_code, is_file, load, load_named
    from decpomdp.domains.registry import is_built_in
    from decpomdp.evaluation import exact_value, sampled_value
    from decpomdp.io.team import read_team
    from decpomdp.planners.common import PREFIX, played_by
    from decpomdp.rollouts import as_simulator

    team = read_team(team_file)
    if logged is not None:
        if problem is not None or test_episodes is not None:
            raise InputError("--episodes: cannot be combined with --problem or --test-episodes")
        _evaluate_logged(team, team_file, logged, horizon, reward_range, confidence, seed, discount, as_json)
        return
    if reward_range is not None or confidence is not None:
        raise InputError("--reward-range, --confidence: only with --episodes")
    if problem is None and not team.problem:
        raise InputError(f"{team_file} names no problem; pass --problem, or --episodes for recorded episodes")
    name = (problem or team.problem).removeprefix(PREFIX)  # a centralised team is evaluated on the one-agent version
    if problem is None:
        source = runs.source_at(team_file, f"--problem {runs.CODE}")
        name = source if is_file(source) else name
        if not (is_built_in(name) or is_file(name) or is_code(name)):
            raise InputError(f"{team_file} is a team for {name}, which is not built in; pass --problem")
    opened = (load if problem is None else load_named)(name, team.discount if discount is None else discount)
    model = played_by(opened, team) if isinstance(opened, DecPOMDP) else opened
    shared = {"problem": model.name, "discount": model.discount, "nodes": list(team.nodes), "team": str(team_file)}
    span = "infinite horizon" if horizon is None else f"over {horizon} steps"
    if test_episodes is None and isinstance(model, DecPOMDP):
        exact = exact_value(model, team, horizon)
        result = {"value": exact.value, "error": exact.error, "method": exact.precision, "horizon": horizon, **shared}
        line = f"value {decimal(exact.value, 6)} ({exact.precision}, {span}, discount {model.discount:g})"
    else:
        test_episodes = test_episodes or after.fresh_episodes(as_simulator(model), team, horizon)
        with words.counting(test_episodes, "test episodes") as progress:
            sampled = sampled_value(model, team, test_episodes, horizon, seed, watch=progress)
        result = {
            "value": sampled.value,
            "standard_error": sampled.standard_error,
            "method": "sampled",
            "test_episodes": test_episodes,
            "horizon": sampled.horizon,
            "seed": seed,
            **shared,
        }
        line = (
            f"value {decimal(sampled.value)} +- {decimal(sampled.standard_error)} (standard error of {test_episodes} "
            f"episodes of {sampled.horizon} steps, discount {model.discount:g})"
        )
    nodes = ", ".join(f"{agent.name} {count}" for agent, count in zip(team.agents, team.nodes, strict=True))
    if len(team.agents) > after.MANY:
        nodes = after.sizes(team.nodes)
    words.tell(result, as_json, [line, f"on {model.name}; nodes: {nodes}"])


def _evaluate_logged(
    team: "Team",
    team_file: Path,
    logged: Path,
    horizon: int | None,
    reward_range: tuple[float, float] | None,
    confidence: float | None,
    seed: int,
    discount: float | None,
    as_json: bool,
) -> None:
    from dataclasses import asdict

    from decpomdp.api import episodes_for
    from decpomdp.evaluation import offpolicy_value

    level = 0.95 if confidence is None else confidence
    estimates = offpolicy_value(episodes_for(team, logged, discount), team, horizon, reward_range, level, seed=seed)
    result: dict[str, Any] = {
        "value": estimates.self_normalised.value,
        "method": "off-policy",
        **asdict(estimates),
        "sample_size": estimates.sample_size,
        "seed": seed,
        "nodes": list(team.nodes),
        "team": str(team_file),
        "logged": str(logged),
    }
    words.tell(result, as_json, _lines(estimates, logged))
    for warning in estimates.warnings:
        words.note(f"warning: {warning}")


def _lines(estimates: "OffPolicyValue", logged: Path) -> list[str]:
    """The estimates as lines of text."""
    percent = f"{100 * estimates.confidence:g} %"
    rows = (
        ("self-normalised", estimates.self_normalised),
        ("per-decision", estimates.per_decision),
        ("ordinary", estimates.ordinary),
    )
    possible = estimates.sample_size > 0  # otherwise the estimates are meaningless
    return [
        f"value over {estimates.horizon} steps from {estimates.episodes} episodes of {logged} "
        f"(discount {estimates.discount:g})",
        *(
            f"  {name:16} {decimal(row.value) if possible else '-'}   "
            f"bootstrap {percent}: {decimal(row.low)} to {decimal(row.high)}"
            for name, row in rows
        ),
        _guaranteed(estimates, percent),
        f"  effective sample size {estimates.sample_size:.1f} of {estimates.episodes}; "
        f"by step: {_sizes(estimates.sample_sizes)}",
    ]


def _guaranteed(estimates: "OffPolicyValue", percent: str) -> str:
    """The proved interval; not called guaranteed if the range of rewards was taken from the data."""
    low, high = estimates.reward_range
    ends = f"{decimal(estimates.guaranteed[0])} to {decimal(estimates.guaranteed[1])}"
    if estimates.range_from_data:
        condition = f"guaranteed only if no reward can be outside {low:g} to {high:g}, the range in the file"
        return f"  {'within the range':16} {ends} with {percent}, {condition} (--reward-range)"
    return f"  {'guaranteed':16} {ends} with {percent}, if all rewards are within {low:g} and {high:g}"


def _sizes(sizes: tuple[float, ...], shown: int = 12) -> str:
    """The sample sizes of all steps, or of evenly chosen steps."""
    picks = sorted({round(i * (len(sizes) - 1) / max(1, shown - 1)) for i in range(shown)})
    return " ".join(f"{t}:{sizes[t]:.4g}" for t in picks)
