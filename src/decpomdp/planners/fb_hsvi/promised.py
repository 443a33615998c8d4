"""The policy that the lower bounds of points promise, for an infinite horizon.

At every point the better of two: go on as a team that is known (`hyperplanes`), or the edge with the best

    reward + discount * (lower of the next point - price of compression).

Following it from the root ends in a team, or comes back to a point on the way: a loop. Call L the lower bounds and T
the step of this policy. Every L was at most what the same choice gives with the L of now, so L <= T L <= T T L ..., and
the policy is worth at least L, in both cases. It holds for the points that the bounds speak of; where points were made
one by rounding, where compression was lossy, or where a team was dropped meanwhile, the policy's exact value decides.
"""

from decpomdp.planners.fb_hsvi.hyperplanes import Hyperplanes, Start
from decpomdp.planners.fb_hsvi.points import Edge, Point, Points
from decpomdp.planners.fb_hsvi.policy_graph import Graph, Layer


def promised(points: Points, hyperplanes: Hyperplanes, root: Point) -> Graph | None:
    """The graph of that policy; None when a point on the way has neither."""
    met, layers, point = [root], list[Layer](), root
    while True:
        points.check()
        start, edge = hyperplanes.best(point.occupancy), _best_edge(points, point)
        if start is not None and (edge is None or start.value >= points.promise(edge)):
            return _ended(layers, start)
        if edge is None:
            return None
        layers.append(edge.layer)
        point = edge.target
        if point in met:  # the same object
            return Graph(tuple(layers), met.index(point))
        met.append(point)


def _best_edge(points: Points, point: Point) -> Edge | None:
    return max(point.edges, key=points.promise, default=None)


def _ended(layers: list[Layer], start: Start) -> Graph:
    """The layers, one that is entered by the labels after them, and the team's own for ever."""
    own = start.plane.layer
    entry = Layer(
        tuple(actions[nodes] for actions, nodes in zip(own.actions, start.nodes, strict=True)),
        tuple(moves[nodes] for moves, nodes in zip(own.moves, start.nodes, strict=True)),
    )
    return Graph((*layers, entry, own), len(layers) + 1)
