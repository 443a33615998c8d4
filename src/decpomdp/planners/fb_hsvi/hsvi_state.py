"""What FB-HSVI needs to go on after a kill: the graph of visited points with their rankings, and the best team.

A point's ranking is kept by the boxes of rules that were not handed out yet; its game follows from the occupancy state.
Hyperplanes are kept by their teams and solved again. Which of them a point has looked at is not kept: looking again
changes nothing.
"""

from typing import TYPE_CHECKING, NamedTuple

from decpomdp.core import Team
from decpomdp.core.keeping import KeptRow, kept_rows
from decpomdp.planners.fb_hsvi.occupancy import Occupancy, Rule
from decpomdp.planners.fb_hsvi.points import Edge, Point, Points
from decpomdp.planners.fb_hsvi.policy_graph import Layer
from decpomdp.planners.fb_hsvi.rules import Box, Part, Solution
from decpomdp.planners.incumbent import Valued

if TYPE_CHECKING:
    from decpomdp.planners.fb_hsvi.method import Search


class KeptPart(NamedTuple):
    """Rules that were not handed out."""

    rank: float
    age: int
    box: Box
    best: Solution | None


class KeptEdge(NamedTuple):
    """A rule that became an edge."""

    rule: Rule
    layer: Layer
    reward: float
    price: float
    target: int  # number of the point


class KeptPoint(NamedTuple):
    """An occupancy state and what is known of it."""

    occupancy: Occupancy
    left: int | None
    upper: float
    lower: float
    ranking: tuple[int, list[KeptPart]] | None  # boxes that there ever were, and those that are left
    edges: list[KeptEdge]


class HsviState(NamedTuple):
    """Between two trials, or before a round."""

    points: list[KeptPoint]  # the first is the root
    path: list[Rule]
    hyperplanes: list[Team]  # in the order in which they were added
    trials: int | None
    fresh: int
    team: Team
    value: float
    found: bool
    upper: float
    iteration: int
    size: int
    seconds: float
    ready: float
    trace: list[KeptRow]


def state_of(search: "Search") -> HsviState:
    """The state now."""
    best, clock = search.incumbent.best, search.clock
    return HsviState(
        points=_kept(search.points),
        path=search.path,
        hyperplanes=search.hyperplanes.teams,
        trials=search.trials,
        fresh=search.fresh,
        team=best.team,
        value=best.value,
        found=search.incumbent.found,
        upper=search.upper,
        iteration=search.iteration,
        size=search.size,
        seconds=clock.seconds(),
        ready=clock.ready - clock.begin,
        trace=kept_rows(search.trace),
    )


def go_on(search: "Search", kept: HsviState) -> None:
    """As if everything up to then had been done just now."""
    search.hyperplanes.restore(kept.hyperplanes)
    search.root = _again(search.points, kept.points)
    search.path, search.trials, search.fresh = kept.path, kept.trials, kept.fresh
    record_again(search, kept)


def record_again(search: "Search", kept: HsviState) -> None:
    """What there is to return and to tell."""
    search.incumbent.best, search.incumbent.found = Valued(kept.team, kept.value), kept.found
    search.upper, search.iteration, search.size = kept.upper, kept.iteration, kept.size
    search.trace = list(kept.trace)
    search.clock.go_on(kept.seconds, kept.ready)


def _kept(points: Points) -> list[KeptPoint]:
    every = points.all()
    number = {id(point): k for k, point in enumerate(every)}

    def edge(one: Edge) -> KeptEdge:
        return KeptEdge(one.rule, one.layer, one.reward, one.price, number[id(one.target)])

    def kept(point: Point) -> KeptPoint:
        ranking = point.ranking
        parts = None
        if ranking is not None:
            parts = (ranking.born, [KeptPart(part.rank, part.age, part.box, part.best) for part in ranking.parts])
        edges = [edge(one) for one in point.edges]
        return KeptPoint(point.occupancy, point.left, point.upper, point.lower, parts, edges)

    return [kept(point) for point in every]


def _again(points: Points, kept: list[KeptPoint]) -> Point:
    """Fill an empty graph; the root."""
    points.forget()
    every = [points.known(Point(old.occupancy, old.left, old.upper, old.lower)) for old in kept]
    for point, old in zip(every, kept, strict=True):
        if old.ranking is not None:
            ranking = points.opened(point)
            ranking.born, ranking.parts = old.ranking[0], [Part(*part) for part in old.ranking[1]]
        point.edges = [Edge(e.rule, e.layer, e.reward, e.price, every[e.target]) for e in old.edges]
    return every[0]
