"""Merge the nodes of a machine that its visits do not distinguish.

Two nodes can be one when they take the same action and, on every observation that was visited at both, lead to
nodes that can be one; merging a pair may force the merging of others. An edge that was never visited
is taken over from the partner, if it was visited there. Finding the smallest such machine is NP-hard; merging greedily,
pair by pair in the given order, is quick and in small machines as good.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, inlined, kernel
from decpomdp.kernels.machines import ROOT


@inlined
def representative(parent: NDArray[np.int64], node: int) -> int:
    """The representative of `node`."""
    while parent[node] != node:
        node = parent[node]
    return node


@inlined
def copy_machine(
    parent: NDArray[np.int64], move: NDArray[np.int64], parents: NDArray[np.int64], moves: NDArray[np.int64]
) -> None:
    """parents = parent, moves = move."""
    for i in range(len(parent)):
        parents[i] = parent[i]
        for o in range(move.shape[1]):
            moves[i, o] = move[i, o]


@helper
def merge(
    one: int,
    other: int,
    action: NDArray[np.int64],
    move: NDArray[np.int64],
    parent: NDArray[np.int64],
    pairs: NDArray[np.int64],  # [p, 2] scratch
) -> bool:
    """Try to merge two nodes; parent and move are changed, and invalid when the result is False."""
    pairs[0, 0], pairs[0, 1], waiting = one, other, 1
    while waiting > 0:
        waiting -= 1
        a, b = representative(parent, pairs[waiting, 0]), representative(parent, pairs[waiting, 1])
        if a == b:
            continue
        if a == ROOT or b == ROOT or action[a] != action[b]:
            return False
        parent[b] = a
        for o in range(move.shape[1]):
            if move[a, o] < 0:
                move[a, o] = move[b, o]
            elif move[b, o] >= 0:
                pairs[waiting, 0], pairs[waiting, 1] = move[a, o], move[b, o]
                waiting += 1
    return True


@kernel
def fold(
    action: NDArray[np.int64],  # [i]
    move: NDArray[np.int64],  # [i, o] -1: never visited; changed in place
    order: NDArray[np.int64],  # visited nodes, by priority
    parent: NDArray[np.int64],  # [i] out: the representative of i
) -> None:
    """Merge all pairs that can be merged, in order."""
    nodes, symbols = move.shape
    pairs = np.empty((nodes * (symbols + 1) + 1, 2), np.int64)
    parents, moves = np.empty(nodes, np.int64), np.empty((nodes, symbols), np.int64)
    for i in range(nodes):
        parent[i] = i
    for x in range(len(order)):
        for y in range(x):
            one, other = representative(parent, order[y]), representative(parent, order[x])
            if one == other:
                continue
            copy_machine(parent, move, parents, moves)
            if not merge(one, other, action, move, parent, pairs):
                copy_machine(parents, moves, parent, move)
    for i in range(nodes):
        parent[i] = representative(parent, i)
