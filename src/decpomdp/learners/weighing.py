"""Weigh: rewards and importance ratios become the re-weighted rewards nu.

  nu_t^k = exp(ln g_t^k + ratio_t^k - ln V),   V = (1/K) sum_{k,t} exp(ln g_t^k + ratio_t^k)

with g the non-negative weight of the step (discounted, shifted reward) and ratio the log of
p(actions so far | team) / p(actions so far | behaviour). Hence (1/K) sum nu = 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, InputError
from decpomdp.learners.rows import Floats


@dataclass(frozen=True, slots=True)
class Steps:
    """What the data say about every step, whatever the team."""

    gain: Floats  # [r] discounted reward above the floor; at an episode's own end: and for ever after
    discounted: Floats  # [r] discounted reward as it is
    floor: float  # the reward that counts as nothing
    log_behaviour: Floats  # [r] log probability of the actions so far
    times: NDArray[np.int64]  # [r]
    count: int  # episodes


@dataclass(frozen=True, slots=True)
class Weighed:
    """Importance-weighted rewards of a team."""

    nu: Floats  # [r]
    log_value: float  # ln V
    value: float  # importance-weighted mean return, unshifted
    sample_sizes: Floats  # [t] effective number of episodes


def steps_of(episodes: Episodes, log_behaviour: Floats, floor: float | None = None) -> Steps:
    """Shift the rewards by `floor` (default: the smallest) and discount them.

    An episode that ended by itself earns 0 for ever after; above the floor that is -floor a step, which is added to
    its last step. Otherwise the shift would favour long episodes.
    """
    times = episodes.times()
    discounts = episodes.discount ** times.astype(np.float64)
    ended = np.zeros(0) if episodes.terminated is None else episodes.terminated
    lowest = float(episodes.rewards.min())
    if ended.any():
        lowest = min(lowest, 0.0)
    base = lowest if floor is None else float(floor)
    if base > lowest:
        raise InputError(f"floor: expected at most the smallest reward {lowest}, got {base}")
    gain = discounts * (episodes.rewards - base)
    if ended.any() and episodes.discount < 1:
        last = episodes.offsets[1:][ended] - 1
        gain[last] += discounts[last] * episodes.discount / (1 - episodes.discount) * -base
    if not gain.any():
        raise InputError(
            f"nothing to learn from: every reward is {base:g}"
            + ("" if base == 0 else " (a lower floor would weigh all steps alike)")
        )
    return Steps(gain, discounts * episodes.rewards, base, log_behaviour, times, episodes.count)


def weigh(steps: Steps, log_team: Floats, cap: float | None = None, normalise: bool = False) -> Weighed:
    """Weigh every step for a team under which the actions so far have log probability log_team[r]."""
    ratio = log_team - steps.log_behaviour
    sizes, log_means = _per_step(ratio, steps)
    if cap is not None:
        ratio = np.minimum(ratio, np.log(cap))
        _, log_means = _per_step(ratio, steps)
    if normalise:
        ratio = ratio - log_means[steps.times]
    with np.errstate(divide="ignore"):
        weights = np.log(steps.gain) + ratio
    top = float(weights.max())
    if not np.isfinite(top):
        raise InputError("no episode in the data is possible under the team to be learned: start from another one")
    shares = np.exp(weights - top)
    total = float(shares.sum())
    log_value = top + np.log(total / steps.count)
    value = float((steps.discounted * np.exp(ratio)).sum() / steps.count)
    return Weighed(shares * (steps.count / total), log_value, value, sizes)


def _per_step(ratio: Floats, steps: Steps) -> tuple[Floats, Floats]:
    """[t]: effective sample size (sum w)^2 / sum w^2, and log of the mean weight of the episodes still running."""
    length = int(steps.times.max()) + 1
    top = np.full(length, -np.inf)
    np.maximum.at(top, steps.times, ratio)
    safe = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(ratio - safe[steps.times])
    sums = np.bincount(steps.times, weights, minlength=length)
    squares = np.bincount(steps.times, weights**2, minlength=length)
    running = np.bincount(steps.times, minlength=length)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 0, sums**2 / squares, 0.0), safe + np.log(sums / running)
