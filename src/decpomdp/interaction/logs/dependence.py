"""Test for confounding: whether the agents' actions are correlated given their own histories.

Residual of agent n, with the cloned behaviour: e_n,t(a) = [a_n,t = a] - P(a | own history). If every agent acts on
its own history, residuals of different agents are uncorrelated. A demonstrator that sees the state correlates them at
the same step. A log that mixes several behaviours also correlates them at different steps of an episode; that
correlation is subtracted. Fitted worlds cannot detect such demonstrators: some world explains every log.
"""

from itertools import combinations, product

import numpy as np

from decpomdp.core import Controller, Episodes, Team
from decpomdp.worlds.posterior import Floats

MOST = 1000  # episodes used
CORRELATED, ERRORS = 0.075, 5.0  # smallest correlation that is reported, and its smallest ratio to the standard error


def dependent(episodes: Episodes, clone: Team) -> float:
    """The largest correlation of two agents' residuals; 0 if it is small or not significant."""
    if episodes.count > MOST:
        episodes = episodes.chosen(np.linspace(0, episodes.count - 1, MOST).astype(np.int64))
    by_agent = [residuals(episodes, n, controller) for n, controller in enumerate(clone.controllers)]  # [n][k, t, a]
    lengths, largest = episodes.lengths, 0.0
    for one, other in combinations(by_agent, 2):
        for a, b in product(range(one.shape[2]), range(other.shape[2])):
            x, y = one[..., a], other[..., b]
            same = (x * y).sum(1)  # [k]
            apart = x.sum(1) * y.sum(1) - same
            excess = same / lengths - apart / np.maximum(lengths * (lengths - 1), 1)
            scale = np.sqrt((x**2).sum() * (y**2).sum()) / lengths.sum()
            error = excess.std(ddof=1) / len(excess) ** 0.5 if len(excess) > 1 else np.inf
            correlation = abs(excess.mean()) / scale if scale > 0 else 0.0
            if correlation > CORRELATED and abs(excess.mean()) > ERRORS * error:
                largest = max(largest, float(correlation))
    return largest


def residuals(episodes: Episodes, n: int, controller: Controller) -> Floats:
    """[k, t, a]: 1 for the action of agent n, minus its probability given the own history; 0 after the end."""
    lengths, starts = episodes.lengths, episodes.offsets[:-1]
    result = np.zeros((episodes.count, int(lengths.max()), controller.actions))
    nodes = np.tile(controller.initial, (episodes.count, 1))  # [k, i]
    first = episodes.observations[starts, n]
    if controller.initial_given is not None:
        nodes = np.where(first[:, None] >= 0, controller.initial_given[first], nodes)
    for t in range(result.shape[1]):
        k = np.flatnonzero(t < lengths)
        did = episodes.actions[starts[k] + t, n]
        result[k, t] = -nodes[k] @ controller.action
        result[k, t, did] += 1
        nodes[k] = _rows(nodes[k] * controller.action[:, did].T)
        k, did = k[t + 1 < lengths[k]], did[t + 1 < lengths[k]]
        seen = episodes.observations[starts[k] + t + 1, n]
        for a, o in set(zip(did.tolist(), seen.tolist(), strict=True)):
            here = k[(did == a) & (seen == o)]
            nodes[here] = nodes[here] @ controller.transition[:, a, o]
    return result


def _rows(table: Floats) -> Floats:
    total = table.sum(1, keepdims=True)
    return np.where(total > 0, table / np.maximum(total, 1e-300), 1.0 / table.shape[1])
