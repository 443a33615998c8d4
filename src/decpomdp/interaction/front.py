"""`learn`: whatever there is to learn from goes in, a team comes out."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from decpomdp.core import DecPOMDP, Episodes, Fit, InputError, Simulator, Watch, unwatched
from decpomdp.domains.load import load

METHODS = ("search", "sbpr", "mcem")
EPISODES = ".parquet"

Source = str | os.PathLike[str] | DecPOMDP | Simulator | Episodes | Sequence[Episodes]


def learn(
    source: Source,
    method: str = "search",
    *,
    discount: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
    **options: Any,
) -> Fit:
    """Learn a team from a problem (by playing it) or from episodes (without playing).

    Parameters
    ----------
    source
        The name of a built-in problem, a `.dpomdp` file, a model, any `Simulator`; or recorded episodes, as objects
        or as a `.parquet` file.
    method
        How to learn by playing: "search" (the default), "sbpr" (the paper's loop) or "mcem" (Monte-Carlo EM with
        three nodes). Episodes are learned from by variational Bayes.
    discount
        Use this discount instead of the problem's own (problems by name or file).
    seed
        Fixes every random choice.
    time_limit
        Seconds after which the best team so far is returned.
    threads
        How many threads to use; all cores by default. The result does not depend on it.
    watch
        Called with every new row of the trace.
    options
        What the method takes beside: see `search`, `sbpr` and `mcem` in `decpomdp.interaction` and
        `decpomdp.learners.learn_from_episodes`.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.learn("broadcast", steps=3_000_000, seed=1)
    >>> round(dp.evaluate(fit.team, dp.load("broadcast")).value, 1) >= 9.1
    True
    """
    given = _opened(source, discount)
    shared: dict[str, Any] = {"seed": seed, "time_limit": time_limit, "threads": threads, "watch": watch}
    if isinstance(given, Episodes) or (isinstance(given, Sequence) and not isinstance(given, str)):
        from decpomdp.learners import learn_from_episodes

        if method != "search":
            raise InputError(
                f"method: expected none for learning from episodes (a prior is chosen by prior=), got {method!r}"
            )
        return learn_from_episodes(given, **shared, **options)
    if method not in METHODS:
        raise InputError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    return _player(method)(given, **shared, **options)


def _player(method: str) -> Callable[..., Fit]:
    """Imported when it is wanted: each brings its kernels along."""
    if method == "search":
        from decpomdp.interaction.search import search

        return search
    if method == "sbpr":
        from decpomdp.interaction.sbpr import sbpr

        return sbpr
    from decpomdp.interaction.mcem import mcem

    return mcem


def _opened(source: Source, discount: float | None) -> DecPOMDP | Simulator | Episodes | Sequence[Episodes]:
    if isinstance(source, str | os.PathLike):
        if os.fspath(source).endswith(EPISODES):
            from decpomdp.io.episodes import read_episodes

            episodes = read_episodes(source)
            return episodes if discount is None else replace(episodes, discount=discount)
        return load(source, discount)
    return source
