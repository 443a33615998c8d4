"""Off-policy evaluation: the value of a team from episodes of another behaviour.

    result = offpolicy_value(episodes, team)
    result.self_normalised.value, result.guaranteed, result.warnings

The value is the expected discounted reward over the first `horizon` steps, by default the length of the longest
episode; rewards after it count as 0. A shorter episode has ended: its later rewards are 0.

`estimates` has the ratios, the three estimates, their intervals and the guarantee; `support` the share that is missing
from the data, and the warnings.
"""

import os
from dataclasses import dataclass

import numpy as np

from decpomdp.core import Episodes, InputError, Team
from decpomdp.core.checks import number, of_kind, rewards, whole
from decpomdp.core.checks import threads as checked_threads
from decpomdp.core.controller import READ
from decpomdp.core.model import checked_discount
from decpomdp.engines import threads as engine
from decpomdp.evaluation.offpolicy.estimates import bootstrap, guaranteed, log_chances, log_ratios, weighted
from decpomdp.evaluation.offpolicy.support import joined, missing_share, never_taken, unsupported, warnings_of


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OffPolicyValue:
    """Off-policy estimates of the value of a team.

    Attributes
    ----------
    ordinary, per_decision, self_normalised
        Three estimates, each with `value`, `low` and `high` (bootstrap interval). The values are meaningless if
        `sample_size` is 0: no episode is possible under the team.
    guaranteed
        Low and high end that hold for any ratios, under the conditions in docs/offpolicy.md. The main one: all rewards
        are in `reward_range`; if `range_from_data`, this is an additional assumption.
    confidence
        Of all intervals.
    sample_sizes
        [t]: effective number of episodes at every step.
    mean_ratios
        [t]: 1 in expectation if the behaviour may take all actions that the team may.
    reward_range, range_from_data
        The range that the guarantee assumes, and whether it was taken from the data.
    episodes, horizon, discount
        Number of episodes, steps, and the discount of the rewards.
    warnings
        Reasons not to rely on the estimates; may be empty.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("recycling")
    >>> team = dp.Team.uniform(model)
    >>> result = dp.offpolicy_value(dp.simulate(model, team, 200, 3), team)  # its own episodes: all ratios are 1
    >>> round(result.sample_size), result.warnings
    (200, ())
    """

    ordinary: Estimate
    per_decision: Estimate
    self_normalised: Estimate
    guaranteed: tuple[float, float]
    confidence: float
    sample_sizes: tuple[float, ...]
    mean_ratios: tuple[float, ...]
    reward_range: tuple[float, float]
    range_from_data: bool
    episodes: int
    horizon: int
    discount: float
    warnings: tuple[str, ...]

    @property
    def value(self) -> float:
        """The self-normalised estimate."""
        return self.self_normalised.value

    @property
    def sample_size(self) -> float:
        """Effective number of episodes: the smallest of all steps."""
        return min(self.sample_sizes)


def offpolicy_value(
    episodes: Episodes | str | os.PathLike[str],
    team: Team,
    horizon: int | None = None,
    reward_range: tuple[float, float] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    discount: float | None = None,
    threads: int | None = None,
) -> OffPolicyValue:
    """Importance-sampling estimates of the value of `team` with bootstrap and guaranteed intervals.

    Parameters
    ----------
    episodes
        Episodes of another behaviour, or the path of an episodes file. The probabilities of its actions must be known.
    team
        The team to evaluate.
    horizon
        The first steps that count; by default the length of the longest episode.
    reward_range
        Smallest and largest possible reward, for the guaranteed interval. None: those of the data.
    confidence
        Of all intervals.
    resamples, seed
        Number of bootstrap draws, and their seed.
    discount
        Default: that of the episodes.
    threads
        Default: all cores.

    Returns
    -------
    OffPolicyValue
        Three estimates with their intervals, the guaranteed interval, and warnings.

    Raises
    ------
    InputError
        The team does not fit the episodes, their probabilities are not known, there are fewer than two, or a number
        is out of its range.

    Notes
    -----
    Needs about 40 bytes per episode and step. The mathematics are in docs/offpolicy.md.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("recycling")
    >>> logged = dp.simulate(model, episodes=500, horizon=3, seed=1)
    >>> careful = dp.Team.of(model, [dp.Controller.deterministic([0], [[0, 0]], 3)] * 2).exploring(0.5)
    >>> result = dp.offpolicy_value(logged, careful, reward_range=(-10.0, 5.0))
    >>> result.guaranteed[0] <= dp.exact_value(model, careful, horizon=3).value <= result.guaranteed[1]
    True
    """
    if isinstance(episodes, str | os.PathLike):
        episodes = Episodes.load(episodes)
    of_kind("episodes", episodes, Episodes)
    of_kind("team", team, Team, READ)
    longest = int(episodes.lengths.max())
    steps = longest if horizon is None else whole("horizon", horizon, 1, longest)
    factor = episodes.discount if discount is None else checked_discount(discount)
    draws = whole("resamples", resamples, 100, 10**7)
    key = whole("seed", seed, 0, 2**64 - 1)
    confidence = number("confidence", confidence, -np.inf, np.inf)
    if not 0 < confidence < 1:
        raise InputError(f"confidence: expected a number between 0 and 1, got {confidence:g}")
    if episodes.count < 2:
        raise InputError("episodes: expected at least 2 to estimate a value with an interval, got 1")
    span = _range(episodes, steps, reward_range)
    with engine.serial_products():
        low, high = np.outer(span, factor ** np.arange(steps, dtype=np.float64))  # [t] what a step may earn, discounted
        chances = log_chances(episodes, team, checked_threads(threads))
        never = never_taken(episodes, team)
        shares = weighted(episodes, log_ratios(episodes, chances), steps, factor)
        ends, values = bootstrap(shares, draws, confidence, key)
        ratios, sizes = shares.ratios, shares.sample_sizes()
        lacking = missing_share(ratios, bool(never))
        unseen = unsupported(episodes, np.exp(chances), ratios)
        ends = joined(ends, shares, np.maximum(lacking, unseen.share), low, high)
        ends = _possible(ends, values, low.sum(), high.sum())
    ordinary, decision, normal = (
        Estimate(float(value), *map(float, end)) for value, end in zip(values, ends, strict=True)
    )
    return OffPolicyValue(
        ordinary=ordinary,
        per_decision=decision,
        self_normalised=normal,
        guaranteed=guaranteed(shares, low, high, 1 - confidence),
        confidence=confidence,
        sample_sizes=tuple(sizes.tolist()),
        mean_ratios=tuple(ratios.mean(axis=0).tolist()),
        reward_range=span,
        range_from_data=reward_range is None,
        episodes=episodes.count,
        horizon=steps,
        discount=factor,
        warnings=warnings_of(episodes, never, shares, lacking, unseen, sizes, span if reward_range is None else None),
    )


def _range(episodes: Episodes, horizon: int, limits: tuple[float, float] | None) -> tuple[float, float]:
    """The rewards' range; 0 belongs to it when an episode is shorter than the horizon."""
    seen = episodes.rewards[episodes.times() < horizon]
    least, most = float(seen.min()), float(seen.max())
    low, high = (least, most) if limits is None else rewards("reward range", limits, "end", (2,)).tolist()
    if low > high:
        raise InputError(f"reward range: expected the smaller one first, got {low} and {high}")
    if least < low or most > high:
        raise InputError(
            f"reward range: expected the data's rewards, {least:g} to {most:g}, inside, got {low} to {high}"
        )
    return (min(low, 0.0), max(high, 0.0)) if int(episodes.lengths.min()) < horizon else (low, high)


def _possible(ends: np.ndarray, values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Intervals [i, 2] cut at the possible values, unless the estimate itself is beyond them."""
    least = np.maximum(ends[:, 0], np.minimum(low, values))
    return np.stack([least, np.minimum(ends[:, 1], np.maximum(high, values))], axis=1)
