"""Beliefs of a partially observable model, and the two bounds on their value.

A belief is a list of states with their weights; weights need not sum to one, because everything here is linear in
them. After joint action u, `foresee` sorts the possible next states by joint observation y:

  ahead(s1) = sum_s b(s) transition[u, s, s1]        successor_y(s1) = ahead(s1) observation[u, s1, y]

Lower bound: max_i b . vector_i. Upper bound: the smaller of the informed bound max_u b . informed_u and the sawtooth

  sum_s b(s) corner(s) + min_p drop_p min_{s in p} b(s) / b_p(s),     drop_p = value_p - sum_s b_p(s) corner(s) <= 0

over the points p whose states are all in b; points are in linked lists by their first state, so that few are checked.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import FactoredModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TINY = 1e-30  # states less likely than this are dropped from a belief: products of smaller numbers may underflow


class BeliefPoints(NamedTuple):
    """The upper bound."""

    offsets: Ints  # [p + 1]
    states: Ints  # [entry] ascending within a point
    weights: Floats  # [entry] sum to one within a point
    drop: Floats  # [p]
    head: Ints  # [s] first point in the list of state s; -1: none
    following: Ints  # [p] next point in the list; -1: none
    corner: Floats  # [s]
    informed: Floats  # [s, u]


class Scratch(NamedTuple):
    """Temporary arrays of one worker."""

    ahead: Floats  # [s] zero between uses
    touched: Ints  # [s]
    count: Ints  # [y] zero between uses
    seen: Ints  # [y] the joint observations that may follow, in order of discovery
    first: Ints  # [k + 1] entries of the k-th of them
    states: Ints  # [entry]
    weights: Floats  # [entry]
    dense: Floats  # [s] zero between uses


@kernel
def scratch_for(states: int, symbols: int, widest: int) -> Scratch:
    """Allocate the temporary arrays."""
    return Scratch(
        np.zeros(states),
        np.empty(states, np.int64),
        np.zeros(symbols, np.int64),
        np.empty(symbols, np.int64),
        np.zeros(symbols + 1, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest),
        np.zeros(states),
    )


@kernel
def foresee(model: FactoredModel, u: int, states: Ints, weights: Floats, scratch: Scratch) -> int:
    """Sort the possible next states after u by joint observation; returns the number of joint observations."""
    transition, observation = model.transition, model.observation
    base = u * model.reward.shape[1]
    touched = 0
    for k in range(len(states)):
        row = base + states[k]
        for e in range(transition.offsets[row], transition.offsets[row + 1]):
            s1 = transition.columns[e]
            if scratch.ahead[s1] == 0.0:
                scratch.touched[touched] = s1
                touched += 1
            scratch.ahead[s1] += weights[k] * transition.values[e]
    seen = 0
    for k in range(touched):
        row = base + scratch.touched[k]
        for e in range(observation.offsets[row], observation.offsets[row + 1]):
            y = observation.columns[e]
            if scratch.count[y] == 0:
                scratch.seen[seen] = y
                seen += 1
            scratch.count[y] += 1
    scratch.first[0] = 0
    for k in range(seen):
        scratch.first[k + 1] = scratch.first[k] + scratch.count[scratch.seen[k]]
        scratch.count[scratch.seen[k]] = scratch.first[k]  # from here on: position of the next entry
    for k in range(touched):
        s1 = scratch.touched[k]
        for e in range(observation.offsets[base + s1], observation.offsets[base + s1 + 1]):
            place = scratch.count[observation.columns[e]]
            scratch.states[place] = s1
            scratch.weights[place] = scratch.ahead[s1] * observation.values[e]
            scratch.count[observation.columns[e]] += 1
        scratch.ahead[s1] = 0.0
    for k in range(seen):
        scratch.count[scratch.seen[k]] = 0
    return seen


@kernel
def best_vector(
    vectors: Floats, count: int, states: Ints, weights: Floats, slack: float, scores: Floats
) -> tuple[int, float]:
    """The first vector whose value is at most `slack` times the mass below the highest one, and its value."""
    scores[:count] = 0.0
    mass = 0.0
    for k in range(len(states)):
        row, weight = vectors[states[k]], weights[k]
        mass += weight
        for i in range(count):
            scores[i] += weight * row[i]
    best = 0
    for i in range(1, count):
        if scores[i] > scores[best]:
            best = i
    enough = scores[best] - slack * mass
    for i in range(best):
        if scores[i] >= enough:
            return i, scores[i]
    return best, scores[best]


@kernel
def upper_bound(points: BeliefPoints, states: Ints, weights: Floats, dense: Floats) -> float:
    """The upper bound of a belief."""
    base = 0.0
    for k in range(len(states)):
        dense[states[k]] = weights[k]
        base += weights[k] * points.corner[states[k]]
    deepest = 0.0
    for k in range(len(states)):
        p = points.head[states[k]]
        while p >= 0:
            ratio = np.inf
            for e in range(points.offsets[p], points.offsets[p + 1]):
                ratio = min(ratio, dense[points.states[e]] / points.weights[e])
                if points.drop[p] * ratio >= deepest:
                    break
            deepest = min(deepest, points.drop[p] * ratio)
            p = points.following[p]
    for k in range(len(states)):
        dense[states[k]] = 0.0
    informed = -np.inf
    for u in range(points.informed.shape[1]):
        total = 0.0
        for k in range(len(states)):
            total += weights[k] * points.informed[states[k], u]
        informed = max(informed, total)
    return min(informed, base + deepest)


@kernel
def upper_values(
    model: FactoredModel, points: BeliefPoints, states: Ints, weights: Floats, scratch: Scratch, out: Floats
) -> None:
    """out[u]: the upper bound of taking u first."""
    for u in range(len(out)):
        earned, following = 0.0, 0.0
        for k in range(len(states)):
            earned += weights[k] * model.reward[u, states[k]]
        for k in range(foresee(model, u, states, weights, scratch)):
            part = slice(scratch.first[k], scratch.first[k + 1])
            following += upper_bound(points, scratch.states[part], scratch.weights[part], scratch.dense)
        out[u] = earned + model.discount * following


@kernel
def hang(points: BeliefPoints) -> None:
    """Put the points into the lists of their first states."""
    points.head[:] = -1
    for p in range(len(points.drop)):
        first = points.states[points.offsets[p]]
        points.following[p] = points.head[first]
        points.head[first] = p


@kernel
def point_values(points: BeliefPoints, begin: int, out: Floats) -> None:
    """out[p]: the upper bound at every point from `begin` on."""
    dense = np.zeros(len(points.corner))
    for p in range(begin, len(out)):
        part = slice(points.offsets[p], points.offsets[p + 1])
        out[p] = upper_bound(points, points.states[part], points.weights[part], dense)


@kernel
def best_vectors(
    vectors: Floats, count: int, offsets: Ints, states: Ints, weights: Floats, index: Ints, value: Floats
) -> None:
    """index[p], value[p]: the best vector of every belief."""
    scores = np.empty(count)
    for p in range(len(index)):
        part = slice(offsets[p], offsets[p + 1])
        index[p], value[p] = best_vector(vectors, count, states[part], weights[part], 0.0, scores)


@kernel
def toward(
    model: FactoredModel,
    vectors: Floats,
    count: int,
    points: BeliefPoints,
    states: Ints,
    weights: Floats,
    target: float,
    out_states: Ints,
    out_weights: Floats,
) -> tuple[int, float]:
    """The successor with the largest excess, under the action with the best upper bound.

    Returns its number of states and its excess: probability * (gap between the bounds - `target`).
    """
    scratch = scratch_for(model.reward.shape[1], model.symbols, model.widest)
    values, scores = np.empty(model.reward.shape[0]), np.empty(count)
    upper_values(model, points, states, weights, scratch, values)
    seen = foresee(model, np.argmax(values), states, weights, scratch)
    chosen, widest = np.int64(0), -np.inf
    for k in range(seen):
        part = slice(scratch.first[k], scratch.first[k + 1])
        mass = scratch.weights[part].sum()
        upper = upper_bound(points, scratch.states[part], scratch.weights[part], scratch.dense)
        _, lower = best_vector(vectors, count, scratch.states[part], scratch.weights[part], 0.0, scores)
        if upper - lower - mass * target > widest:
            chosen, widest = k, upper - lower - mass * target
    return successor(scratch, chosen, out_states, out_weights), widest


@kernel
def successor(scratch: Scratch, k: int, out_states: Ints, out_weights: Floats) -> int:
    """The k-th foreseen successor as a belief that sums to one; returns its number of states."""
    mass, remaining, size = 0.0, 0.0, 0
    for e in range(scratch.first[k], scratch.first[k + 1]):
        mass += scratch.weights[e]
    for e in range(scratch.first[k], scratch.first[k + 1]):
        if scratch.weights[e] > TINY * mass:
            out_states[size], out_weights[size] = scratch.states[e], scratch.weights[e]
            remaining += scratch.weights[e]
            size += 1
    for e in range(size):
        out_weights[e] /= remaining
    return size


@kernel
def furthest(
    model: FactoredModel, points: BeliefPoints, p: int, chances: Floats, out_states: Ints, out_weights: Floats
) -> tuple[int, float]:
    """Draw a successor of point p for every action, and choose the one furthest from all points in the 1-norm.

    Returns its number of states and the distance. chances[u] in [0, 1) draws the joint observation after u.
    """
    scratch = scratch_for(model.reward.shape[1], model.symbols, model.widest)
    own = slice(points.offsets[p], points.offsets[p + 1])
    states, weights = np.empty(len(out_states), np.int64), np.empty(len(out_states))
    size, distance = 0, -1.0
    for u in range(len(chances)):
        seen = foresee(model, u, points.states[own], points.weights[own], scratch)
        left, k = chances[u], 0
        while k < seen - 1:
            left -= scratch.weights[scratch.first[k] : scratch.first[k + 1]].sum()
            if left < 0.0:
                break
            k += 1
        length = successor(scratch, k, states, weights)
        away = nearest(points, states[:length], weights[:length], scratch.dense)
        if away > distance:
            size, distance = length, away
            for k in range(length):
                out_states[k], out_weights[k] = states[k], weights[k]
    return size, distance


@kernel
def nearest(points: BeliefPoints, states: Ints, weights: Floats, dense: Floats) -> float:
    """Distance in the 1-norm from a belief to the nearest point."""
    for k in range(len(states)):
        dense[states[k]] = weights[k]
    closest = 0.0  # the largest overlap: |b - p| = 2 - 2 sum_s min(b(s), p(s))
    for p in range(len(points.drop)):
        overlap = 0.0
        for e in range(points.offsets[p], points.offsets[p + 1]):
            overlap += min(dense[points.states[e]], points.weights[e])
        closest = max(closest, overlap)
    for k in range(len(states)):
        dense[states[k]] = 0.0
    return 2.0 - 2.0 * closest
