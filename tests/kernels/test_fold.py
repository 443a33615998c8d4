"""Folding: fewer nodes, the same play wherever play was seen."""

import numpy as np

from decpomdp.kernels import machines as kernels


def folded(action, move, order=None):
    action, move = np.array(action), np.array(move)
    parent = np.empty(len(action), np.int64)
    kernels.fold(action, move, np.arange(1, len(action)) if order is None else np.array(order), parent)
    return parent, move


def test_twins_become_one():
    parent, _ = folded([0, 1, 1, 0], [[1, -1], [2, 3], [1, 3], [1, 1]])
    assert parent.tolist() == [0, 1, 1, 3]


def test_different_actions_stay_apart():
    parent, _ = folded([0, 1, 0], [[1, -1], [2, 2], [1, 1]])
    assert parent.tolist() == [0, 1, 2]


def test_merging_may_force_merging():
    # 1 and 2 agree only if 3 and 4 do, which they do
    parent, _ = folded([0, 1, 1, 0, 0], [[1, 2], [3, 3], [4, 4], [1, 1], [2, 2]])
    assert parent.tolist() == [0, 1, 1, 3, 3]


def test_what_is_forced_and_impossible_is_undone():
    # 1 and 2 look alike but lead to 3 and 4, which act differently
    parent, move = folded([0, 1, 1, 0, 2], [[1, 2], [3, -1], [4, -1], [1, -1], [2, -1]])
    assert parent.tolist() == [0, 1, 2, 3, 4]
    assert move[1].tolist() == [3, -1]


def test_unseen_edges_are_taken_over():
    parent, move = folded([0, 1, 1, 0], [[1, 2], [3, -1], [-1, 1], [1, 2]])
    assert parent.tolist() == [0, 1, 1, 3]
    assert move[1].tolist() == [3, 1]


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
