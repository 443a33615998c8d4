"""The value of a team from fresh episodes, with its standard error. For simulators, and to check the exact value."""

from dataclasses import dataclass

import numpy as np

from decpomdp.core import DecPOMDP, InputError, Simulator, Team
from decpomdp.rollouts import stream

NEGLIGIBLE = 1e-4  # share of a reward-for-ever that may lie beyond the horizon when none is given
LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class SampledValue:
    """Mean discounted return of test episodes.

    Attributes
    ----------
    value, standard_error
        Mean, and the standard error of the mean.
    episodes, horizon
        How many were played, of how many steps at most.
    discount
        Of the rewards.

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
    problem: DecPOMDP | Simulator,
    team: Team,
    episodes: int = 1000,
    horizon: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> SampledValue:
    """Play `team` and average.

    Parameters
    ----------
    problem
        A model or a simulator.
    team
        Who plays.
    episodes
        How many.
    horizon
        Steps at most. None: as many as leave less than 1e-4 of a constant reward beyond them.
    seed
        Fixes every random choice.
    threads
        How many; all cores by default. The result does not depend on it.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger")
    >>> told = dp.sampled_value(model, dp.Team.uniform(model), episodes=2000, seed=1)
    >>> abs(told.value + 462.222) < 4 * told.standard_error
    True
    """
    steps = horizon_for(problem.discount) if horizon is None else horizon
    parts = stream(problem, team, episodes, steps, seed, threads)
    returns = np.concatenate([part.returns() for part in parts])
    spread = float(returns.std(ddof=1)) if len(returns) > 1 else float("nan")
    if not np.all(np.isfinite(returns)):
        raise InputError("value: the rewards are too large to be added up in floating point")
    error = spread / float(np.sqrt(len(returns)))
    return SampledValue(float(returns.mean()), error, episodes, steps, problem.discount)


def horizon_for(discount: float) -> int:
    """Steps after which a constant reward has paid all but NEGLIGIBLE of its sum."""
    if discount >= 1:
        raise InputError("horizon: expected a number of steps, because the discount is 1; got none")
    if discount <= 0:
        return 1
    return min(LONGEST, int(np.ceil(np.log(NEGLIGIBLE) / np.log(discount))))
