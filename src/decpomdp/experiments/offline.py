"""The work of a cell of figure 1 and of the robustness grid: learn once from recorded episodes.

The episodes are those of the semi-random behaviour: every agent follows the PBVI policy of the centralised problem
with some probability and is random otherwise. Dec-SBPR begins with the best episodes and a truncation, EM with random
controllers of a fixed size, or (em-best) with the best episodes too.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from time import process_time
from typing import Any, Literal, cast

import msgspec
import numpy as np

from decpomdp.api import learn, plan
from decpomdp.core import DecPOMDP, Team, concatenate
from decpomdp.core.fit import Row, Watch
from decpomdp.domains.load import load_model
from decpomdp.evaluation import exact_value
from decpomdp.experiments.cells import Settings
from decpomdp.experiments.published import DISCOUNT
from decpomdp.learners import BayesFit, ExpectationMaximisation, Prior, Sbpr, StickBreaking
from decpomdp.planners.pbvi.method import AlphaPolicy, PbviFit
from decpomdp.planners.pbvi.semi_random import semi_random
from decpomdp.rollouts import simulate

RISE = 1e-3  # of the bound: where the paper stops
ROUNDING = 1e-8  # of the bound: a smaller fall is rounding
BELIEFS = 500  # of PBVI: enough for its bounds to meet on the problems used here
SIZED = ("em", "em-best")  # methods of given sizes


class OfflineResult(msgspec.Struct, frozen=True):
    """The result of a cell."""

    value: float  # exact, of the posterior mean
    decided: float  # of its likeliest choices
    inferred: float | None  # nodes occupied in the posterior
    nodes: float
    sample_size: float | None  # effective number of episodes at the weakest step
    behaviour: float  # mean return of the episodes
    sweeps: int
    stopped: str
    seconds: float
    falls: int  # sweeps in which the bound fell
    paper_sweeps: int  # until the paper would have stopped
    paper_seconds: float


def work(settings: Settings) -> OfflineResult:
    """One fit; the seed is that of the data and of the start."""
    model = _model(settings["problem"])
    counts = {key: settings[key] for key in ("episodes", "steps", "seed")}
    expert = _expert(settings["problem"])
    data = concatenate(list(semi_random(model, expert, settings["follow"], threads=1, **counts)))
    fixed = settings["method"] in SIZED
    keys = ("sweeps", "tolerance", "preset", "evidence", *(() if fixed else ("truncation",)))
    options = {key: settings[key] for key in keys}
    begin: Literal["best", "random"] = "random" if settings["method"] == "em" else "best"
    _warm_up()
    began = process_time()
    method = Sbpr(prior=_prior(settings), start=begin, judge=False, **options)
    early = settings["stop"] == "paper"
    watch = _stop_like_paper() if early else None
    fit = cast(BayesFit, learn(data, method, seed=settings["seed"], threads=1, watch=watch))
    seconds = process_time() - began
    best: Mapping[str, Any] = max(fit.trace, key=lambda row: row["bound"])
    return OfflineResult(
        value=exact_value(model, fit.mean or fit.team).value,
        decided=exact_value(model, fit.team).value,
        inferred=float(np.mean(fit.posterior.sizes)) if fit.posterior is not None else None,
        nodes=float(np.mean(fit.team.nodes)),
        sample_size=best["sample_size"],
        behaviour=float(data.returns().mean()),
        sweeps=len(fit.trace) - 1,
        stopped="converged" if early and fit.stopped == "callback" else fit.stopped,
        seconds=seconds,
        **papers_stop(fit.trace, seconds),
    )


def _stop_like_paper() -> Watch:
    """Ends a fit where the paper would stop it."""
    bounds: list[float] = []

    def watch(row: Row) -> bool:
        bounds.append(float(row["bound"]))  # type: ignore[arg-type]
        return len(bounds) > 1 and bounds[-1] - bounds[-2] <= RISE * abs(bounds[-2])

    return watch


def papers_stop(trace: Sequence[Row], seconds: float) -> dict[str, Any]:
    """The time of the paper's stop, when the bound rises by less than 1e-3 of itself; and how often the bound fell."""
    bounds, times = (np.array([row[key] for row in trace], np.float64) for key in ("bound", "seconds"))
    rises = np.diff(bounds) / np.maximum(np.abs(bounds[:-1]), 1e-300)
    small = np.flatnonzero(rises <= RISE)
    last = int(small[0]) + 1 if len(small) else len(bounds) - 1
    share = times[last] / times[-1] if times[-1] > 0 else 1.0
    return {"falls": int((rises < -ROUNDING).sum()), "paper_sweeps": last, "paper_seconds": float(seconds * share)}


def _prior(settings: Settings) -> Prior | str:
    if settings["method"] in SIZED:
        return ExpectationMaximisation(settings["nodes"])
    if "c" not in settings:
        return "dp" if settings["method"] == "dp" else "stick-breaking"
    given = {key: settings[key] for key in ("c", "d", "reading")}
    return StickBreaking(shared=settings["method"] == "dp", **given)


@cache
def _model(problem: str) -> DecPOMDP:
    """Loaded once per process, because cells are many and short."""
    return load_model(problem, DISCOUNT)


@cache
def _expert(problem: str) -> AlphaPolicy:
    """The PBVI policy of the semi-random behaviour; planned once per process."""
    return cast(PbviFit, plan(_model(problem), "pbvi", beliefs=BELIEFS, threads=1)).policy


@cache
def _warm_up() -> None:
    """Load compiled code, once per process; this time is not part of any cell."""
    model = load_model("broadcast", DISCOUNT)
    data = simulate(model, Team.uniform(model), 20, 5)
    learn(data, Sbpr(prior="em:2", sweeps=6), threads=1)
    learn(data, Sbpr(sweeps=6, truncation=5), threads=1)
