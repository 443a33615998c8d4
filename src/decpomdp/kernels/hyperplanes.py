"""Loops over a hyperplane: which node every label should go on in.

The rows of an occupancy state are (local labels, state, weight). Label l of agent n is variable firsts[n] + l, and
chosen[variable] is a node of agent n; a joint node is the sum of strides[n] * node over agents.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel


@kernel
def best_joint_node(state: NDArray, weight: NDArray, values: NDArray) -> int:
    """The joint node that is worth most when everybody goes there whatever the labels; the first of equals."""
    worth = np.zeros(values.shape[1])
    belief = np.zeros(len(values))
    for k in range(len(state)):
        belief[state[k]] += weight[k]
    for s in range(len(values)):
        if belief[s] > 0.0:
            for q in range(len(worth)):
                worth[q] += belief[s] * values[s, q]
    return int(np.argmax(worth))


@kernel
def ascend(
    labels: NDArray,  # [k, n]
    state: NDArray,  # [k]
    weight: NDArray,  # [k]
    firsts: NDArray,  # [n + 1]
    nodes: NDArray,  # [n]
    strides: NDArray,  # [n]
    values: NDArray,  # [s, q]
    rounds: int,
    close: float,
    chosen: NDArray,  # [variable] improved in place
) -> float:
    """The agents take turns: each gives its labels the nodes that are best while the others' stay. The worth at last.

    A node is left only for one that is better, so the worth never falls; it ends when a round gains at most `close`.
    """
    agents = len(nodes)
    worth = -np.inf
    for _ in range(rounds):
        before = worth
        for n in range(agents):
            payoff = np.zeros((firsts[n + 1] - firsts[n], nodes[n]))
            for k in range(len(state)):
                beside = 0
                for m in range(agents):
                    if m != n:
                        beside += strides[m] * chosen[firsts[m] + labels[k, m]]
                for i in range(nodes[n]):
                    payoff[labels[k, n], i] += weight[k] * values[state[k], beside + strides[n] * i]
            worth = 0.0
            for label in range(len(payoff)):
                best = chosen[firsts[n] + label]
                for i in range(nodes[n]):
                    if payoff[label, i] > payoff[label, best]:
                        best = i
                chosen[firsts[n] + label] = best
                worth += payoff[label, best]
        if worth <= before + close:
            break
    return worth
