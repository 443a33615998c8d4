"""Occupancy states that the search has visited, with certified bounds: the upper bound of FB-HSVI.

Every point knows its decision rules best first (`Ranking`, under the centralised bound on what follows). Rules handed
out have become edges to further points; the rest is bounded by the ranking. The upper bound of a point is

    max( bound of the rest,  max over edges  reward + discount * (upper of the next point + price of compression) )

and never rises. Points that were met on different ways are one point when their compressed occupancy states are
equal to 9 digits. Between points the bound is interpolated (sawtooth): the optimal value V is convex, so for a point
k with the same rows and the largest ratio r with xi >= r xi_k,

    V(xi) <= r V(xi_k) + V(xi - r xi_k) <= r upper_k + central(xi - r xi_k),

where V of an unnormalised remainder means the same linear programme without norm; the centralised bound is applied
to it. How labels are numbered does not matter for validity, only for how often rows agree.

The lower bound of a point is the best of its edges' in the same way; for ever, also that of the teams that are known
(`hyperplanes`), looked at when a point is made and when a trial comes by after a new team.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.bounds import CentralBound
from decpomdp.planners.fb_hsvi.compression import DIGITS, composed, compress
from decpomdp.planners.fb_hsvi.hyperplanes import Hyperplanes
from decpomdp.planners.fb_hsvi.occupancy import Occupancy, Rule, follow, reward_of
from decpomdp.planners.fb_hsvi.policy_graph import Layer, last_layer, layer_of
from decpomdp.planners.fb_hsvi.rules import Ranking, game_of

LATEST = 100  # points to interpolate with


@dataclass(slots=True, eq=False)
class Point:
    """An occupancy state, the steps left (None: for ever), and what is known of its value."""

    occupancy: Occupancy
    left: int | None
    upper: float
    lower: float = -math.inf  # of the best policy found from here on; for ever, at first what no policy is below
    known: int = 0  # hyperplanes that `lower` has looked at
    ranking: Ranking | None = None
    edges: list["Edge"] = field(default_factory=list)
    alike: list["Point"] = field(default_factory=list)  # points with the same rows


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A decision rule taken at a point."""

    rule: Rule
    layer: Layer
    reward: float
    price: float  # of lossy compression, on the next value
    target: Point


class Points:
    """The graph of visited points."""

    def __init__(
        self,
        dynamics: OutcomeModel,
        central: CentralBound,
        sizes: list[int],
        discount: float,
        tolerance: float,
        check: Callable[[], None] = lambda: None,  # called all the time; raises when there is none left
        hyperplanes: Hyperplanes | None = None,  # for an infinite horizon
    ) -> None:
        self.dynamics, self.central, self.sizes, self.hyperplanes = dynamics, central, sizes, hyperplanes
        self.discount, self.tolerance, self.check = discount, tolerance, check
        self._known: dict[bytes, Point] = {}
        self._alike: dict[bytes, list[Point]] = {}  # points with the same rows

    def __len__(self) -> int:
        return len(self._known)

    def all(self) -> list[Point]:
        """Every point, in the order in which they were met."""
        return list(self._known.values())

    def forget(self) -> None:
        """No points are known."""
        self._known, self._alike = {}, {}

    def point(self, occupancy: Occupancy, left: int | None) -> Point:
        """The point of a compressed occupancy state, new or known."""
        found = self._known.get(_keys(occupancy, left)[1])
        if found is None:
            vectors = self.central.at(left)
            upper = float(kernels.central_value(occupancy.groups, occupancy.state, occupancy.weight, vectors))
            lower = self.central.least[0] if left is None else upper if left == 0 else -math.inf
            found = self.known(Point(occupancy, left, upper, lower))
            self.interpolate(found)
            self.lift(found)
        return found

    def known(self, point: Point) -> Point:
        """A new point becomes one of them."""
        rows, key = _keys(point.occupancy, point.left)
        self._known[key] = point
        point.alike = self._alike.setdefault(rows, [])
        point.alike.append(point)
        return point

    def interpolate(self, point: Point) -> None:
        """Lower a point's upper bound by those of the latest points with the same rows."""
        vectors = self.central.at(point.left)
        for other in point.alike[-LATEST:]:
            if other is not point and other.ranking is not None:
                occupancy = point.occupancy
                ratio = float((occupancy.weight / other.occupancy.weight).min())
                rest = np.maximum(occupancy.weight - ratio * other.occupancy.weight, 0.0)
                left_over = float(kernels.central_value(occupancy.groups, occupancy.state, rest, vectors))
                point.upper = min(point.upper, ratio * other.upper + left_over)

    def lift(self, point: Point) -> None:
        """Raise the lower bound of a point for ever by the hyperplanes that are new to it."""
        if self.hyperplanes is not None and point.left is None and point.known < self.hyperplanes.added:
            start = self.hyperplanes.best(point.occupancy, point.known)
            point.known = self.hyperplanes.added
            point.lower = point.lower if start is None else max(point.lower, start.value)

    def opened(self, point: Point) -> Ranking:
        """The point's rules, best first; made when first asked for."""
        if point.ranking is None:
            xi = point.occupancy
            tables = np.empty((len(xi.labels), len(self.dynamics.reward)))
            vectors = self.central.at(None if point.left is None else point.left - 1)
            kernels.payoffs(self.dynamics, xi.groups, xi.state, xi.weight, vectors, self.discount, tables)
            point.ranking = Ranking(game_of(tables, xi.labels, xi.counts, self.sizes), self.check)
        return point.ranking

    def worth(self, edge: Edge) -> float:
        """The upper bound of a rule."""
        return edge.reward + self.discount * (edge.target.upper + edge.price)

    def promise(self, edge: Edge) -> float:
        """The lower bound of a rule."""
        return edge.reward + self.discount * (edge.target.lower - edge.price)

    def grow(self, point: Point) -> Edge:
        """The next best rule becomes an edge."""
        ranking = self.opened(point)
        rule = ranking.take().rule(ranking.game)
        left = None if point.left is None else point.left - 1
        following, seen = follow(self.dynamics, point.occupancy, rule)
        occupancy, merging, moved = compress(following, self.tolerance)
        edge = Edge(
            rule,
            layer_of(rule, composed(seen, merging)),
            reward_of(self.dynamics, point.occupancy, rule),
            moved * self.central.spread(left) if self.tolerance > 0 else 0.0,
            self.point(occupancy, left),
        )
        point.edges.append(edge)
        return edge

    def promising(self, point: Point) -> Edge | None:
        """The edge that the upper bound likes best, a new one if the rest is better; None when there is none."""
        rest = self.opened(point).bound()
        best = max(point.edges, key=self.worth, default=None)
        if rest > (-math.inf if best is None else self.worth(best)):
            return self.grow(point)
        return best

    def backup(self, point: Point) -> None:
        """Both bounds of a point from those of the points after it."""
        self.interpolate(point)
        rest = self.opened(point).bound()
        point.upper = min(point.upper, max([rest, *(self.worth(edge) for edge in point.edges)]))
        point.lower = max([point.lower, *(self.promise(edge) for edge in point.edges)])

    def trial(self, root: Point, is_open: Callable[[Point, float, float], bool], depth: float = math.inf) -> list[Edge]:
        """Down by the upper bound while is_open(point, earned, fade), home with backups; the edges that were followed.

        earned: discounted rewards on the way to the point; fade: the discount there.
        """
        path: list[tuple[Point, Edge]] = []
        point, earned, fade = root, 0.0, 1.0
        self.lift(root)
        while len(path) < depth and is_open(point, earned, fade):
            edge = self.promising(point)
            if edge is None:
                break
            path.append((point, edge))
            earned, fade = earned + fade * edge.reward, fade * self.discount
            point = edge.target
            self.lift(point)
        for visited, _ in reversed(path):
            self.backup(visited)
        return [edge for _, edge in path]

    def best_edges(self, point: Point) -> list[Edge]:
        """The best policy found from a point of a finite horizon."""
        edges: list[Edge] = []
        while point.left:
            edge = max(point.edges, key=self.promise)
            edges.append(edge)
            point = edge.target
        return edges

    def best_layers(self, point: Point) -> list[Layer]:
        """The layers of that policy."""
        layers = [edge.layer for edge in self.best_edges(point)]
        return [*layers[:-1], last_layer(layers[-1])]


def _keys(occupancy: Occupancy, left: int | None) -> tuple[bytes, bytes]:
    """Equal for points with the same rows; equal for points that are one."""
    arrays = (occupancy.labels, occupancy.groups, occupancy.state)
    rows = b"|".join((str((left, occupancy.counts)).encode(), *(array.tobytes() for array in arrays)))
    return rows, rows + (np.round(occupancy.weight, DIGITS) + 0.0).tobytes()
