"""Loops over the rows of an occupancy state: successors, the centralised bound on its value, and compression.

An occupancy state is a list of rows (joint label, state, weight), sorted by joint label; group j holds rows
groups[j] .. groups[j + 1] - 1.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.model import OutcomeModel

LEAST = 1e-300  # weight of a history that is kept


@kernel
def successors(
    model: OutcomeModel, state: NDArray, weight: NDArray, chosen: NDArray
) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Every (row, next state, joint observation, weight) if row k takes joint action chosen[k].

    Weights are products of chances along a history, which can underflow: those below LEAST are left out.
    """
    states = model.reward.shape[1]
    total = 0
    for k in range(len(state)):
        place = chosen[k] * states + state[k]
        total += model.offsets[place + 1] - model.offsets[place]
    row, after = np.empty(total, np.int64), np.empty(total, np.int64)
    seen, mass = np.empty(total, np.int64), np.empty(total)
    at = 0
    for k in range(len(state)):
        place = chosen[k] * states + state[k]
        for e in range(model.offsets[place], model.offsets[place + 1]):
            row[at], after[at], seen[at] = k, model.next_state[e], model.observation[e]
            mass[at] = weight[k] * model.chance[e]
            if mass[at] > LEAST:
                at += 1
    return row[:at], after[:at], seen[:at], mass[:at]


@kernel
def number_rows(rows: NDArray, sizes: NDArray) -> tuple[NDArray, NDArray]:
    """Number the distinct rows in lexicographic order: [k] the number of row k, [m] a row with number m.

    Column c has values below sizes[c]. Counting sort, from the last column to the first.
    """
    count, columns = rows.shape
    order, after = np.arange(count), np.empty(count, np.int64)
    for c in range(columns - 1, -1, -1):
        begin = np.zeros(sizes[c] + 1, np.int64)
        for k in range(count):
            begin[rows[k, c] + 1] += 1
        for value in range(sizes[c]):
            begin[value + 1] += begin[value]
        for i in range(count):
            value = rows[order[i], c]
            after[begin[value]] = order[i]
            begin[value] += 1
        order, after = after, order
    numbers, first = np.empty(count, np.int64), np.empty(count, np.int64)
    distinct = 0
    for i in range(count):
        different = i == 0
        for c in range(columns):
            different = different or rows[order[i], c] != rows[order[i - 1], c]
        if different:
            first[distinct] = order[i]
            distinct += 1
        numbers[order[i]] = distinct - 1
    return numbers, first[:distinct].copy()


@kernel
def payoffs(
    model: OutcomeModel,
    groups: NDArray,
    state: NDArray,
    weight: NDArray,
    vectors: NDArray,  # [k, s] their maximum bounds the value of a belief
    out: NDArray,  # [j, u]
) -> None:
    """out[j, u]: the reward of u in joint label j, plus the centralised bound on later rewards."""
    joint, states = model.reward.shape
    count = len(vectors)
    seen_sizes = len(model.observation_parts)
    worth = np.zeros((seen_sizes, count))
    listed = np.empty(seen_sizes, np.int64)
    met = np.zeros(seen_sizes, np.bool_)
    for j in range(len(groups) - 1):
        for u in range(joint):
            total, number = 0.0, 0
            for k in range(groups[j], groups[j + 1]):
                total += weight[k] * model.reward[u, state[k]]
                place = u * states + state[k]
                for e in range(model.offsets[place], model.offsets[place + 1]):
                    y = model.observation[e]
                    if not met[y]:
                        met[y] = True
                        worth[y] = 0.0
                        listed[number] = y
                        number += 1
                    mass, after = weight[k] * model.chance[e], model.next_state[e]
                    for v in range(count):
                        worth[y, v] += mass * vectors[v, after]
            ahead = 0.0
            for i in range(number):
                ahead += worth[listed[i]].max()
                met[listed[i]] = False
            out[j, u] = total + model.discount * ahead


@kernel
def central_value(groups: NDArray, state: NDArray, weight: NDArray, vectors: NDArray) -> float:
    """The sum over joint labels of the values of their best vectors."""
    total = 0.0
    for j in range(len(groups) - 1):
        best = -np.inf
        for v in range(len(vectors)):
            worth = 0.0
            for k in range(groups[j], groups[j + 1]):
                worth += weight[k] * vectors[v, state[k]]
            best = max(best, worth)
        total += best
    return total


@kernel
def cluster(rows: NDArray, weight: NDArray, order: NDArray, allowed: float, same: float, leader: NDArray) -> float:
    """Merge labels whose rows (conditional distributions) are nearly equal; return the mass moved.

    In the given order, every label joins the leader for which the moved mass is smallest, if it is at most `allowed` or
    the rows differ by at most `same`; otherwise it becomes a leader. A leader's row becomes the weighted mean.
    """
    moved = 0.0
    leaders = np.empty(len(order), np.int64)
    number = 0
    for own in order:
        best, chosen = np.inf, -1
        for i in range(number):
            other = leaders[i]
            share = 2 * weight[own] * weight[other] / (weight[own] + weight[other])
            limit = min(best, max(allowed, same * share))
            distance = 0.0
            for x in range(rows.shape[1]):
                distance += abs(rows[own, x] - rows[other, x])
                if share * distance > limit:
                    break
            if share * distance <= limit and share * distance < best:
                best, chosen = share * distance, other
        if chosen < 0:
            leaders[number] = own
            number += 1
            leader[own] = own
        else:
            leader[own] = chosen
            total = weight[own] + weight[chosen]
            for x in range(rows.shape[1]):
                rows[chosen, x] = (weight[chosen] * rows[chosen, x] + weight[own] * rows[own, x]) / total
            weight[chosen] = total
            moved += best
    return moved


@kernel
def connected(scope: NDArray, count: int) -> NDArray:
    """[j]: the component of every tuple of labels; tuples that share a label are in the same one."""
    parent = np.arange(count)
    for j in range(len(scope)):
        one = scope[j, 0]
        while parent[one] != one:
            one = parent[one]
        for n in range(1, scope.shape[1]):
            other = scope[j, n]
            while parent[other] != other:
                other = parent[other]
            low, high = min(one, other), max(one, other)
            parent[high] = low
            one = low
    number = np.full(count, -1)
    result = np.empty(len(scope), np.int64)
    components = 0
    for j in range(len(scope)):
        root = scope[j, 0]
        while parent[root] != root:
            root = parent[root]
        if number[root] < 0:
            number[root] = components
            components += 1
        result[j] = number[root]
    return result


@kernel
def is_product(groups: NDArray, state: NDArray, weight: NDArray, same: float) -> bool:
    """Whether every joint label has the same distribution over states."""
    size = groups[1] - groups[0]
    first = weight[: groups[1]].sum()
    for j in range(1, len(groups) - 1):
        if groups[j + 1] - groups[j] != size:
            return False
        total = weight[groups[j] : groups[j + 1]].sum()
        difference = 0.0
        for i in range(size):
            if state[groups[j] + i] != state[i]:
                return False
            difference += abs(weight[groups[j] + i] / total - weight[i] / first)
        if difference > same:
            return False
    return True
