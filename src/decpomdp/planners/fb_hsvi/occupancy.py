"""Occupancy states: distributions over the state and all agents' local histories.

xi(s, l) is the probability that the state is s and the agents' local histories are l = (l_1, ..., l_N). A joint
decision rule d gives every local history an action. The next occupancy state is

    xi'(s1, (l, o)) = sum_s xi(s, l) P(s1, o | s, d(l))

and the reward sum_{s, l} xi(s, l) reward(d(l), s): planning is a deterministic problem over occupancy states
(Dibangoye, Amato, Buffet, Charpillet, "Optimally solving Dec-POMDPs as continuous-state MDPs", 2013 and 2016).
Local histories are numbered by labels.

Compression: equivalent, or nearly equivalent, local histories get the same label.

Lossless. Two histories l, m of an agent are equivalent when the conditional distributions over everything else,
c_l(s, others' labels) and c_m, are equal. The agent can act the same after both (Oliehoek, Whiteson, Spaan,
"Lossless clustering of histories in decentralized POMDPs", 2009), so merging leaves the value unchanged. Merging one
agent's labels can make another's equal, so the agents take turns until nothing changes.

Common knowledge. Link two labels of different agents if they can occur together. The connected components are common
knowledge among the agents, and the value is the sum of the components' values. So components that are equal up to
weight and numbering are merged, label by label. If the state does not depend on the labels within a component,
xi(s, l) = b(s) p(l), its labels are only common random numbers: the best of their joint decisions is as good for all
of them, and all labels of an agent in the component are merged.

Lossy. Merging labels of weights v and w moves the mass 2 v w / (v + w) |c_l - c_m|_1 of the occupancy state to other
rows, and is done when that is at most a tolerance. The value of a policy is linear in the occupancy state with
coefficients between the least and the greatest value to go, so the error of the optimal value of the compressed state
is at most

    moved mass * (greatest - least value to go) / 2.

`compress` returns the mass moved; the upper bound adds this error, the lower bound is the exact value of a team.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP
from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel

ABSENT = -1  # the label after an observation that cannot occur
SAME = 1e-10  # distributions closer than this (L1) are equal up to rounding
LARGEST = 20_000_000  # numbers in a table of conditional distributions; beyond it, see `_merged`
RAISE, LEAST = 2.0, 1e-7  # factor and smallest value of a tolerance that is raised to reach the cap
DIGITS = 9  # decimals to which weights are compared


Rule = tuple[NDArray[np.int64], ...]  # per agent: [label] action
Labelling = tuple[NDArray[np.int64], ...]  # per agent: [old label] new label, or ABSENT


@dataclass(frozen=True, slots=True, eq=False)
class Occupancy:
    """Rows of positive weight, sorted by joint label, then state."""

    counts: tuple[int, ...]  # labels of each agent
    labels: NDArray[np.int64]  # [j, n] the joint labels that occur
    groups: NDArray[np.int64]  # [j + 1] where the rows of joint label j begin
    state: NDArray[np.int64]  # [k]
    weight: NDArray[np.float64]  # [k] sums to one

    def row_labels(self) -> NDArray[np.int64]:
        """[k, n]: the local labels of every row."""
        return np.repeat(self.labels, np.diff(self.groups), axis=0)


def start_of(model: DecPOMDP) -> Occupancy:
    """The occupancy state before the first step."""
    state = np.flatnonzero(model.start)
    return gathered(np.zeros((len(state), len(model.agents)), np.int64), state, model.start[state])


def gathered(
    labels: NDArray[np.int64],
    state: NDArray[np.int64],
    weight: NDArray[np.float64],
    counts: tuple[int, ...] | None = None,
) -> Occupancy:
    """An occupancy state from rows in any order; equal rows are added. Without counts, every label is in use."""
    counts = tuple(int(count) for count in labels.max(axis=0) + 1) if counts is None else counts
    rows = np.column_stack((labels, state))
    numbers, first = kernels.number_rows(rows, np.array((*counts, int(state.max()) + 1), np.int64))
    rows = rows[first]
    joint = rows[:, :-1]
    groups = np.flatnonzero(np.append(True, (joint[1:] != joint[:-1]).any(axis=1)))
    return Occupancy(
        counts,
        np.ascontiguousarray(joint[groups]),
        np.append(groups, len(rows)),
        rows[:, -1].copy(),
        np.bincount(numbers, weights=weight, minlength=len(rows)).astype(np.float64),
    )


def chosen(dynamics: OutcomeModel, labels: NDArray[np.int64], rule: Rule) -> NDArray[np.int64]:
    """[j]: the joint action that a rule takes in every joint label."""
    return np.stack([own[labels[:, n]] for n, own in enumerate(rule)], axis=-1) @ dynamics.action_strides


def reward_of(dynamics: OutcomeModel, occupancy: Occupancy, rule: Rule) -> float:
    """The expected reward of one step."""
    actions = np.repeat(chosen(dynamics, occupancy.labels, rule), np.diff(occupancy.groups))
    return float(occupancy.weight @ dynamics.reward[actions, occupancy.state])


def follow(dynamics: OutcomeModel, occupancy: Occupancy, rule: Rule) -> tuple[Occupancy, Labelling]:
    """The next occupancy state, not compressed, and the new label of (old label, observation), flat per agent."""
    actions = np.repeat(chosen(dynamics, occupancy.labels, rule), np.diff(occupancy.groups))
    row, after, seen, mass = kernels.successors(dynamics, occupancy.state, occupancy.weight, actions)
    sizes = dynamics.observations
    raw = occupancy.row_labels()[row] * sizes + dynamics.observation_parts[seen]  # [entry, n]
    new = np.empty_like(raw)
    labelling = []
    for n, count in enumerate(occupancy.counts):
        present, new[:, n] = np.unique(raw[:, n], return_inverse=True)
        table = np.full(count * int(sizes[n]), ABSENT, np.int64)
        table[present] = np.arange(len(present))
        labelling.append(table)
    return gathered(new, after, mass), tuple(labelling)


def compress(
    occupancy: Occupancy, tolerance: float = 0.0, cap: int | None = None
) -> tuple[Occupancy, Labelling, float]:
    """The compressed occupancy state, the new label of every old one, and the mass that was moved.

    With a cap, the tolerance is raised until no agent has more labels than that.
    """
    labelling: Labelling = tuple(np.arange(count) for count in occupancy.counts)
    current, moved = occupancy, 0.0
    while True:
        current, merging, shift = _merged_in_turns(current, tolerance, cap is not None)
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


def _merged_in_turns(occupancy: Occupancy, tolerance: float, capped: bool) -> tuple[Occupancy, Labelling, float]:
    labelling = [np.arange(count) for count in occupancy.counts]
    moved, unchanged, n = 0.0, 0, 0
    while unchanged < len(labelling):
        new, shift = _merged(occupancy, n, tolerance, capped)
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


def conditionals(
    occupancy: Occupancy, n: int, states_only: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[label, column]: the distribution over (state, others' labels) for every label of agent n; [label]: weights."""
    labels, state = occupancy.row_labels(), occupancy.state
    others = np.column_stack((np.delete(labels, n, axis=1), state))
    sizes = (*occupancy.counts[:n], *occupancy.counts[n + 1 :], int(state.max()) + 1)
    column, first = (
        (state, np.arange(sizes[-1])) if states_only else kernels.number_rows(others, np.array(sizes, np.int64))
    )
    table = np.zeros((occupancy.counts[n], len(first)))
    np.add.at(table, (labels[:, n], column), occupancy.weight)
    weight = table.sum(axis=1)
    return table / weight[:, None], weight


def _merged(occupancy: Occupancy, n: int, tolerance: float, capped: bool) -> tuple[NDArray[np.int64], float]:
    """[label of agent n]: its new label; and the mass moved.

    If the table is too large, labels are not merged, or, if there is a cap, compared by their states only.
    """
    count = occupancy.counts[n]
    large = count * len(occupancy.weight) > LARGEST
    if count == 1 or (large and not capped):
        return np.arange(count), 0.0
    rows, weight = conditionals(occupancy, n, large)
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
    """The labelling that merges equal components, and labels of product components; None if there are none."""
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
