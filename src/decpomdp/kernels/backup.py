"""A team on a dense model, for any number of agents: one Bellman backup, and the flow of occupancies.

With q = (q_1, ..., q_N) the joint node, M_n[a, o][j, i] = transition_n[i, a, o, j] * action_n[i, a]:

  B v (s, q) = sum_u P(u | q) reward[u, s]
             + discount * sum_u sum_s1 transition[u, s, s1] sum_y observation[u, s1, y] (M_1 x ... x M_N v(s1, .))(q)

The Kronecker product is applied one agent at a time, as matrix products; zeros of the model are skipped.

The flow: the next occupancy, and the value of every move. With M_n as above, F[s, q] the current occupancy, V[s, q] the
value one step later, and A_u(s1, q) = sum_s transition[u, s, s1] F(s, q):

  forward:  F'(s1, q1) = discount * sum_u sum_y observation[u, s1, y] (M_1^T x ... x M_N^T A_u(s1, .))(q1)
  moves_n[a, o, j, i] = discount * M_n[a, o][j, i] * sum over u, y with parts a, o of agent n, s1, the others' nodes:
                        observation[u, s1, y] A_u(s1, q) (M without n applied to V(s1, .))(j in the place of i)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.model import FactoredModel, SparseRows


class JointMoves(NamedTuple):
    """All agents' M_n, concatenated."""

    nodes: NDArray[np.int64]  # [n]
    observations: NDArray[np.int64]  # [n]
    table: NDArray[np.float64]  # flat: agent n from place[n], [a, o, j, i]
    place: NDArray[np.int64]  # [n]
    action_parts: NDArray[np.int64]  # [u, n]
    observation_parts: NDArray[np.int64]  # [y, n]


@kernel
def contract(matrix: NDArray, left: int, right: int, v: NDArray, out: NDArray) -> None:
    """out[l, i, r] = sum_j matrix[j, i] v[l, j, r], as matrix products."""
    size = len(matrix)
    if right == 1:
        np.dot(v.reshape(left, size), matrix, out.reshape(left, size))
        return
    across = np.ascontiguousarray(matrix.T)
    width = size * right
    for row in range(left):
        source, target = v[row * width : (row + 1) * width], out[row * width : (row + 1) * width]
        np.dot(across, source.reshape(size, right), target.reshape(size, right))


@inlined
def matrix_of(moves: JointMoves, n: int, u: int, y: int) -> NDArray:
    """M_n[a, o] as [j, i]."""
    size = moves.nodes[n]
    pair = moves.action_parts[u, n] * moves.observations[n] + moves.observation_parts[y, n]
    first = moves.place[n] + pair * size * size
    return moves.table[first : first + size * size].reshape(size, size)


@inlined
def applied(
    moves: JointMoves, u: int, y: int, left_out: int, transposed: bool, v: NDArray, one: NDArray, other: NDArray
) -> NDArray:
    """M_1 x ... x M_N v, or their transposes, without the agent `left_out` (-1: all); in `one` or in `other`."""
    for q in range(len(v)):
        one[q] = v[q]
    left, right = 1, len(v)
    for n in range(len(moves.nodes)):
        right //= moves.nodes[n]
        if n != left_out:
            matrix = matrix_of(moves, n, u, y)
            contract(np.ascontiguousarray(matrix.T) if transposed else matrix, left, right, one, other)
            one, other = other, one
        left *= moves.nodes[n]
    return one


@kernel
def backup(
    model: FactoredModel,
    moves: JointMoves,
    first: int,
    end: int,
    v: NDArray[np.float64],  # [s, q]
    out: NDArray[np.float64],  # [s, q] added to
) -> None:
    """Add the later value of joint actions first .. end - 1 to `out`; for all joint actions, B v without rewards."""
    states, joint = v.shape
    transition, observation = model.transition, model.observation
    ahead = np.empty((states, joint))  # value after s1 under this joint action
    one, other = np.empty(joint), np.empty(joint)
    for u in range(first, end):
        for s1 in range(states):
            ahead[s1] = 0.0
            row = u * states + s1
            for e in range(observation.offsets[row], observation.offsets[row + 1]):
                result = applied(moves, u, observation.columns[e], -1, False, v[s1], one, other)
                for q in range(joint):
                    ahead[s1, q] += observation.values[e] * result[q]
        for s in range(states):
            row = u * states + s
            for e in range(transition.offsets[row], transition.offsets[row + 1]):
                weight = model.discount * transition.values[e]
                s1 = transition.columns[e]
                for q in range(joint):
                    out[s, q] += weight * ahead[s1, q]


@inlined
def arriving(transition: SparseRows, u: int, f: NDArray, out: NDArray) -> None:
    """out[s1, q] = sum_s transition[u, s, s1] f[s, q]."""
    states, joint = f.shape
    out[:] = 0.0
    for s in range(states):
        row = u * states + s
        for e in range(transition.offsets[row], transition.offsets[row + 1]):
            s1, weight = transition.columns[e], transition.values[e]
            for q in range(joint):
                out[s1, q] += weight * f[s, q]


@kernel
def forward(
    model: FactoredModel,
    moves: JointMoves,
    f: NDArray[np.float64],  # [s, q]
    out: NDArray[np.float64],  # [s1, q1] added to
) -> None:
    """Add the occupancy one step later."""
    states, joint = f.shape
    observation = model.observation
    arrived = np.empty((states, joint))
    one, other = np.empty(joint), np.empty(joint)
    for u in range(len(moves.action_parts)):
        arriving(model.transition, u, f, arrived)
        for s1 in range(states):
            row = u * states + s1
            if not np.any(arrived[s1]):
                continue
            for e in range(observation.offsets[row], observation.offsets[row + 1]):
                weight = model.discount * observation.values[e]
                result = applied(moves, u, observation.columns[e], -1, True, arrived[s1], one, other)
                for q in range(joint):
                    out[s1, q] += weight * result[q]


@kernel
def count_moves(
    model: FactoredModel,
    moves: JointMoves,
    f: NDArray[np.float64],  # [s, q] now
    v: NDArray[np.float64],  # [s1, q1] one step later
    out: NDArray[np.float64],  # flat like moves.table: agent n from place[n], [a, o, j, i]; added to
) -> None:
    """Add the value of every move of every agent, weighted by its frequency."""
    states, joint = f.shape
    observation = model.observation
    arrived = np.empty((states, joint))
    one, other = np.empty(joint), np.empty(joint)
    for u in range(len(moves.action_parts)):
        arriving(model.transition, u, f, arrived)
        for s1 in range(states):
            row = u * states + s1
            if not np.any(arrived[s1]):
                continue
            for e in range(observation.offsets[row], observation.offsets[row + 1]):
                y, weight = observation.columns[e], model.discount * observation.values[e]
                for n in range(len(moves.nodes)):
                    then = applied(moves, u, y, n, False, v[s1], one, other)
                    add_pairs(moves, n, u, y, weight, arrived[s1], then, out)


@kernel
def add_pairs(
    moves: JointMoves, n: int, u: int, y: int, weight: float, now: NDArray, then: NDArray, out: NDArray
) -> None:
    """out_n[a, o, j, i] += weight M_n[j, i] sum over the others' nodes of now[.. i ..] then[.. j ..]."""
    size = moves.nodes[n]
    right = 1
    for k in range(n + 1, len(moves.nodes)):
        right *= moves.nodes[k]
    left = len(now) // (size * right)
    pair = moves.action_parts[u, n] * moves.observations[n] + moves.observation_parts[y, n]
    first = moves.place[n] + pair * size * size
    for j in range(size):
        for i in range(size):
            entry = first + j * size + i
            if moves.table[entry] == 0.0:
                continue
            total = 0.0
            for before in range(left):
                row_i, row_j = (before * size + i) * right, (before * size + j) * right
                for after in range(right):
                    total += now[row_i + after] * then[row_j + after]
            out[entry] += weight * moves.table[entry] * total
