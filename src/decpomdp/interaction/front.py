"""`learn`: whatever there is to learn from goes in, a team comes out."""

import inspect
import math
import os
import typing
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from decpomdp.core import DecPOMDP, Episodes, Fit, InputError, Simulator, Watch, checks, unwatched
from decpomdp.core.errors import LearningWarning
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.progress import watching
from decpomdp.domains.load import opened

METHODS = ("search", "sbpr", "mcem")
EPISODES = ".parquet"
COUNTS = ("steps", "iterations", "horizon")  # options that are whole numbers of at least 1

Source = str | os.PathLike[str] | DecPOMDP | Simulator | Episodes | Sequence[Episodes]


def learn(
    source: Source,
    method: str | None = None,
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
    """Learn a team from a problem (by playing it) or from episodes (without playing).

    Parameters
    ----------
    source
        The name of a built-in problem, a `.dpomdp` file, a model, any `Simulator`; or recorded episodes, as objects
        or as a `.parquet` file.
    method
        How to learn by playing: "search", "sbpr" (the paper's loop) or "mcem" (Monte-Carlo EM with three nodes). None:
        "search", or "sbpr" for a simulator with more than 8 agents. Episodes are learned from by variational Bayes.
    discount
        Use this discount instead of the problem's own (not for simulators that are given as objects).
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
        What the method takes beside: see `search`, `sbpr` and `mcem` in `decpomdp.interaction` and
        `decpomdp.learners.learn_from_episodes`.

    Returns
    -------
    Fit
        The team, the trace and why it stopped; a `BayesFit` with the posterior from sbpr and from episodes.

    Raises
    ------
    InputError
        An argument is of the wrong kind or unknown, or there is nothing to learn from.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.learn("broadcast", steps=3_000_000, seed=1)
    >>> round(dp.evaluate(fit.team, dp.load("broadcast")).value, 1) >= 9.1
    True
    """
    given = _opened(source, discount)
    worker = _worker(given, method)
    options = {**_own_horizon(given), **options}
    _check_options(worker, options)
    limit = None if time_limit is None else checks.number("time_limit", time_limit, 0.0, 1e9)
    shared = {"seed": checks.whole("seed", seed, 0, 2**63 - 1), "time_limit": limit, "threads": checks.threads(threads)}
    with watching(checks.truth("progress", progress), checks.callback("watch", watch)) as watched:
        fit = worker(given, **shared, watch=watched, keeper=keeper, **options)
    if not taught(fit):
        warnings.warn(
            "nothing was learned before the limits were reached: the team is the one it began with; "
            "allow more time or steps",
            LearningWarning,
            stacklevel=2,
        )
    return fit


def _own_horizon(given: DecPOMDP | Simulator | Episodes | Sequence[Episodes]) -> dict[str, int]:
    """Without a discount something else must end an episode: a simulator may say how long its own are."""
    if isinstance(given, DecPOMDP | Episodes | Sequence) or given.discount < 1:
        return {}
    own = getattr(given, "horizon", None)
    return {} if own is None else {"horizon": own}


def taught(fit: Fit) -> bool:
    """Whether anything was learned before the limits were reached: whether any value was measured."""
    return any(_is_number(row.get("value")) for row in fit.trace)


def _is_number(cell: object) -> bool:
    return isinstance(cell, float | int) and math.isfinite(cell)


def method_for(problem: DecPOMDP | Simulator) -> str:
    """The default way to learn by playing: a crowd needs a credit of its own for everybody (see `sbpr_crowd`)."""
    from decpomdp.interaction.sbpr_settings import SbprSettings

    crowd = not isinstance(problem, DecPOMDP) and len(problem.agents) > SbprSettings().crowd
    return "sbpr" if crowd else "search"


def _worker(given: DecPOMDP | Simulator | Episodes | Sequence[Episodes], method: str | None) -> Callable[..., Fit]:
    """Imported when it is wanted: each brings its kernels along."""
    if method is not None:
        checks.one_of("method", method, METHODS)
    if isinstance(given, Episodes | Sequence):
        from decpomdp.learners import learn_from_episodes

        if method not in (None, "search"):
            raise InputError(
                f"method: expected none for learning from episodes (a prior is chosen by prior=), got {method!r}"
            )
        return learn_from_episodes
    method = method_for(given) if method is None else method
    if method == "search":
        from decpomdp.interaction.search import search

        return search
    if method == "sbpr":
        from decpomdp.interaction.sbpr import sbpr

        return sbpr
    from decpomdp.interaction.mcem import mcem

    return mcem


def _check_options(worker: Callable[..., Fit], options: dict[str, Any]) -> None:
    known = [name for name in inspect.signature(worker).parameters if name not in ("problem", "episodes")]
    for name, value in options.items():
        if name not in known:
            raise InputError(f"{worker.__name__}: expected options among {', '.join(known)}, got {name}")
        if name in COUNTS and value is not None:
            checks.whole(name, value, 1, 2**62)
        if name == "settings" and value is not None:
            kind = typing.get_type_hints(worker)["settings"]
            checks.of_kind(name, value, typing.get_args(kind)[0])


def _opened(source: Source, discount: float | None) -> DecPOMDP | Simulator | Episodes | Sequence[Episodes]:
    if isinstance(source, str | os.PathLike) and str(source).endswith(EPISODES):
        from decpomdp.io.episodes import read_episodes

        source = read_episodes(source)
    if isinstance(source, Episodes):
        return source if discount is None else replace(source, discount=discount)
    if isinstance(source, list | tuple):
        if discount is not None:
            raise InputError(f"discount: expected none beside several batches, got {discount!r}")
        return source
    return opened(source, discount)  # type: ignore[arg-type]
