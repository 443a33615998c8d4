"""Loops over a layered policy graph: values backwards, the gain of changing a node, and mappings of labels to nodes.

Layer t has nodes numbered per agent; a joint node q is row-major over agents. values[s, q] is the value
of state s and joint node q of the next layer.

A mapping gives every label of an occupancy state, whose rows are (local labels, state, weight), a node: label l of
agent n is variable firsts[n] + l, and chosen[variable] is its node; a joint node is the sum of strides[n] * node.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import inlined, kernel
from decpomdp.kernels.model import OutcomeModel


@inlined
def value_of(model: OutcomeModel, s: int, u: int, onward: NDArray, values: NDArray) -> float:
    """The value of taking u in s and moving to onward[y]."""
    place = u * model.reward.shape[1] + s
    ahead = 0.0
    for e in range(model.offsets[place], model.offsets[place + 1]):
        ahead += model.chance[e] * values[model.next_state[e], onward[model.observation[e]]]
    return model.reward[u, s] + model.discount * ahead


@kernel
def values_before(
    model: OutcomeModel,
    actions: NDArray,  # [q] joint action
    onward: NDArray,  # [q, y] joint node of the next layer
    values: NDArray,  # [s, next q]
    out: NDArray,  # [s, q]
) -> None:
    """One Bellman backup of a layer."""
    for s in range(model.reward.shape[1]):
        for q in range(len(actions)):
            out[s, q] = value_of(model, s, actions[q], onward[q], values)


@kernel
def values_at(
    model: OutcomeModel,
    state: NDArray,  # [p]
    node: NDArray,  # [p] joint node
    actions: NDArray,  # [q]
    onward: NDArray,  # [q, y]
    values: NDArray,  # [s, next q]
    out: NDArray,  # [s, q] filled at the pairs
) -> tuple[float, float]:
    """The same backup at some pairs only. Returns the smallest and the largest change."""
    least, most = np.inf, -np.inf
    for p in range(len(state)):
        s, q = state[p], node[p]
        new = value_of(model, s, actions[q], onward[q], values)
        change = new - out[s, q]
        least, most = min(least, change), max(most, change)
        out[s, q] = new
    return least, most


@kernel
def deviate(
    model: OutcomeModel,
    n: int,
    state: NDArray,  # [p] reachable pairs
    base: NDArray,  # [p] joint action when agent n takes action 0
    offset: NDArray,  # [p, y] joint next node when agent n goes to node 0
    stride: int,
    nodes: int,  # of agent n in the next layer
    after: NDArray,  # [s, next q] set where agent n alone could lead the team
) -> None:
    """Mark all pairs after one step in which agent n takes any action and moves to any node."""
    states = model.reward.shape[1]
    for p in range(len(state)):
        for a in range(model.actions[n]):
            place = (base[p] + model.action_strides[n] * a) * states + state[p]
            for e in range(model.offsets[place], model.offsets[place + 1]):
                first = offset[p, model.observation[e]]
                for j in range(nodes):
                    after[model.next_state[e], first + stride * j] = True


@kernel
def gains(
    model: OutcomeModel,
    n: int,
    own: NDArray,  # [k] node of agent n
    base: NDArray,  # [k] joint action when agent n takes action 0
    state: NDArray,  # [k]
    weight: NDArray,  # [k]
    offset: NDArray,  # [k, y] joint next node when agent n goes to node 0
    stride: int,  # between joint next nodes, for consecutive nodes of agent n
    values: NDArray,  # [s, next q]
    earned: NDArray,  # [i, a] added to
    ahead: NDArray,  # [i, a, o, j] added to
) -> None:
    """Add the reward of taking a in agent n's node i, and the value of moving to j after a and o; others fixed."""
    states = model.reward.shape[1]
    choices, nodes = earned.shape[1], ahead.shape[3]
    for k in range(len(state)):
        i = own[k]
        for a in range(choices):
            u = base[k] + model.action_strides[n] * a
            place = u * states + state[k]
            earned[i, a] += weight[k] * model.reward[u, state[k]]
            for e in range(model.offsets[place], model.offsets[place + 1]):
                y, after = model.observation[e], model.next_state[e]
                o = model.observation_parts[y, n]
                mass = model.discount * weight[k] * model.chance[e]
                first = offset[k, y]
                for j in range(nodes):
                    ahead[i, a, o, j] += mass * values[after, first + stride * j]


@kernel
def joint_payoffs(
    model: OutcomeModel,
    groups: NDArray,
    labels: NDArray,  # [j, n]
    state: NDArray,
    weight: NDArray,
    moves: NDArray,  # [v, a, o] next node, v from firsts[n]
    firsts: NDArray,  # [n]
    strides: NDArray,  # [n] between joint next nodes
    values: NDArray,  # [s, next q]
    out: NDArray,  # [j, u]
) -> None:
    """out[j, u]: reward and later value if the agents of joint label j take u and then move by the table."""
    joint, states = model.reward.shape
    agents = labels.shape[1]
    for j in range(len(groups) - 1):
        for u in range(joint):
            total = 0.0
            for k in range(groups[j], groups[j + 1]):
                place = u * states + state[k]
                ahead = 0.0
                for e in range(model.offsets[place], model.offsets[place + 1]):
                    q = 0
                    for n in range(agents):
                        o = model.observation_parts[model.observation[e], n]
                        q += strides[n] * moves[firsts[n] + labels[j, n], model.action_parts[u, n], o]
                    ahead += model.chance[e] * values[model.next_state[e], q]
                total += weight[k] * (model.reward[u, state[k]] + model.discount * ahead)
            out[j, u] = total


@kernel
def reach(
    model: OutcomeModel,
    actions: NDArray,  # [q]
    onward: NDArray,  # [q, y]
    here: NDArray,  # [s, q] whether it is reachable
    after: NDArray,  # [s, next q] set if the next pair is reachable
    used: NDArray,  # [q, y] set if y is possible
) -> bool:
    """Mark the pairs reachable in one step from a layer. Returns whether any was new."""
    states = model.reward.shape[1]
    new = False
    for s in range(states):
        for q in range(len(actions)):
            if here[s, q]:
                place = actions[q] * states + s
                for e in range(model.offsets[place], model.offsets[place + 1]):
                    y = model.observation[e]
                    used[q, y] = True
                    if not after[model.next_state[e], onward[q, y]]:
                        after[model.next_state[e], onward[q, y]] = True
                        new = True
    return new


@kernel
def mapping_payoffs(groups: NDArray, state: NDArray, weight: NDArray, values: NDArray, out: NDArray) -> None:
    """out[j, q]: the value of joint label j in joint node q."""
    for j in range(len(groups) - 1):
        out[j] = 0.0
        for k in range(groups[j], groups[j + 1]):
            for q in range(values.shape[1]):
                out[j, q] += weight[k] * values[state[k], q]


@kernel
def best_joint_node(state: NDArray, weight: NDArray, values: NDArray) -> int:
    """The joint node with the highest value if all labels are mapped to it; the first one if tied."""
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
    """Alternating best responses: nodes for one agent's labels while the others' are fixed. Returns the value.

    A node is replaced only by a better one, so the value never falls. Ends when a round gains at most `close`.
    """
    agents = len(nodes)
    worth = -np.inf
    for _ in range(rounds):
        before = worth
        for n in range(agents):
            payoff = np.zeros((firsts[n + 1] - firsts[n], nodes[n]))
            for k in range(len(state)):
                offset = 0
                for m in range(agents):
                    if m != n:
                        offset += strides[m] * chosen[firsts[m] + labels[k, m]]
                for i in range(nodes[n]):
                    payoff[labels[k, n], i] += weight[k] * values[state[k], offset + strides[n] * i]
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
