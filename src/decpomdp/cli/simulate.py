"""`decpomdp simulate`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from decpomdp.cli import options, words

if TYPE_CHECKING:
    from decpomdp.core import DecPOMDP, Episodes, Simulator, Watch
    from decpomdp.engines.cluster import Cluster
    from decpomdp.planners.pbvi.method import PbviFit

PBVI = "pbvi"  # the joint policy of the centralised problem
BELIEFS = 500  # limit of its planning: a time limit would make the episodes depend on the machine


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
    out: Annotated[Path | None, typer.Option(help="Write the episodes to this Parquet file.")] = None,
    as_json: options.Json = False,
    engine: options.Engine = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Play a policy and record observations, actions with their probabilities, and rewards."""
    from decpomdp.domains.load import load_named
    from decpomdp.evaluation.sampled import mean_return
    from decpomdp.io.episodes import EpisodeWriter

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
