"""The value of a learned team from held-out episodes, compared with that of the behaviour that produced them.

At every step the importance-weighted mean reward (self-normalised) of the team is shrunk to the behaviour's mean reward
by ESS / (ESS + 10): a step on which no episode agrees with the team says nothing, and counts as the behaviour's.

The interval is wide on purpose. It spans the bootstrapped intervals of this estimate and of the one without shrinking,
and on either side what no episode tells: the shrunk share of every step times the standard deviation of its reward.
The team counts as better or worse only if the estimate is mostly its own (`support`): from random logs it is mostly
that of the behaviour, and teams that invest at first would be rejected.
"""

from typing import NamedTuple

import numpy as np

from decpomdp.core import Episodes, Row, Team
from decpomdp.filtering.filter import log_likelihood
from decpomdp.learners.rows import Floats

SHRINK = 10.0  # episodes that the behaviour's mean reward counts as
RESAMPLES = 500
PIECE = 25  # resamples at a time
CONFIDENCE = 0.95
MOSTLY = 0.5  # share of the discounted steps that must be the team's own before it counts as better or worse
BETTER, UNPROVEN, WORSE = "better than the behaviour", "not proven better than the behaviour", "cloned behaviour"


class Judged(NamedTuple):
    """Estimates of discounted returns over the length of the episodes."""

    value: float  # of the team
    low: float
    high: float
    behaviour: float  # mean return of the held-out episodes
    sure: bool  # whether the interval of the difference is above 0, and enough episodes agree with the team at first
    support: float = 1.0  # share of the discounted steps that is the team's own, not shrunk to the behaviour

    @property
    def verdict(self) -> str:
        """The verdict of the evidence."""
        if self.value < self.behaviour and self.support >= MOSTLY:
            return WORSE
        return BETTER if self.sure and self.support >= MOSTLY else UNPROVEN

    def facts(self) -> Row:
        """As facts of a fit."""
        return {
            "estimate": self.value,
            "estimate_low": self.low,
            "estimate_high": self.high,
            "behaviour": self.behaviour,
            "support": self.support,
            "verdict": self.verdict,
        }


def judge(episodes: Episodes, log_behaviour: Floats, team: Team, seed: int, threads: int | None) -> Judged:
    """Estimate the value of `team`; log_behaviour[r] of the actions so far."""
    longest = int(episodes.lengths.max())
    steps = np.minimum(np.arange(longest), episodes.lengths[:, None] - 1)  # [k, t]: an ended episode keeps its ratio
    rows = episodes.offsets[:-1, None] + steps
    logs = (log_likelihood(episodes, team, threads) - log_behaviour)[rows]
    top = np.where(np.isfinite(logs.max(axis=0)), logs.max(axis=0), 0.0)
    ratios = np.exp(logs - top)
    rewards = episodes.rewards[rows] * episodes.discount ** np.arange(longest)
    rewards[np.arange(longest) >= episodes.lengths[:, None]] = 0.0
    tables = np.concatenate([ratios, ratios**2, ratios * rewards, rewards], axis=1)  # [k, 4 t]
    value, _, behaviour = _estimates(np.ones((1, episodes.count)) @ tables, episodes.count)
    rng, count = np.random.default_rng(seed), episodes.count
    draws = [
        _estimates(rng.multinomial(count, np.full(count, 1 / count), PIECE) @ tables, count)
        for _ in range(RESAMPLES // PIECE)
    ]
    values, plain, bases = (np.concatenate(part) for part in zip(*draws, strict=True))
    ends = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    sizes = ratios.sum(axis=0) ** 2 / np.maximum((ratios**2).sum(axis=0), 1e-300)  # [t]
    own = sizes / (sizes + SHRINK)
    untold = float((1 - own) @ rewards.std(axis=0))
    lows, highs = np.quantile([values, plain], ends, axis=1)
    sure = bool(np.quantile(values - bases, ends[0]) > 0)
    return Judged(
        value=float(value[0]),
        low=float(lows.min()) - untold,
        high=float(highs.max()) + untold,
        behaviour=float(behaviour[0]),
        sure=bool(sure and sizes[0] >= SHRINK),
        support=float(np.average(own, weights=episodes.discount ** np.arange(longest))),
    )


def _estimates(sums: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """Estimates of the team, shrunk and not, and of the behaviour from sums over episodes, one row per resample."""
    ratios, squares, weighted, rewards = np.split(sums, 4, axis=1)
    size = np.where(squares > 0, ratios**2 / np.maximum(squares, 1e-300), 0.0)
    usual = rewards / count
    mean = np.where(ratios > 0, weighted / np.maximum(ratios, 1e-300), usual)
    shrunk = (size * mean + SHRINK * usual) / (size + SHRINK)
    return shrunk.sum(axis=1), mean.sum(axis=1), usual.sum(axis=1)
