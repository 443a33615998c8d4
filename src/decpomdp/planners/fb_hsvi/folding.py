"""From a policy graph to small controllers: unreachable parts are dropped, equivalent nodes are merged.

A node and observation that cannot occur while the team plays may lead anywhere. Nodes that take the same action and
lead, on every observation that can occur at both, to nodes that can be one, are merged (greedily, `kernels.fold`):
the team acts the same in everything that can happen, so its value from the start is unchanged.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, DecPOMDP, Team
from decpomdp.kernels import fold as fold_kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.occupancy import Occupancy
from decpomdp.planners.fb_hsvi.policy_graph import Chain, Graph, Pairs, met_pairs


def folded_team(model: DecPOMDP, dynamics: OutcomeModel, start: Occupancy, graph: Graph) -> Team:
    """Small controllers that together act as the graph does."""
    met, used = met_pairs(Chain(dynamics, graph), start)
    return Team.of(
        model,
        [_controller(dynamics, graph, n, met, used, len(agent.actions)) for n, agent in enumerate(model.agents)],
    )


def _controller(dynamics: OutcomeModel, graph: Graph, n: int, met: Pairs, used: Pairs, actions: int) -> Controller:
    action, moves = _laid_out(dynamics, graph, n, met, used)
    action, moves = _merged_equal(np.concatenate([[-1], action]), np.concatenate([moves[:1] * 0 - 1, moves]))
    order = np.flatnonzero(action >= 0)
    parent = np.empty(len(action), np.int64)
    fold_kernels.fold(action, moves, order, parent)
    leaders = [int(i) for i in order if parent[i] == i]
    place = np.full(len(action), 0)
    place[leaders] = np.arange(len(leaders))
    place = place[parent]
    onward = np.where(moves[leaders] < 0, np.arange(len(leaders))[:, None], place[np.maximum(moves[leaders], 0)])
    return Controller.deterministic(action[leaders].tolist(), onward.tolist(), actions, int(place[1]))


def _laid_out(
    dynamics: OutcomeModel, graph: Graph, n: int, met: Pairs, used: Pairs
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Agent n's visited nodes of all layers in a row, numbered from 1; moves that cannot occur are -1."""
    symbols = int(dynamics.observation_parts[:, n].max()) + 1
    numbers, count = [], 1
    for t, layer in enumerate(graph.layers):
        local = np.indices(layer.counts).reshape(len(layer.counts), -1)[n]
        seen = np.zeros(layer.counts[n], np.bool_)
        seen[local[met[t].any(axis=0)]] = True
        number = np.full(layer.counts[n], -1)
        number[seen] = count + np.arange(seen.sum())
        numbers.append(number)
        count += int(seen.sum())
    actions, moves = np.empty(count - 1, np.int64), np.full((count - 1, symbols), -1, np.int64)
    for t, layer in enumerate(graph.layers):
        own = np.flatnonzero(numbers[t] >= 0)
        rows = numbers[t][own] - 1
        actions[rows] = layer.actions[n][own]
        following = graph.after(t)
        if following is not None:
            local = np.indices(layer.counts).reshape(len(layer.counts), -1)[n]
            meets = np.zeros((layer.counts[n], symbols), np.bool_)
            q, y = np.nonzero(used[t])
            meets[local[q], dynamics.observation_parts[y, n]] = True
            targets = numbers[following][layer.moves[n][own]]
            moves[rows] = np.where(meets[own], targets, -1)
    return actions, moves


def _merged_equal(action: NDArray[np.int64], move: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes with equal actions and moves merged, repeatedly: quick, and leaves less for the slow merging.

    Node 0 is a sentinel; the start stays node 1.
    """
    while True:
        rows = np.concatenate([action[:, None], move], axis=1)
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(action):
            return action, move
        leaders = np.sort(first)
        new = np.searchsorted(leaders, first)[inverse.ravel()]
        action, move = action[leaders], np.where(move[leaders] < 0, -1, new[np.maximum(move[leaders], 0)])
