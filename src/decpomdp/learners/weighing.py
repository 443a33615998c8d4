"""Weigh: the weights nu of the steps, from utilities and importance ratios.

The objective of a team is the log of a power mean of its importance ratios w = p(actions so far | team) /
p(actions so far | behaviour), weighted by the utilities g >= 0 of the steps:

  ln M = (1/alpha) ln (sum g w^alpha / sum g),        nu = K g w^alpha / sum g w^alpha,   hence (1/K) sum nu = 1

alpha = 1: the empirical value relative to that of the behaviour. alpha = 0, the limit: sum g ln w / sum g, a weighted
log likelihood, whose weights do not depend on the team and which needs no behaviour probabilities; its constant
sum g ln p(... | behaviour) is left out.

The utility of an episode is the weight of its actions:

  U_k = exp(b (G_k - max G) / std G),   b the largest number up to 1 for which ESS(U) = (sum U)^2 / sum U^2 >= K / 5

with G the discounted return. It selects good episodes; the lower limit of the effective sample size (ESS) prevents a
few lucky ones from deciding the result. While playing, a decision has the utility of the return after it
(`by_decision`).
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, InputError
from decpomdp.core.errors import LearningWarning
from decpomdp.learners.rows import Floats

# DEPARTS: the paper's utility is the sum of the discounted rewards above R_min, each with the ratio of its step
SHARE = 0.2  # effective sample size, at least, relative to the number of episodes
ROUNDS = 40  # bisections for b
QUICK = 10  # the same while playing, where every step of every batch has its own b


def utilities(returns: Floats, rounds: int = ROUNDS) -> Floats:
    """[k]: utility of every episode, at most 1."""
    unit = max(float(np.abs(returns).max()), 1e-300)  # squares of large returns would overflow
    spread = float((returns / unit).std())
    if not spread > 0:
        return np.ones(len(returns))
    score = (returns / unit - returns.max() / unit) / spread
    low, high = 0.0, 1.0
    if sample_size(np.exp(score)) >= SHARE * len(score):
        low = high
    for _ in range(rounds if high > low else 0):
        middle = 0.5 * (low + high)
        enough = sample_size(np.exp(middle * score)) >= SHARE * len(score)
        low, high = (middle, high) if enough else (low, middle)
    return np.exp(low * score)


def sample_size(weights: Floats) -> float:
    """Effective number of episodes: (sum w)^2 / sum w^2; 0 if all weights are 0."""
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


@dataclass(frozen=True)
class Steps:
    """Data of every step; independent of the team."""

    gain: Floats  # [r] utility of the step
    log_behaviour: Floats  # [r] log probability of the actions so far
    offsets: NDArray[np.int64]  # [k + 1]
    signed: bool = False  # whether gains may be negative, which alpha = 0 allows

    @property
    def count(self) -> int:
        """Number of episodes."""
        return len(self.offsets) - 1

    @cached_property
    def useful(self) -> NDArray[np.int64]:
        """Rows with a positive gain."""
        return np.flatnonzero(self.gain > 0)

    @cached_property
    def log_gain(self) -> Floats:
        """[useful]: ln of the share of all gains."""
        logs: Floats = np.log(self.gain[self.useful])
        return logs - _log_sum(logs)

    @cached_property
    def steps_so_far(self) -> Floats:
        """[r], this one included."""
        lengths = np.diff(self.offsets)
        return 1.0 + np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], lengths)


@dataclass(frozen=True, slots=True)
class Weighed:
    """The weights of the steps for a team."""

    nu: Floats  # [r]
    log_mean: float  # ln M
    sample_size: float  # effective number of episodes


def by_utility(episodes: Episodes, log_behaviour: Floats | None, utility: Floats) -> Steps:
    """The utility[k] of every episode, at its last step; the behaviour may be unknown if alpha = 0."""
    gain = np.zeros(episodes.steps)
    gain[episodes.offsets[1:] - 1] = utility
    return Steps(gain, np.zeros(episodes.steps) if log_behaviour is None else log_behaviour, episodes.offsets)


def by_decision(episodes: Episodes) -> Steps:
    """Every decision has the utility of the return from its step on, compared with all episodes that have this step.

    With W_t = discount^t U_t / mean U_t the gains are W_t - W_{t+1}, so that ln M = sum W_t ln p(a_t | history) / K.
    """
    # DEPARTS: the paper's utility is the sum of the discounted rewards above R_min from the step on
    returns, weights = returns_to_go(episodes), np.empty(episodes.steps)
    for t in range(int(episodes.lengths.max())):
        rows = episodes.offsets[:-1][episodes.lengths > t] + t
        own = utilities(returns[rows], QUICK)
        weights[rows] = episodes.discount**t * own / own.mean()
    later = np.append(weights[1:], 0.0)
    later[episodes.offsets[1:] - 1] = 0.0
    return Steps(weights - later, np.zeros(episodes.steps), episodes.offsets, signed=True)


def returns_to_go(episodes: Episodes) -> Floats:
    """[r]: discounted return from the step on, discounted to that step."""
    lengths, discount = episodes.lengths, episodes.discount
    worth = np.zeros((episodes.count, int(lengths.max())))
    inside = np.arange(worth.shape[1]) < lengths[:, None]
    worth[inside] = episodes.rewards
    for t in range(worth.shape[1] - 2, -1, -1):
        worth[:, t] += discount * worth[:, t + 1]
    return worth[inside]


def by_reward(episodes: Episodes, log_behaviour: Floats) -> Steps:
    """The paper's utility: discounted rewards above the smallest, each at its own step.

    A terminated episode has reward 0 from then on. Relative to a negative smallest reward that is a gain; it is added
    to its last step (at discount 1: up to the length of the longest). Otherwise the shift would favour long episodes.
    """
    discounts = episodes.discount ** episodes.times().astype(np.float64)
    ended = np.zeros(episodes.count, bool) if episodes.terminated is None else episodes.terminated
    # DEPARTS: the paper's R_min is the model's; here no model is known
    lowest = float(episodes.rewards.min())
    if ended.any():
        lowest = min(lowest, 0.0)
    gain = discounts * (episodes.rewards - lowest)
    if ended.any():  # DEPARTS: the paper's episodes never end by themselves
        last = episodes.offsets[1:][ended] - 1
        gain[last] += -lowest * _steps_after(episodes, ended)
        _warn_of_cuts(episodes, ended, lowest)
    if not gain.any():
        raise InputError(f"nothing to learn from: every reward is {lowest + 0.0:g}")
    return Steps(gain, log_behaviour, episodes.offsets)


def weigh(steps: Steps, log_team: Floats, power: float) -> Weighed:
    """Weigh every step for a team under which the actions so far have log probability log_team[r].

    If the team gives all steps with a gain probability 0, ln M is minus infinity and nu is 0.
    """
    if steps.signed:
        mean = float(steps.gain @ log_team) / steps.count
        return Weighed(steps.gain, mean, sample_size(np.add.reduceat(steps.gain, steps.offsets[:-1])))
    rows, nu = steps.useful, np.zeros(len(log_team))
    logs = log_team[rows]
    if power == 0:
        shares = np.exp(steps.log_gain)
        log_mean = float(shares @ logs) if np.isfinite(logs).all() else -np.inf
    else:
        logs = steps.log_gain + power * (logs - steps.log_behaviour[rows])
        total = _log_sum(logs)
        shares = np.exp(logs - total) if total > -np.inf else np.zeros(len(logs))
        log_mean = total / power
    nu[rows] = steps.count * shares
    return Weighed(nu, log_mean, sample_size(np.add.reduceat(nu, steps.offsets[:-1])))


def _log_sum(logs: Floats) -> float:
    """ln of the sum of exp(logs)."""
    top = float(logs.max())
    return top if top == -np.inf else top + float(np.log(np.exp(logs - top).sum()))


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
