"""Three importance-sampling estimates of a team's value, all as sums over episodes.

The importance ratio of the actions up to t is

  w_t = prod over agents n and steps s <= t of  p(a_{n,s} | h_{n,s}, team) / p(a_{n,s} | h_{n,s}, behaviour).

The numerator is the probability of the action given the agent's own history, whatever the hidden node: the normaliser
of the forward filter over the nodes of its controller. The denominator is what the episodes recorded. With w the ratio
of the whole episode, r_t the reward and d the discount:

  ordinary         mean over episodes of  w sum_t d^t r_t                      unbiased, the largest variance
  per-decision     mean over episodes of  sum_t d^t w_t r_t                    unbiased: later actions cannot matter
  self-normalised  sum_t d^t (sum over episodes of w_t r_t) / (sum of w_t)     a small bias, the smallest variance

(Precup, Sutton, Singh 2000.) After its end an episode has rewards of 0 and its last ratio. The bootstrap and the
jackknife use the same sums, with `counts` of every episode.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, InputError, Team
from decpomdp.engines import threads as engine
from decpomdp.filtering.filter import cumulated, filtered, tables_of
from decpomdp.filtering.layout import lay_out

Floats = NDArray[np.float64]

LARGEST = 600.0  # in logs: a step with larger ratios has all of them scaled down, so that sums are finite; no data
# support such ratios, and the self-normalised estimate does not change


def log_chances(episodes: Episodes, team: Team, threads: int | None = None) -> Floats:
    """[r, n]: log probability of every action under the team, given the agent's own history."""
    team.check_fits(episodes)
    unknown = np.isnan(episodes.behaviour)
    if unknown.any():
        row, n = (int(i) for i in np.argwhere(unknown)[0])
        raise InputError(
            f"{episodes.place(row)}, agent {episodes.agents[n].name}: expected the probability with which the "
            f"behaviour took the action, got unknown; off-policy evaluation needs it"
        )
    tables = [tables_of(team, n) for n in range(len(team.agents))]
    with engine.serial_products():
        logs, _ = filtered(lay_out(episodes, max(team.nodes)), tables, False, threads)
    return logs


def log_ratios(episodes: Episodes, chances: Floats) -> Floats:
    """[r]: log ratio of all actions so far in the episode, from `log_chances`; -inf if impossible under the team."""
    return cumulated(chances, episodes) - cumulated(np.log(episodes.behaviour, dtype=np.float64), episodes)


@dataclass(frozen=True, slots=True)
class Weighted:
    """Ratios, rewards and parts in the estimates of every episode, for the first `horizon` steps."""

    rewards: Floats  # [k, t] discounted; 0 after the end
    scaled: Floats  # [k, t] ratio divided by the largest of the step
    top: Floats  # [t] the largest ratio of the step, in logs, LARGEST at most; 0 when none is possible
    gains: Floats  # [k, t] scaled ratio times reward
    shares: Floats  # [k, 2] parts of every episode in the ordinary and in the per-decision estimate

    @property
    def ratios(self) -> Floats:
        """[k, t]"""
        return self.scaled * np.exp(self.top)

    def sample_sizes(self) -> Floats:
        """[t]: effective number of episodes, (sum w)^2 / sum w^2."""
        squares = (self.scaled**2).sum(axis=0)
        return np.where(squares > 0, self.scaled.sum(axis=0) ** 2 / np.maximum(squares, 1e-300), 0.0)

    def estimates(self, counts: Floats) -> Floats:
        """[b, 3]: the ordinary, per-decision and self-normalised estimates when episode k counts counts[b, k] times."""
        means = counts @ self.shares / counts.sum(axis=1, keepdims=True)
        normal = _ratio(counts @ self.gains, counts @ self.scaled).sum(axis=1, keepdims=True)
        return np.concatenate([means, normal], axis=1)

    def without_one(self) -> Floats:
        """[k, 3]: the estimates with episode k left out (the jackknife)."""
        means = (self.shares.sum(axis=0) - self.shares) / (len(self.shares) - 1)
        gains, weights = self.gains.sum(axis=0) - self.gains, self.scaled.sum(axis=0) - self.scaled
        normal = _ratio(gains, weights).sum(axis=1, keepdims=True)
        return np.concatenate([means, normal], axis=1)


def weighted(episodes: Episodes, log_ratios: Floats, horizon: int, discount: float) -> Weighted:
    """Ratios and rewards by episode and step."""
    times, steps = episodes.times(), np.arange(horizon)
    inside = times < horizon
    k, t = np.repeat(np.arange(episodes.count), episodes.lengths)[inside], times[inside]
    rewards = np.zeros((episodes.count, horizon))
    rewards[k, t] = episodes.rewards[inside] * discount ** t.astype(np.float64)
    last = np.minimum(steps, episodes.lengths[:, None] - 1)  # [k, t] the step whose ratio an episode has at t
    logs = log_ratios[episodes.offsets[:-1, None] + last]
    top = logs.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    scaled = np.exp(logs - top)
    top = np.minimum(top, LARGEST)
    gains = scaled * rewards
    shares = np.stack([scaled[:, -1] * np.exp(top[-1]) * rewards.sum(axis=1), gains @ np.exp(top)], axis=1)
    return Weighted(rewards, scaled, top, gains, shares)


def inverse(weights: Floats) -> Floats:
    """1 / weight; 0 where there is no weight (left over by rounding at most)."""
    return np.where(weights > 1e-13, 1 / np.maximum(weights, 1e-300), 0.0)


def _ratio(gains: Floats, weights: Floats) -> Floats:
    """Gains per weight; 0 where there is no weight."""
    return np.where(weights > 1e-13, gains / np.maximum(weights, 1e-300), 0.0)
