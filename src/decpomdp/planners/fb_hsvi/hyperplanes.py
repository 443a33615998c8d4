"""Hyperplanes over occupancy states: the value of a known team from any of them, the lower bound of FB-HSVI.

Let alpha(s, q) be the value of a team of deterministic controllers in state s and joint node q = (q_1, ..., q_N):

    alpha(s, q) = reward(u_q, s) + discount * sum_{s1, y} P(s1, y | s, u_q) alpha(s1, next(q, y))

At an occupancy state xi, agents that continue in the nodes m_n(l_n) of their labels follow a decentralised policy, for
any mapping m = (m_1, ..., m_N). So for every m

    V(xi) >= sum_{s, l} xi(s, l) alpha(s, m(l)),

a linear function of xi. The best m is a weighted constraint problem. Here m comes from alternating best responses of
the agents, which start from the best joint node for all labels. The bound holds for any m; a better m makes it tighter.
The bound of several teams is the maximum of their bounds.

alpha is solved by backups. When one backup B changes every value by at least a and at most b, then

    B v + a f <= alpha <= B v + b f,   f = discount / (1 - discount)   (MacQueen 1966):

backups continue from the middle until both bounds are close. The lower one, less an allowance for rounding, is stored.
It is a bound after any number of backups.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Team
from decpomdp.core.agent import strides_of
from decpomdp.kernels import layers as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.occupancy import Labelling, Occupancy
from decpomdp.planners.fb_hsvi.policy_graph import Layer, joint_actions, joint_moves

LATEST = 10  # teams that are stored
LARGEST = 300_000  # most pairs of state and joint node
MOVES = 5_000_000  # most transitions between pairs
PRECISION = 1e-9  # of the largest value: when the backups stop
BACKUPS = 5_000  # at most
ROUNDS = 8  # of best responses for a mapping, at most
CLOSE = 1e-12  # relative: a round that gains no more is the last


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane:
    """A team, as a layer that moves to itself, and its value from every pair."""

    team: Team
    layer: Layer
    values: NDArray[np.float64]  # [s, q] lower bounds


@dataclass(frozen=True, slots=True, eq=False)
class Continuation:
    """A continuation: every agent's labels are mapped to nodes of a hyperplane's team."""

    value: float  # a lower bound
    plane: Hyperplane
    nodes: Labelling  # per agent: [label] node


class Hyperplanes:
    """The hyperplanes of the latest teams."""

    def __init__(self, dynamics: OutcomeModel, check: Callable[[], None] = lambda: None) -> None:
        self.dynamics, self.check = dynamics, check
        self.latest: list[Hyperplane] = []
        self.added = 0  # in total

    @property
    def teams(self) -> list[Team]:
        return [plane.team for plane in self.latest]

    def restore(self, teams: Sequence[Team], added: int) -> None:
        self.latest = [hyperplane(self.dynamics, team, self.check) for team in teams]
        self.added = added

    def add(self, team: Team) -> None:
        """Add the hyperplane of a team, unless it was added last or is too large."""
        last = self.latest[-1].team if self.latest else None
        if last is not team and last != team and fits(self.dynamics, team):
            plane = hyperplane(self.dynamics, team, self.check)
            self.latest = [*self.latest[1 - LATEST :], plane]
            self.added += 1

    def best(self, occupancy: Occupancy, known: int = 0) -> Continuation | None:
        """The best continuation of an occupancy state by teams added after the first `known`; None without any."""
        new = self.latest[max(0, known - self.added + len(self.latest)) :]
        return max((start_in(plane, occupancy) for plane in new), key=lambda start: start.value, default=None)


def fits(dynamics: OutcomeModel, team: Team) -> bool:
    """Whether a team's hyperplane is small enough; the number of transitions is a rough estimate."""
    pairs = dynamics.reward.shape[1] * math.prod(team.nodes)
    return pairs <= LARGEST and pairs * (len(dynamics.chance) / dynamics.reward.size) <= MOVES


def hyperplane(dynamics: OutcomeModel, team: Team, check: Callable[[], None] = lambda: None) -> Hyperplane:
    """The values of a team's likeliest choices from every pair of state and joint node."""
    layer = _layer(team)
    actions, onward = joint_actions(dynamics, layer), joint_moves(layer, layer.counts, dynamics.observation_parts)
    values = np.zeros((dynamics.reward.shape[1], len(actions)))
    after, ahead = np.empty_like(values), dynamics.discount / (1 - dynamics.discount)
    for _ in range(BACKUPS):
        check()
        kernels.values_before(dynamics, actions, onward, values, after)
        change = after - values
        least, most = float(change.min()) * ahead, float(change.max()) * ahead
        size = float(np.abs(after).max())
        if most - least <= PRECISION * size:
            break
        values = after + (least + most) / 2
    rounding = 8 * float(np.finfo(float).eps) * size / (1 - dynamics.discount)
    return Hyperplane(team, layer, after + (least - rounding))


def start_in(plane: Hyperplane, occupancy: Occupancy) -> Continuation:
    """A continuation of an occupancy state by a hyperplane's team, from alternating best responses."""
    counts = plane.layer.counts
    firsts = np.concatenate([[0], np.cumsum(occupancy.counts)]).astype(np.int64)
    strides = strides_of(counts)
    common = int(kernels.best_joint_node(occupancy.state, occupancy.weight, plane.values))
    chosen = np.repeat(np.array(np.unravel_index(common, counts), np.int64), occupancy.counts)
    close = CLOSE * max(1.0, float(np.abs(plane.values[:, common]).max()))
    value = kernels.ascend(
        occupancy.row_labels(), occupancy.state, occupancy.weight, firsts, np.array(counts, np.int64), strides,
        plane.values, ROUNDS, close, chosen,
    )  # fmt: skip
    return Continuation(float(value), plane, tuple(np.split(chosen, firsts[1:-1])))


def _layer(team: Team) -> Layer:
    actions = tuple(c.action.argmax(axis=1).astype(np.int64) for c in team.controllers)
    moves = tuple(
        np.ascontiguousarray(c.transition[np.arange(c.nodes), own].argmax(axis=-1).astype(np.int64))
        for c, own in zip(team.controllers, actions, strict=True)
    )
    return Layer(actions, moves)
