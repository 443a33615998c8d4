"""`decpomdp evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from decpomdp.cli import words


def evaluate(
    team_file: Annotated[Path, typer.Argument(metavar="TEAM.json", help="The team to evaluate.")],
    problem: Annotated[
        str | None, typer.Option("--problem", help=words.PROBLEM + " Default: the one the team names.")
    ] = None,
    horizon: Annotated[int | None, typer.Option("--horizon", min=1, help="Steps; for ever when left out.")] = None,
    test_episodes: Annotated[
        int | None, typer.Option("--test-episodes", min=2, help="Estimate from this many episodes instead.")
    ] = None,
    seed: words.Seed = 0,
    discount: Annotated[
        float | None, typer.Option("--discount", help="Use this discount instead of the team's own.")
    ] = None,
    as_json: words.Json = False,
) -> None:
    """Compute the exact expected discounted reward of a team, or estimate it from test episodes."""
    from decpomdp.core import InputError
    from decpomdp.domains.load import load
    from decpomdp.evaluation import exact_value, sampled_value
    from decpomdp.io.team import read_team

    team = read_team(team_file)
    if problem is None and not team.problem:
        raise InputError(f"{team_file} names no problem; say which with --problem")
    model = load(problem or team.problem, team.discount if discount is None else discount)
    shared = {"problem": model.name, "discount": model.discount, "nodes": list(team.nodes), "team": str(team_file)}
    span = "for ever" if horizon is None else f"over {horizon} steps"
    if test_episodes is None:
        exact = exact_value(model, team, horizon)
        result = {"value": exact.value, "error": exact.error, "method": "exact", "horizon": horizon, **shared}
        line = f"value {exact.value:.6f} (exact, {span}, discount {model.discount:g})"
    else:
        sampled = sampled_value(model, team, test_episodes, horizon, seed)
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
            f"value {sampled.value:.4f} +- {sampled.standard_error:.4f} (standard error of {test_episodes} episodes "
            f"of {sampled.horizon} steps, discount {model.discount:g})"
        )
    nodes = ", ".join(f"{agent.name} {count}" for agent, count in zip(team.agents, team.nodes, strict=True))
    words.tell(result, as_json, [line, f"on {model.name}; nodes: {nodes}"])
