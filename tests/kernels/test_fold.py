"""Folding: fewer nodes, the same play wherever play was seen."""

import numpy as np
import pytest

from decpomdp.kernels import machines as kernels


def folded(action, move, order=None):
    action, move = np.array(action), np.array(move)
    parent = np.empty(len(action), np.int64)
    kernels.fold(action, move, np.arange(1, len(action)) if order is None else np.array(order), parent)
    return parent, move


@pytest.mark.parametrize(
    ("action", "move", "parents", "first"),
    [
        ([0, 1, 1, 0], [[1, -1], [2, 3], [1, 3], [1, 1]], [0, 1, 1, 3], None),  # twins
        ([0, 1, 0], [[1, -1], [2, 2], [1, 1]], [0, 1, 2], [2, 2]),  # different actions
        # 1 and 2 agree only if 3 and 4 do, which they do
        ([0, 1, 1, 0, 0], [[1, 2], [3, 3], [4, 4], [1, 1], [2, 2]], [0, 1, 1, 3, 3], None),
        # 1 and 2 look alike but lead to 3 and 4, which act differently
        ([0, 1, 1, 0, 2], [[1, 2], [3, -1], [4, -1], [1, -1], [2, -1]], [0, 1, 2, 3, 4], [3, -1]),
        ([0, 1, 1, 0], [[1, 2], [3, -1], [-1, 1], [1, 2]], [0, 1, 1, 3], [3, 1]),  # an unseen edge is taken over
    ],
)
def test_what_is_merged(action, move, parents, first):
    parent, moves = folded(action, move)
    assert parent.tolist() == parents
    assert first is None or moves[1].tolist() == first


def test_seen_play_is_the_same():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        nodes, symbols = 9, 3
        action = rng.integers(2, size=nodes + 1)
        move = rng.integers(1, nodes + 1, (nodes + 1, symbols))
        known = np.full_like(move, -1)
        walks = []
        for _ in range(5):
            node, walk = 0, []
            for symbol in rng.integers(symbols, size=12):
                known[node, symbol] = move[node, symbol]
                node = move[node, symbol]
                walk.append((symbol, action[node]))
            walks.append(walk)
        parent, merged = folded(action, known)
        for walk in walks:
            node = 0
            for symbol, wanted in walk:
                node = parent[merged[parent[node], symbol]]
                assert action[node] == wanted
