"""The value of a team from simulated episodes, with its standard error."""

from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, InputError, Simulator, Team, Watch
from decpomdp.core.checks import callback, whole
from decpomdp.core.model import horizon_of
from decpomdp.domains.load import Problem, opened
from decpomdp.rollouts import stream
from decpomdp.rollouts.collect import Policy
from decpomdp.rollouts.play import is_compiled

NEGLIGIBLE = 1e-4  # share of a constant reward's value after the default horizon
LONGEST = 10_000  # most steps of the default horizon
PROBE = 0.05  # share of the time after which a batch is long enough to measure the speed


@dataclass(frozen=True, slots=True)
class SampledValue:
    """Mean discounted return of test episodes.

    Attributes
    ----------
    value, standard_error
        Mean, and the standard error of the mean.
    episodes, horizon
        Number of episodes, and most steps of one.
    discount
        Discount of the rewards.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger")
    >>> dp.sampled_value(model, dp.Team.uniform(model), episodes=100).horizon
    88
    """

    value: float
    standard_error: float
    episodes: int
    horizon: int
    discount: float


def sampled_value(
    problem: Problem,
    team: Policy,
    episodes: int = 1000,
    horizon: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    watch: Watch | None = None,
) -> SampledValue:
    """The mean discounted return of `team` over simulated episodes.

    Parameters
    ----------
    problem, team, episodes, seed, threads
        As in `simulate`.
    horizon
        Steps at most. None: as many as leave less than 1e-4 of a constant reward beyond them, and no more than the
        simulator's own `horizon`, if it has one (those of `from_pettingzoo(..., horizon=...)` do).
    watch
        Called after every batch with the number of `episodes` played so far; no more are played if it returns True.

    Returns
    -------
    SampledValue
        The mean return and its standard error (NaN for one episode).

    Raises
    ------
    InputError
        The team does not fit the problem, a number is out of its range, or there is neither a horizon nor a discount
        below 1.

    Examples
    --------
    >>> import decpomdp as dp
    >>> result = dp.sampled_value("dectiger", "random", episodes=2000, seed=1)
    >>> abs(result.value + 462.222) < 4 * result.standard_error
    True
    """
    played = opened(problem)
    if watch is not None:
        callback("watch", watch)
    steps = _own_horizon(played) if horizon is None else horizon
    parts, returns, count = stream(played, team, episodes, steps, seed, threads), [], 0
    for part in parts:
        returns.append(part.returns())
        count += part.count
        if watch is not None and watch({"episodes": count}) is True:
            break
    value, error = mean_return(returns)
    return SampledValue(value, error, count, int(steps), played.discount)


def episodes_within(seconds: float, simulator: Simulator, team: Team, most: int, horizon: int | None = None) -> int:
    """How many episodes of `team`, 1 to `most`, are played in about `seconds`.

    A compiled simulator plays all of them, and SUMO declares its pace. Any other is measured: small batches are slow,
    so they grow until one takes a noticeable time.
    """
    if is_compiled(simulator):
        return most
    steps = _own_horizon(simulator) if horizon is None else horizon
    pace = getattr(simulator, "pace", None)  # joint steps a second
    possible, spent, batch = 0.0 if pace is None else seconds * pace / steps, 0.0, 1
    if pace is None:
        sampled_value(simulator, team, 1, 1)  # the first episode may start a process
    while pace is None and possible < most and spent < PROBE * seconds:
        began = monotonic()
        sampled_value(simulator, team, batch, steps)
        spent = monotonic() - began
        possible, batch = batch * seconds / max(spent, 1e-9), 4 * batch
    return max(1, min(most, int(possible)))


def mean_return(parts: Iterable[NDArray[np.float64]]) -> tuple[float, float]:
    """The mean of all returns[k] and its standard error, NaN for a single one."""
    returns = np.concatenate(list(parts))
    spread = float(returns.std(ddof=1)) if len(returns) > 1 else float("nan")
    return float(returns.mean()), spread / float(np.sqrt(len(returns)))


def _own_horizon(problem: DecPOMDP | Simulator) -> int:
    """The simulator's own horizon, or as many steps as the discount leaves noticeable."""
    own, discount = getattr(problem, "horizon", None), problem.discount
    if own is None and discount >= 1:
        raise InputError("horizon: expected a number of steps, because the discount is 1; got none")
    most = LONGEST if own is None else whole("horizon of the simulator", own, 1, 2**53)
    return most if discount >= 1 else min(most, horizon_of(discount, NEGLIGIBLE, LONGEST))
