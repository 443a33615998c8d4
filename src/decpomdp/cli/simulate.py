"""`decpomdp simulate`."""

from pathlib import Path
from typing import Annotated

import typer

from decpomdp.cli import words


def simulate(
    problem: Annotated[str, typer.Argument(help=words.PROBLEM)],
    policy: Annotated[str, typer.Option("--policy", help="`random`, or the path of a team.json.")] = "random",
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="How many episodes to play.")] = 1000,
    horizon: Annotated[int, typer.Option("--horizon", min=1, help="Steps per episode.")] = 50,
    explore: Annotated[
        float, typer.Option("--explore", min=0, max=1, help="Probability of a uniformly random action in every node.")
    ] = 0.0,
    seed: words.Seed = 0,
    discount: words.Discount = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the episodes to this Parquet file.")] = None,
    as_json: words.Json = False,
) -> None:
    """Play a policy and record what each agent saw and did, with which probability, and the rewards."""
    import numpy as np

    from decpomdp.cli.policy import team_for
    from decpomdp.core import InputError
    from decpomdp.domains.load import load
    from decpomdp.io.episodes import EpisodeWriter
    from decpomdp.rollouts import stream

    model = load(problem, discount)
    team = team_for(policy, model)
    pieces = stream(model, team.exploring(explore) if explore else team, episodes, horizon, seed)
    facts = {"policy": policy, "explore": str(explore), "seed": str(seed), "horizon": str(horizon)}
    returns = []
    if out is None:
        returns = [piece.returns() for piece in pieces]
    else:
        with EpisodeWriter(out, model.agents, model.discount, model.name, facts) as writer:
            for piece in pieces:
                writer.add(piece)
                returns.append(piece.returns())
    every = np.concatenate(returns)
    if not np.all(np.isfinite(every)):
        raise InputError("returns: the rewards are too large to be added up in floating point")
    error = float(every.std(ddof=1) / np.sqrt(len(every))) if len(every) > 1 else None
    result = {
        "problem": model.name,
        "policy": policy,
        "episodes": episodes,
        "horizon": horizon,
        "steps": episodes * horizon,
        "discount": model.discount,
        "seed": seed,
        "mean_return": float(every.mean()),
        "standard_error": error,
        "out": None if out is None else str(out),
    }
    spread = "" if error is None else f" +- {error:.4f} (standard error)"
    lines = [
        f"{episodes} episodes of {horizon} steps of {model.name}, policy {policy}",
        f"mean discounted return {every.mean():.4f}{spread}",
    ]
    words.tell(result, as_json, lines if out is None else [*lines, f"written to {out}"])
