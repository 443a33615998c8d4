"""Credit assignment: signed step weights that say by how much a step is better than average.

The count pass is linear in the step weights nu. With the rewards above R_min as weights it returns the paper's soft
counts. Every reward r_t = (r_t - m_t) + (m_t - R_min) + R_min, with m_t the mean reward at step t, so those counts are

  (counts with nu = discounted (r_t - m_t))  +  (counts with nu = discounted (m_t - R_min)):

a *signed* part, which says what should change, and a multiple of plain visits, which says that nothing should. When
R_min is a rare disaster the second part drowns the first, and a sweep moves by per-mille. Here the two come apart:
`gain` counts what should change, `visit` counts visits, and the learner chooses how much of one to add to the other.

Two utilities of an episode:
  mean        its rewards; every decision is credited with what came after it
  optimistic  U = max(return - quantile of the returns, 0) at its last step, less the mean utility: what *can* be
              earned when all agents happen to do the right thing. It rewards luck, but also what only pays jointly.
"""

from dataclasses import dataclass

import numpy as np

from decpomdp.core import Episodes
from decpomdp.learners.rows import Floats


@dataclass(frozen=True, slots=True)
class Credit:
    """Step weights for two count passes, and the spread of the utilities."""

    visit: Floats  # [r] counts visits, discounted
    gain: Floats  # [r] counts utility above the usual; signed
    spread: float  # standard deviation of the episodes' utilities


def mean_credit(episodes: Episodes, ratio: Floats) -> Credit:
    """Rewards above the mean reward of their step; ratio[r] = p(actions so far | team) / p(... | behaviour)."""
    times = episodes.times()
    weight = normalised(ratio, times)
    discounts = episodes.discount ** times.astype(np.float64)
    last = episodes.offsets[1:] - 1
    usual = np.bincount(times, weight * episodes.rewards) / episodes.count  # an ended episode earns 0
    gain = discounts * (episodes.rewards - usual[times])
    ended = episodes.terminated if episodes.terminated is not None else np.zeros(episodes.count, bool)
    later = _later(usual, episodes.discount)
    gain[last[ended]] -= later[episodes.lengths[ended]]
    return Credit(weight * visit_weights(episodes), weight * gain, _spread(episodes.returns(), weight[last]))


def visit_weights(episodes: Episodes) -> Floats:
    """[r]: weights whose sum from any step on is the discount of that step."""
    discounts: Floats = episodes.discount ** episodes.times().astype(np.float64)
    weights = discounts * (1 - episodes.discount)
    last = episodes.offsets[1:] - 1
    weights[last] = discounts[last]
    return weights


def optimistic_credit(episodes: Episodes, ratio: Floats, quantile: float) -> Credit:
    """Return of an episode above the `quantile` of the returns, placed at its last step."""
    # DEPARTS: the paper's utility is the return itself
    times = episodes.times()
    last = episodes.offsets[1:] - 1
    weight = normalised(ratio, times)[last]
    returns = episodes.returns()
    utility = np.maximum(returns - weighted_quantile(returns, weight, quantile), 0.0)
    utility -= np.average(utility, weights=weight)
    discounted = float((episodes.discount ** times.astype(np.float64)).sum()) / episodes.steps
    visit, gain = np.zeros(episodes.steps), np.zeros(episodes.steps)
    visit[last], gain[last] = weight * discounted, weight * utility  # as many visits in all as with `mean_credit`
    return Credit(visit, gain, _spread(utility, weight))


def normalised(ratio: Floats, times: np.ndarray) -> Floats:
    """[r]: ratios divided by their mean over the episodes that have the step."""
    sums, running = np.bincount(times, ratio), np.bincount(times)
    return ratio * np.where(sums > 0, running / np.maximum(sums, 1e-300), 0.0)[times]


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """The smallest value at or below which at least `share` of the weight lies."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, share * reached[-1]))
    return float(values[order][min(place, len(values) - 1)])


def _later(usual: Floats, discount: float) -> Floats:
    """[t]: discounted sum of the usual rewards from step t on; one entry more than steps."""
    discounted = usual * discount ** np.arange(len(usual))
    return np.append(np.cumsum(discounted[::-1])[::-1], 0.0)


def _spread(values: Floats, weights: Floats) -> float:
    centre = np.average(values, weights=weights)
    return float(np.sqrt(np.average((values - centre) ** 2, weights=weights)))
