"""Visited occupancy states with certified bounds: the upper bound of FB-HSVI.

Every point ranks its decision rules, best first (`Ranking`, under the centralised bound on later rewards). Rules taken
from the ranking are edges to further points; the ranking bounds all other rules. The upper bound of a point is

    max( bound of the rest,  max over edges  reward + discount * (upper of the next point + price of compression) )

and never rises. Points reached by different rules are the same point when their compressed occupancy states are
equal to 9 digits. Between points the bound is interpolated (sawtooth): the optimal value V is convex, so for a point
k with the same rows and the largest ratio r with xi >= r xi_k,

    V(xi) <= r V(xi_k) + V(xi - r xi_k) <= r upper_k + central(xi - r xi_k),

where V of an unnormalised remainder is defined by homogeneity, and the centralised bound applies to it. The numbering
of labels does not affect validity, only how often rows agree.

The lower bound of a point is the maximum over its edges in the same way. With an infinite horizon, the known teams
give further lower bounds (`hyperplanes.py`), computed for a new point and when a trial visits a point after a new team.

Points are plain data that refer to each other by number: a list of them is part of a checkpoint. `OccupancyPoints` is
the graph of such a list, with derived data: an index of occupancy states, and the games of rankings.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.bounds import CentralBound
from decpomdp.planners.fb_hsvi.hyperplanes import Hyperplanes
from decpomdp.planners.fb_hsvi.occupancy import DIGITS, Occupancy, Rule, composed, compress, follow, reward_of
from decpomdp.planners.fb_hsvi.policy_graph import Layer, LayeredGraph, last_layer, layer_of
from decpomdp.planners.fb_hsvi.rules import Game, Ranking, game_of

LATEST = 100  # points to interpolate with


class Edge(NamedTuple):
    """A decision rule taken at a point."""

    rule: Rule
    layer: Layer
    reward: float
    price: float  # bound on the error of lossy compression, in the next value
    target: int  # number of the next point


@dataclass(slots=True, eq=False)
class OccupancyPoint:
    """An occupancy state, the steps left (None: an infinite horizon), and bounds on its value."""

    number: int  # place in the list of points
    occupancy: Occupancy
    left: int | None
    upper: float
    lower: float = -math.inf  # with an infinite horizon, initially the smallest possible value
    hyperplanes: int = 0  # number of them included in `lower`
    ranking: Ranking | None = None  # made on first use
    edges: list[Edge] = field(default_factory=list)


class OccupancyPoints:
    """The graph of visited points."""

    def __init__(
        self,
        dynamics: OutcomeModel,
        central: CentralBound,
        tolerance: float,
        check: Callable[[], None] = lambda: None,  # called often; raises if the run is ending
        hyperplanes: Hyperplanes | None = None,  # none by default
        points: list[OccupancyPoint] | None = None,  # to begin with; new ones are appended to this list
    ) -> None:
        self.dynamics, self.central, self.tolerance, self.check = dynamics, central, tolerance, check
        self.hyperplanes = Hyperplanes(dynamics) if hyperplanes is None else hyperplanes
        self.all = [] if points is None else points  # in the order in which they were reached
        self._numbers: dict[bytes, int] = {}
        self._same_rows: dict[bytes, list[OccupancyPoint]] = {}
        self._neighbours: list[list[OccupancyPoint]] = []  # of each point: those with the same rows
        self._games: dict[int, Game] = {}
        for point in self.all:
            self._index(point)

    def __len__(self) -> int:
        return len(self.all)

    def point(self, occupancy: Occupancy, left: int | None) -> OccupancyPoint:
        """The point of a compressed occupancy state; created if it is new."""
        number = self._numbers.get(_keys(occupancy, left)[1])
        if number is not None:
            return self.all[number]
        vectors = self.central.at(left)
        upper = float(kernels.central_value(occupancy.groups, occupancy.state, occupancy.weight, vectors))
        lower = self.central.least[0] if left is None else upper if left == 0 else -math.inf
        point = OccupancyPoint(len(self.all), occupancy, left, upper, lower)
        self.all.append(point)
        self._index(point)
        self.interpolate(point)
        self.lift(point)
        return point

    def _index(self, point: OccupancyPoint) -> None:
        rows, key = _keys(point.occupancy, point.left)
        self._numbers[key] = point.number
        neighbours = self._same_rows.setdefault(rows, [])
        neighbours.append(point)
        self._neighbours.append(neighbours)

    def interpolate(self, point: OccupancyPoint) -> None:
        """Lower a point's upper bound by those of the latest points with the same rows."""
        vectors = self.central.at(point.left)
        for other in self._neighbours[point.number][-LATEST:]:
            if other is not point and other.ranking is not None:
                occupancy = point.occupancy
                ratio = float((occupancy.weight / other.occupancy.weight).min())
                rest = np.maximum(occupancy.weight - ratio * other.occupancy.weight, 0.0)
                left_over = float(kernels.central_value(occupancy.groups, occupancy.state, rest, vectors))
                point.upper = min(point.upper, ratio * other.upper + left_over)

    def lift(self, point: OccupancyPoint) -> None:
        """Raise the lower bound of a point of an infinite horizon by hyperplanes added since its last update."""
        if point.left is None and point.hyperplanes < self.hyperplanes.added:
            start = self.hyperplanes.best(point.occupancy, point.hyperplanes)
            point.hyperplanes = self.hyperplanes.added
            point.lower = point.lower if start is None else max(point.lower, start.value)

    def opened(self, point: OccupancyPoint) -> tuple[Game, Ranking]:
        """The game of the point's rules, and the ranking of those that are not edges; created on first use."""
        if point.number not in self._games:
            xi = point.occupancy
            tables = np.empty((len(xi.labels), len(self.dynamics.reward)))
            vectors = self.central.at(None if point.left is None else point.left - 1)
            kernels.payoffs(self.dynamics, xi.groups, xi.state, xi.weight, vectors, tables)
            self._games[point.number] = game_of(tables, xi.labels, xi.counts, self.dynamics.actions)
        game = self._games[point.number]
        if point.ranking is None:
            point.ranking = Ranking.of(game)
        return game, point.ranking

    def bound_of_rest(self, point: OccupancyPoint) -> float:
        """A bound on all rules that are not edges."""
        game, ranking = self.opened(point)
        return ranking.bound(game, self.check)

    def upper(self, edge: Edge) -> float:
        return edge.reward + self.dynamics.discount * (self.all[edge.target].upper + edge.price)

    def lower(self, edge: Edge) -> float:
        return edge.reward + self.dynamics.discount * (self.all[edge.target].lower - edge.price)

    def grow(self, point: OccupancyPoint) -> Edge:
        """Make the next best rule an edge."""
        game, ranking = self.opened(point)
        rule = ranking.take(game).rule(game)
        left = None if point.left is None else point.left - 1
        following, seen = follow(self.dynamics, point.occupancy, rule)
        occupancy, merging, moved = compress(following, self.tolerance)
        edge = Edge(
            rule,
            layer_of(rule, composed(seen, merging)),
            reward_of(self.dynamics, point.occupancy, rule),
            moved * self.central.spread(left) if self.tolerance > 0 else 0.0,
            self.point(occupancy, left).number,
        )
        point.edges.append(edge)
        return edge

    def promising(self, point: OccupancyPoint) -> Edge | None:
        """The edge with the best upper bound, a new one if the bound of the rest is higher; None if there is none."""
        rest = self.bound_of_rest(point)
        best = max(point.edges, key=self.upper, default=None)
        if rest > (-math.inf if best is None else self.upper(best)):
            return self.grow(point)
        return best

    def backup(self, point: OccupancyPoint) -> None:
        """Both bounds of a point from those of the points after it."""
        self.interpolate(point)
        rest = self.bound_of_rest(point)
        point.upper = min(point.upper, max([rest, *(self.upper(edge) for edge in point.edges)]))
        point.lower = max([point.lower, *(self.lower(edge) for edge in point.edges)])

    def trial(
        self, root: OccupancyPoint, is_open: Callable[[OccupancyPoint, float, float], bool], depth: float = math.inf
    ) -> list[Edge]:
        """Follow the best upper bounds while is_open(point, earned, fade), then back up in reverse; the edges followed.

        earned: discounted rewards before the point; fade: its discount factor.
        """
        path: list[tuple[OccupancyPoint, Edge]] = []
        point, earned, fade = root, 0.0, 1.0
        self.lift(root)
        while len(path) < depth and is_open(point, earned, fade):
            edge = self.promising(point)
            if edge is None:
                break
            path.append((point, edge))
            earned, fade = earned + fade * edge.reward, fade * self.dynamics.discount
            point = self.all[edge.target]
            self.lift(point)
        for visited, _ in reversed(path):
            self.backup(visited)
        return [edge for _, edge in path]

    def best_edges(self, point: OccupancyPoint) -> list[Edge]:
        """The best known policy from a point of a finite horizon."""
        edges: list[Edge] = []
        while point.left:
            edge = max(point.edges, key=self.lower)
            edges.append(edge)
            point = self.all[edge.target]
        return edges


def policy_from_bounds(points: OccupancyPoints, root: OccupancyPoint) -> LayeredGraph | None:
    """A policy worth at least the lower bound of the root; None if a point on its path has no lower bound.

    With an infinite horizon, the policy takes the better choice at every point: continue as a known team
    (`hyperplanes.py`), or take the edge with the best

        reward + discount * (lower of the next point - price of compression).

    Its path from the root ends in a team, or returns to an earlier point: a loop. Let L be the lower bounds and T the
    backup of this policy. Every L is at most the value of the same choice under the current L, so L <= T L <= T T L
    ..., and the policy is worth at least L in both cases. This may fail where rounding merged points, compression was
    lossy, or a team was dropped since; then the policy's exact value decides.
    """
    if root.left is not None:
        *first, last = (edge.layer for edge in points.best_edges(root))
        return LayeredGraph((*first, last_layer(last)), None)
    visited, layers, point = [root], list[Layer](), root
    while True:
        points.check()
        start, edge = points.hyperplanes.best(point.occupancy), max(point.edges, key=points.lower, default=None)
        if start is not None and (edge is None or start.value >= points.lower(edge)):
            own = start.plane.layer  # entered by the mapping of labels, then a loop
            return LayeredGraph((*layers, own.entered(start.nodes), own), len(layers) + 1)
        if edge is None:
            return None
        layers.append(edge.layer)
        point = points.all[edge.target]
        if point in visited:  # the same object
            return LayeredGraph(tuple(layers), visited.index(point))
        visited.append(point)


def _keys(occupancy: Occupancy, left: int | None) -> tuple[bytes, bytes]:
    """A key shared by points with the same rows, and a key of the point itself."""
    arrays = (occupancy.labels, occupancy.groups, occupancy.state)
    rows = b"|".join((str((left, occupancy.counts)).encode(), *(array.tobytes() for array in arrays)))
    return rows, rows + (np.round(occupancy.weight, DIGITS) + 0.0).tobytes()
