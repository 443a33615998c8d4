"""A sequential test of a candidate against the incumbent, on fresh random numbers.

Both teams play the same episodes with common random numbers. The difference of two returns then has a much smaller
spread than the returns, and is exactly zero where the candidate acts like the incumbent. The test looks after 1000,
4000, 16,000, ... episodes and stops as soon as the answer is clear: bad candidates are cheap.

A smaller team need not be better: it is accepted if it is not worse at the last look. For a simulator whose random
numbers cannot be repeated, the unpaired (Welch) error is used.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.interaction.search.machines import Plan, sizes
from decpomdp.interaction.search.players import Player

HOPE = (1.0, 0.0, -0.5, -1.0)  # standard errors added to the gain at the first, second, ... look
EARLY = 3  # looks less at the beginning of the search; none less in its last third
PATIENT = (2.0, 2.0, 1.5, 1.0, 0.5)  # the same for a candidate that has won a contest
ENOUGH = 2 / 3  # of `certain`, at the last look


class ReturnSums(NamedTuple):
    """Sums of returns."""

    episodes: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, returns: NDArray[np.float64]) -> "ReturnSums":
        """The sums of some returns."""
        return cls(len(returns), float(returns.sum()), float(returns @ returns))

    def plus(self, other: "ReturnSums") -> "ReturnSums":
        """Both together."""
        return ReturnSums(self.episodes + other.episodes, self.total + other.total, self.squares + other.squares)

    @property
    def mean(self) -> float:
        """The estimated value; NaN before anything was played."""
        return self.total / self.episodes if self.episodes else float("nan")

    @property
    def deviation(self) -> float:
        """The standard deviation of a return."""
        return float(np.sqrt(max(0.0, self.squares / self.episodes - self.mean**2))) if self.episodes else self.mean

    @property
    def error(self) -> float:
        """The standard error of the value."""
        return self.deviation / float(np.sqrt(max(1, self.episodes)))


class TrialResult(NamedTuple):
    """The result of a trial."""

    accepted: bool
    gain: float  # mean of candidate minus incumbent
    error: float  # its standard error
    old: ReturnSums  # returns of the incumbent
    new: ReturnSums  # returns of the candidate


class Stages(NamedTuple):
    """The size of a trial."""

    first: int  # episodes after which the first look is taken
    looks: int  # every look sees four times as many as the one before
    horizon: int
    certain: float  # standard errors above zero at which a gain is accepted
    smallest: float  # standard deviations of a return that a gain must have
    hope: tuple[float, ...] = HOPE


def eager(stages: Stages, progress: float) -> Stages:
    """Fewer looks early in a search, when small gains are not worth many episodes."""
    return stages._replace(looks=max(1, stages.looks - int(EARLY * (1 - progress))))


def trial(player: Player, incumbent: Plan, candidate: Plan, stages: Stages, seed: int) -> TrialResult:
    """Play both until one is clearly better, or the last look has been taken."""
    old, new = np.empty(0), np.empty(0)
    smaller = sum(sizes(candidate)) < sum(sizes(incumbent))
    for look in range(stages.looks):
        more = stages.first * 4**look - len(new)
        new = np.append(new, player.returns(candidate, more, stages.horizon, seed, len(new)))
        old = np.append(old, player.returns(incumbent, more, stages.horizon, seed, len(old)))
        verdict = judge(old, new, stages, player.repeatable)
        if verdict.accepted or hopeless(verdict, old, stages, look, smaller):
            return verdict
    probable = verdict.gain > max(ENOUGH * stages.certain * verdict.error, needed(old, stages))
    return verdict._replace(accepted=probable or (smaller and verdict.gain >= 0.0))


def judge(old: NDArray[np.float64], new: NDArray[np.float64], stages: Stages, paired: bool) -> TrialResult:
    """Accepted when the gain is large enough and certain enough."""
    gain, root = float((new - old).mean()), float(np.sqrt(len(new)))
    error = float((new - old).std() if paired else np.hypot(new.std(), old.std())) / root
    accepted = gain > stages.certain * error and gain > needed(old, stages)
    return TrialResult(accepted, gain, error, ReturnSums.of(old), ReturnSums.of(new))


def needed(old: NDArray[np.float64], stages: Stages) -> float:
    """The smallest gain worth having, at least rounding."""
    return stages.smallest * float(old.std()) + 1e-9 * float(np.abs(old).max(initial=0.0))


def hopeless(verdict: TrialResult, old: NDArray[np.float64], stages: Stages, look: int, smaller: bool) -> bool:
    """Whether to give up; later looks cost four times as much each and require higher gains."""
    hope = stages.hope[min(look, len(stages.hope) - 1)]
    if smaller:
        return verdict.gain + max(0.0, hope) * verdict.error < 0.0
    return verdict.gain + hope * verdict.error <= needed(old, stages)
