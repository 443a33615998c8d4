"""`plan`: a model goes in, a team with a proved value comes out."""

import inspect
import os
from collections.abc import Callable
from typing import Any

from decpomdp.core import DecPOMDP, Fit, InputError, Team, Watch, checks, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.progress import watching
from decpomdp.domains.load import opened_model

METHODS = ("fb-hsvi", "periem", "em", "pbvi")

Problem = str | os.PathLike[str] | DecPOMDP


def plan(
    problem: Problem,
    method: str = "fb-hsvi",
    *,
    discount: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: bool = False,
    watch: Watch = unwatched,
    keeper: Keeper = UNKEPT,
    **options: Any,
) -> Fit:
    """Plan a team for a problem whose model is known.

    Parameters
    ----------
    problem
        The name of a built-in problem, a `.dpomdp` file, or a model.
    method
        "fb-hsvi" (heuristic search with bounds), "periem" (periodic controllers), "em" (expectation maximisation), or
        "pbvi": one agent that sees and does everything. Its team is for `centralised(problem)`, and its upper bound
        holds for every team.
    discount
        Use this discount instead of the problem's own.
    seed
        Fixes every random choice.
    time_limit
        Seconds after which the best team so far is returned.
    threads
        How many threads to use; all cores by default. The result does not depend on it.
    progress
        Show how it goes on, in a terminal or a notebook.
    watch
        Called with every new row of the trace.
    keeper
        Keeps the state of the work, so that it can be killed and continued: see `decpomdp.io.checkpoints.Checkpoints`.
    options
        What the method takes beside: see `fb_hsvi`, `periem`, `em` and `pbvi` in `decpomdp.planners`.

    Returns
    -------
    Fit
        The team, the trace with the bounds, and why it stopped.

    Raises
    ------
    InputError
        An argument is of the wrong kind or unknown, or the problem has no model.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.plan("dectiger", "pbvi")
    >>> fit.stopped
    'converged'
    >>> round(dp.evaluate(fit.team, played_by(dp.load("dectiger"), fit.team)).value, 3)
    59.817
    """
    planner = planner_named(checks.one_of("method", method, METHODS))
    unknown = sorted(set(options) - set(own_options(planner)))
    if unknown:
        raise InputError(
            f"{method}: expected options among {', '.join(own_options(planner)) or 'none'}, got {', '.join(unknown)}"
        )
    model = opened_model(problem, discount)
    with watching(checks.truth("progress", progress), checks.callback("watch", watch)) as watched:
        return planner(
            model, seed=seed, time_limit=time_limit, threads=threads, watch=watched, keeper=keeper, **options
        )


def planner_named(method: str) -> Callable[..., Fit]:
    """Imported when it is wanted: each brings its kernels along."""
    if method == "fb-hsvi":
        from decpomdp.planners.fb_hsvi import fb_hsvi

        return fb_hsvi
    if method == "periem":
        from decpomdp.planners.periodic import periem

        return periem
    if method == "em":
        from decpomdp.planners.em import em

        return em
    if method == "pbvi":
        from decpomdp.planners.pbvi import pbvi

        return pbvi
    raise InputError(f"method: expected one of {', '.join(METHODS)}, got {checks.kind_of(method)}")


def own_options(planner: Callable[..., Fit]) -> tuple[str, ...]:
    """What a planner takes beside what all take."""
    shared = {"seed", "time_limit", "threads", "watch", "keeper"}
    given = inspect.signature(planner).parameters.values()
    return tuple(each.name for each in given if each.kind is each.KEYWORD_ONLY and each.name not in shared)


def played_by(model: DecPOMDP, team: Team) -> DecPOMDP:
    """What `team` plays: the model, or the centralised one if one agent is to do what several do in the model."""
    from decpomdp.planners.centralised import centralised

    return centralised(model) if len(team.agents) == 1 < len(model.agents) else model
