"""Occupancy states: distributions over the state and all agents' local histories.

xi(s, l) is the probability that the state is s and the agents' local histories are l = (l_1, ..., l_N). A joint
decision rule d gives every local history an action. The next occupancy state is

    xi'(s1, (l, o)) = sum_s xi(s, l) P(s1, o | s, d(l))

and the reward sum_{s, l} xi(s, l) reward(d(l), s): planning is a deterministic problem over occupancy states
(Dibangoye, Amato, Buffet, Charpillet, "Optimally solving Dec-POMDPs as continuous-state MDPs", 2013 and 2016).
Local histories are numbered by labels, and compression (see `compression`) gives equivalent ones the same label.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP
from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel

ABSENT = -1  # the label after an observation that cannot follow

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
    """An occupancy state from rows in any order; equal rows are added up. Without counts, no label is unused."""
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
