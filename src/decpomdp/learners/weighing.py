"""Weigh: rewards and importance ratios become the re-weighted rewards nu.

  nu_t^k = exp(ln g_t^k + ratio_t^k - ln V),   V = (1/K) sum_{k,t} exp(ln g_t^k + ratio_t^k)

with g the non-negative weight of the step (discounted, shifted reward) and ratio the log of
p(actions so far | team) / p(actions so far | behaviour). Hence (1/K) sum nu = 1.

Ratios are divided by the largest of their step. In long episodes, actions that earned something may be so much less
likely than actions that earned nothing that this underflows; such a step is weighed again in logs.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, InputError
from decpomdp.core.errors import LearningWarning
from decpomdp.kernels.weighing import PerStep, scale_steps, weigh_steps
from decpomdp.learners.rows import Floats

FAINT = 1e-200  # sums of gains below this may have lost digits to underflow


@dataclass(frozen=True, slots=True)
class Steps:
    """The data of every step that do not depend on the team."""

    gain: Floats  # [r] discounted reward above the floor; at the last step of a terminated episode: and ever after
    largest_gain: Floats  # [t]
    discounted: Floats  # [r] discounted reward as it is
    floor: float  # the reward that is mapped to zero
    log_behaviour: Floats  # [r] log probability of the actions so far
    offsets: NDArray[np.int64]  # [k + 1]
    steps_so_far: Floats  # [r] this one included

    @property
    def count(self) -> int:
        """Number of episodes."""
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class Weighed:
    """Importance-weighted rewards of a team."""

    nu: Floats  # [r]
    log_value: float  # ln V
    value: float  # importance-weighted mean return, unshifted; with sub-normalised controllers it says little
    sample_sizes: Floats  # [t] effective number of episodes


def steps_of(episodes: Episodes, log_behaviour: Floats, floor: float | None = None) -> Steps:
    """Shift the rewards by `floor` (default: the smallest) and discount them.

    A terminated episode earns 0 for ever after; above the floor that is -floor a step, which is added to its last step
    (at discount 1: up to the length of the longest). Otherwise the shift would favour long episodes.
    """
    times = episodes.times()
    discounts = episodes.discount ** times.astype(np.float64)
    ended = np.zeros(episodes.count, bool) if episodes.terminated is None else episodes.terminated
    lowest = float(episodes.rewards.min())
    if ended.any():
        lowest = min(lowest, 0.0)
    base = lowest if floor is None else float(floor)
    if base > lowest:
        raise InputError(f"floor: expected at most the smallest reward {lowest}, got {base}")
    gain = discounts * (episodes.rewards - base)
    if ended.any():  # DEPARTS: the paper's episodes never end by themselves
        last = episodes.offsets[1:][ended] - 1
        gain[last] += -base * _steps_after(episodes, ended)
        _warn_of_cuts(episodes, ended, base)
    if not gain.any():
        raise InputError(
            f"nothing to learn from: every reward is {base + 0.0:g}"
            + ("" if base == 0 else " (a lower floor would weigh all steps alike)")
        )
    largest_gain = np.zeros(int(times.max()) + 1)
    np.maximum.at(largest_gain, times, gain)
    so_far = 1 + times.astype(np.float64)
    return Steps(gain, largest_gain, discounts * episodes.rewards, base, log_behaviour, episodes.offsets, so_far)


def weigh(steps: Steps, log_team: Floats, cap: float | None = None, normalise: bool = False) -> Weighed:
    """Weigh every step for a team under which the actions so far have log probability log_team[r].

    Where nothing that earned anything is possible under the team, ln V is minus infinity and nu is 0.
    """
    nu = np.empty(len(log_team))
    found = PerStep(*(np.empty(len(steps.largest_gain)) for _ in PerStep._fields))
    log_cap = np.inf if cap is None else np.log(cap)
    weigh_steps(
        log_team,
        steps.log_behaviour,
        log_cap,
        steps.gain,
        steps.largest_gain,
        steps.discounted,
        steps.offsets,
        nu,
        found,
    )
    faint = (found.gains < FAINT) & (steps.largest_gain > 0) & (found.top > -np.inf)
    risen = _weigh_faint(steps, log_team, log_cap, faint, nu, found) if faint.any() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = found.top - (found.top + np.log(found.sums / running(steps)) if normalise else 0.0)
        logs = np.where(found.gains > 0, shift + np.log(found.gains) + np.log(steps.largest_gain), -np.inf)  # [t]
        logs = logs + risen
    top = float(logs.max())
    log_value = top if top == -np.inf else top + float(np.log(np.exp(logs - top).sum())) - np.log(steps.count)
    with np.errstate(invalid="ignore"):
        factor = np.where(found.gains > 0, np.exp(logs - log_value) / np.maximum(found.gains, 1e-300), 0.0)
    scale_steps(nu, steps.offsets, factor)
    sizes = np.where(found.squares > 0, found.sums**2 / np.maximum(found.squares, 1e-300), 0.0)
    return Weighed(nu, log_value, _value(steps, found, shift), sizes)


def _weigh_faint(
    steps: Steps, log_team: Floats, log_cap: float, faint: NDArray[np.bool_], nu: Floats, found: PerStep
) -> Floats:
    """Weigh the steps t with faint[t] again, against their own largest weight; [t] its log, which the sums lack."""
    times = steps.steps_so_far.astype(np.int64) - 1
    rows = np.flatnonzero(faint[times] & (steps.gain > 0) & (log_team > -np.inf))
    at = times[rows]
    logs = np.minimum(log_team[rows] - steps.log_behaviour[rows], log_cap) - found.top[at]
    logs += np.log(steps.gain[rows]) - np.log(steps.largest_gain[at])
    risen = np.full(len(faint), -np.inf)
    np.maximum.at(risen, at, logs)
    risen = np.where(np.isfinite(risen), risen, 0.0)  # nothing that earned anything is possible
    nu[rows] = np.exp(logs - risen[at])
    found.gains[faint] = np.bincount(at, nu[rows], len(faint))[faint]
    return risen


def _value(steps: Steps, found: PerStep, shift: Floats) -> float:
    """Mean return by importance weights; infinite where it is too large for a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.where(found.sums > 0, found.rewards * np.exp(shift), 0.0).sum()) / steps.count
        if np.isfinite(value):
            return value
        largest = float(shift[found.sums > 0].max())
        total = float(np.where(found.sums > 0, found.rewards * np.exp(shift - largest), 0.0).sum()) / steps.count
        return float(total * np.exp(largest)) if total else 0.0


def running(steps: Steps) -> NDArray[np.int64]:
    """[t]: episodes that have a step t."""
    lengths = np.diff(steps.offsets)
    return len(lengths) - np.cumsum(np.bincount(lengths))[: len(steps.largest_gain)]


def _steps_after(episodes: Episodes, ended: NDArray[np.bool_]) -> Floats:
    """[ended]: sum of discount^t over the steps that would follow; at discount 1 up to the longest episode's length."""
    lengths = episodes.lengths[ended].astype(np.float64)
    if episodes.discount < 1:
        return np.asarray(episodes.discount**lengths / (1 - episodes.discount))
    return int(episodes.lengths.max()) - lengths


def _warn_of_cuts(episodes: Episodes, ended: NDArray[np.bool_], base: float) -> None:
    """At discount 1 the rewards after a cut are unknown."""
    longest = int(episodes.lengths.max())
    cut = episodes.lengths[~ended]
    if episodes.discount == 1 and base != 0 and (cut < longest).any():
        warnings.warn(
            f"discount 1, rewards shifted by {-base:g} a step, and episodes that were cut off at different lengths "
            f"({cut.min()} steps, where the longest episode has {longest}): those cut early count too little; "
            "cut all at one length, or use a discount below 1",
            LearningWarning,
            stacklevel=5,
        )
