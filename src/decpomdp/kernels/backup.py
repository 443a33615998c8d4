"""One Bellman backup of a team on a dense model, for any number of agents.

With q = (q_1, ..., q_N) the joint node, M_n[a, o][j, i] = transition_n[i, a, o, j] * action_n[i, a]:

  B v (s, q) = sum_u P(u | q) reward[u, s]
             + discount * sum_u sum_s1 transition[u, s, s1] sum_y observation[u, s1, y] (M_1 x ... x M_N v(s1, .))(q)

The Kronecker product is applied one agent at a time, as matrix products; zeros of the model are skipped.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import FactoredModel


class JointMoves(NamedTuple):
    """All agents' M_n, laid end to end."""

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


@kernel
def backup(
    model: FactoredModel,
    moves: JointMoves,
    first: int,
    end: int,
    v: NDArray[np.float64],  # [s, q]
    out: NDArray[np.float64],  # [s, q] added to
) -> None:
    """Add the later value after joint actions first .. end - 1 to `out`; with all of them, B v without the rewards."""
    states, joint = v.shape
    transition, observation = model.transition, model.observation
    agents = len(moves.nodes)
    ahead = np.empty((states, joint))  # value after s1 under the present joint action
    one, other = np.empty(joint), np.empty(joint)
    for u in range(first, end):
        for s1 in range(states):
            ahead[s1] = 0.0
            row = u * states + s1
            for e in range(observation.offsets[row], observation.offsets[row + 1]):
                y = observation.columns[e]
                for q in range(joint):
                    one[q] = v[s1, q]
                left, right = 1, joint
                for n in range(agents):
                    size = moves.nodes[n]
                    right //= size
                    pair = moves.action_parts[u, n] * moves.observations[n] + moves.observation_parts[y, n]
                    first_entry = moves.place[n] + pair * size * size
                    matrix = moves.table[first_entry : first_entry + size * size].reshape(size, size)
                    contract(matrix, left, right, one, other)
                    left *= size
                    one, other = other, one
                for q in range(joint):
                    ahead[s1, q] += observation.values[e] * one[q]
        for s in range(states):
            row = u * states + s
            for e in range(transition.offsets[row], transition.offsets[row + 1]):
                weight = model.discount * transition.values[e]
                s1 = transition.columns[e]
                for q in range(joint):
                    out[s, q] += weight * ahead[s1, q]
