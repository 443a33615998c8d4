"""Compression of occupancy states: equivalent, or nearly equivalent, local histories get the same label.

Lossless. Two histories l, m of an agent are equivalent when the conditional distributions over everything else,
c_l(s, others' labels) and c_m, are equal. The agent can act the same after both (Oliehoek, Whiteson, Spaan,
"Lossless clustering of histories in decentralized POMDPs", 2009), so merging leaves the value unchanged. Merging one
agent's labels can make another's equal, so the agents take turns until nothing changes.

Common knowledge. Link two labels of different agents when they can occur together: the connected components are
common knowledge among the agents, and the value is the sum of the components' values. So components that are equal up
to weight and numbering are merged, label by label. And within a component where the state does not depend on the
labels, xi(s, l) = b(s) p(l), the labels are common random numbers: the best of their joint decisions can be taken for
all of them, and all labels of an agent there become one.

Lossy. Merging labels of weights v and w moves the mass 2 v w / (v + w) |c_l - c_m|_1 of the occupancy state to other
rows, and is done when that is at most a tolerance. The value of a policy is linear in the occupancy state with
coefficients between the least and the greatest value to go, so the error of the optimal value of the compressed state
is at most

    moved mass * (greatest - least value to go) / 2.

`compress` returns the mass moved; the upper bound adds this error, the lower bound is the exact value of a team.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels import occupancy as kernels
from decpomdp.planners.fb_hsvi.occupancy import ABSENT, Labelling, Occupancy, gathered

SAME = 1e-10  # distributions closer than this (L1) are equal up to rounding
LARGEST = 20_000_000  # numbers in a table of conditional distributions; beyond it labels are left as they are
RAISE, LEAST = 2.0, 1e-7  # factor and smallest value of a tolerance that is raised to reach the cap
DIGITS = 9  # to which weights are compared


def compress(
    occupancy: Occupancy, tolerance: float = 0.0, cap: int | None = None
) -> tuple[Occupancy, Labelling, float]:
    """The compressed occupancy state, the new label of every old one, and the mass that was moved.

    With a cap, the tolerance is raised until no agent has more labels than that.
    """
    labelling: Labelling = tuple(np.arange(count) for count in occupancy.counts)
    current, moved = occupancy, 0.0
    while True:
        current, merging, shift = _merged_in_turns(current, tolerance)
        labelling, moved = composed(labelling, merging), moved + shift
        joined = joined_components(current)
        if joined is not None:
            current, labelling = relabelled(current, joined), composed(labelling, joined)
        elif cap is None or max(current.counts) <= cap:
            break
        else:
            tolerance = max(RAISE * tolerance, LEAST)
    current, order = _numbered(current)
    return current, composed(labelling, order), moved


def _merged_in_turns(occupancy: Occupancy, tolerance: float) -> tuple[Occupancy, Labelling, float]:
    labelling = [np.arange(count) for count in occupancy.counts]
    moved, unchanged, n = 0.0, 0, 0
    while unchanged < len(labelling):
        new, shift = _merged(occupancy, n, tolerance)
        moved += shift
        unchanged = 0 if new.max() + 1 < occupancy.counts[n] else unchanged + 1
        if unchanged == 0:
            change = tuple(new if m == n else np.arange(count) for m, count in enumerate(occupancy.counts))
            occupancy, labelling[n] = relabelled(occupancy, change), new[labelling[n]]
        n = (n + 1) % len(labelling)
    return occupancy, tuple(labelling), moved


def relabelled(occupancy: Occupancy, labelling: Labelling) -> Occupancy:
    """The same rows under new labels."""
    labels = occupancy.row_labels()
    new = np.stack([labelling[n][labels[:, n]] for n in range(labels.shape[1])], axis=-1)
    return gathered(new, occupancy.state, occupancy.weight)


def composed(first: Labelling, second: Labelling) -> Labelling:
    """One relabelling after another; absent labels stay absent."""
    return tuple(np.where(a == ABSENT, ABSENT, b[np.maximum(a, 0)]) for a, b in zip(first, second, strict=True))


def conditionals(occupancy: Occupancy, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[label, column]: for every label of agent n the distribution over (state, others' labels); and its weight."""
    labels = occupancy.row_labels()
    others = np.column_stack((np.delete(labels, n, axis=1), occupancy.state))
    sizes = (*occupancy.counts[:n], *occupancy.counts[n + 1 :], int(occupancy.state.max()) + 1)
    column, first = kernels.number_rows(others, np.array(sizes, np.int64))
    table = np.zeros((occupancy.counts[n], len(first)))
    table[labels[:, n], column] = occupancy.weight
    weight = table.sum(axis=1)
    return table / weight[:, None], weight


def _merged(occupancy: Occupancy, n: int, tolerance: float) -> tuple[NDArray[np.int64], float]:
    """[label of agent n]: its new label; and the mass moved."""
    count = occupancy.counts[n]
    if count == 1 or count * len(occupancy.weight) > LARGEST:
        return np.arange(count), 0.0
    rows, weight = conditionals(occupancy, n)
    leader = np.empty(count, np.int64)
    order = np.argsort(-weight, kind="stable")
    moved = kernels.cluster(rows, weight, order, tolerance, SAME, leader)
    return np.unique(leader, return_inverse=True)[1].ravel().astype(np.int64), float(moved)


def _numbered(occupancy: Occupancy) -> tuple[Occupancy, Labelling]:
    """Labels ordered by weight and conditional state distribution, so that equal occupancy states have equal arrays."""
    labels = occupancy.row_labels()
    order = []
    for n, count in enumerate(occupancy.counts):
        table = np.zeros((count, int(occupancy.state.max()) + 1))
        np.add.at(table, (labels[:, n], occupancy.state), occupancy.weight)
        keys = np.round(np.concatenate([-table.sum(axis=1)[:, None], table], axis=1), DIGITS)
        place = np.empty(count, np.int64)
        place[np.lexsort(keys.T[::-1])] = np.arange(count)
        labels[:, n] = place[labels[:, n]]
        order.append(place)
    return gathered(labels, occupancy.state, occupancy.weight), tuple(order)


def components(occupancy: Occupancy) -> NDArray[np.int64]:
    """[j]: the component of common knowledge that a joint label belongs to, numbered by first appearance."""
    firsts = np.concatenate([[0], np.cumsum(occupancy.counts)[:-1]])
    return np.asarray(kernels.connected(occupancy.labels + firsts, int(sum(occupancy.counts))))


def joined_components(occupancy: Occupancy) -> Labelling | None:
    """The labelling that merges equal components, and labels of product components; None when there are none."""
    which = components(occupancy)
    rows = np.repeat(which, np.diff(occupancy.groups))
    labels = occupancy.row_labels()
    labelling = tuple(np.full(count, ABSENT, np.int64) for count in occupancy.counts)
    known: dict[bytes, tuple[int, ...]] = {}  # first labels of every distinct component
    used = [0] * len(labelling)
    for component in range(int(which.max()) + 1):
        inside = rows == component
        own = [np.unique(labels[inside, n]) for n in range(len(used))]
        part, order = _component(occupancy, labels[inside], inside, own)
        key = b"|".join((str(part.counts).encode(), part.labels.tobytes(), part.groups.tobytes(), part.state.tobytes(),
                         (np.round(part.weight, DIGITS) + 0.0).tobytes()))  # fmt: skip
        if key not in known:
            known[key] = tuple(used)
            used = [begin + count for begin, count in zip(used, part.counts, strict=True)]
        for n, begin in enumerate(known[key]):
            labelling[n][own[n]] = begin + order[n]
    return None if tuple(used) == occupancy.counts else labelling


def _component(
    occupancy: Occupancy, labels: NDArray[np.int64], inside: NDArray[np.bool_], own: list[NDArray[np.int64]]
) -> tuple[Occupancy, Labelling]:
    """One component with labels numbered from 0, or one label per agent if the state does not depend on the labels."""
    weight = occupancy.weight[inside] / occupancy.weight[inside].sum()
    local = np.stack([np.searchsorted(own[n], labels[:, n]) for n in range(len(own))], axis=-1)
    part = gathered(local, occupancy.state[inside], weight)
    if kernels.is_product(part.groups, part.state, part.weight, SAME):
        blank = tuple(np.zeros(count, np.int64) for count in part.counts)
        return relabelled(part, blank), blank
    return _numbered(part)
