"""Streets, lights and queues as a drawing that moves.

Cars wait before the light where their street stops: one dash each, the first ones at the light, so that a queue grows
away from it. A street with as many cars as it holds has a red end. A light is a dark square with a red cross; a green
bar lies over the direction that may go. Streets in both directions are drawn beside each other, each on its right.
"""

from collections.abc import Sequence

from decpomdp.core.scene import COLUMN, NEITHER, ROW, Street, StreetMap, StreetScene
from decpomdp.report.drawing import DISPLAY, TURN, Change, Drawing, Film, Frame, Mark, Part

BLOCK = 90.0  # pixels between neighbouring lights
LIGHT = 13.0  # half a light
ROAD, LANE = 15.0, 8.0  # pixels across a street; of one lane, where there are two
LONGEST = 7.0  # pixels of a car
EDGE = 8.0


def street_film(streets: StreetMap, scenes: Sequence[Sequence[StreetScene]]) -> Film:
    """A drawing with a frame for every scene: scenes[k][t]."""
    both = _both_ways(streets.streets)
    lanes = [_Lane(street, both, streets.most) for street in streets.streets]
    counts = [
        sorted({scene.fitting(streets).waiting[s] for episode in scenes for scene in episode})
        for s in range(len(lanes))
    ]
    parts, changes = _parts(streets, lanes, counts)
    frames = tuple(tuple(_frame(scene, streets, counts) for scene in episode) for episode in scenes)
    captions = tuple(tuple(_caption(scene, streets.most) for scene in episode) for episode in scenes)
    return Film(Drawing(*_extent(streets), _still(streets, lanes), parts, changes), frames, captions, True)


def _both_ways(streets: Sequence[Street]) -> bool:
    """Whether some way is driven in both directions."""
    ways: dict[tuple[int, float], list[tuple[float, float]]] = {}  # along an axis, at a row or column: from, to
    for street in streets:
        axis = 0 if street.start[1] == street.stop[1] else 1
        ways.setdefault((axis, street.start[1 - axis]), []).append((street.start[axis], street.end[axis]))
    return any(
        (a < b) != (c < d) and max(min(a, b), min(c, d)) < min(max(a, b), max(c, d))
        for beside in ways.values()
        for place, (a, b) in enumerate(beside)
        for c, d in beside[:place]
    )


class _Lane:
    """Where one street lies on the paper; `back` is the direction in which its queue grows."""

    __slots__ = ("across", "back", "car", "end", "head", "most", "name", "start", "tail")

    def __init__(self, street: Street, both: bool, most: int) -> None:
        (c0, r0), (c1, r1) = street.start, street.stop
        back = (float((c0 > c1) - (c0 < c1)), float((r0 > r1) - (r0 < r1)))
        shift = LANE / 2 + 0.5 if both else 0.0
        aside = (shift * back[1], -shift * back[0])  # to the right of who drives against `back`
        self.name, self.back, self.across, self.most = street.name, back, LANE if both else ROAD, most
        self.start, self.end = (_on_paper(place, aside) for place in (street.start, street.end))
        stop = _on_paper(street.stop, aside)
        self.head = (stop[0] + (LIGHT + 3) * back[0], stop[1] + (LIGHT + 3) * back[1])
        room = abs(self.start[0] - self.head[0]) + abs(self.start[1] - self.head[1]) - 4
        self.car = min(LONGEST + 1.5, max(room, 1.0) / most)
        self.tail = self.queue(most)

    def queue(self, cars: int) -> tuple[float, float]:
        """Where a queue of so many cars ends."""
        long = self.car * min(cars, self.most)
        return self.head[0] + long * self.back[0], self.head[1] + long * self.back[1]


def _on_paper(place: tuple[float, float], aside: tuple[float, float]) -> tuple[float, float]:
    return place[0] * BLOCK + aside[0], place[1] * BLOCK + aside[1]


def _still(streets: StreetMap, lanes: Sequence[_Lane]) -> tuple[Mark, ...]:
    roads = [_line("road", lane.start, lane.end, lane.across) for lane in lanes]
    lights = []
    for x, y in (_on_paper(place, (0.0, 0.0)) for place in streets.lights):
        square = {"x": x - LIGHT, "y": y - LIGHT, "width": 2 * LIGHT, "height": 2 * LIGHT, "rx": 4.0}
        lights += [
            Mark("rect", "light", square),
            _line("stop", (x - LIGHT + 4, y), (x + LIGHT - 4, y), 2.5),
            _line("stop", (x, y - LIGHT + 4), (x, y + LIGHT - 4), 2.5),
        ]
    return (*roads, *lights)


def _parts(
    streets: StreetMap, lanes: Sequence[_Lane], counts: Sequence[Sequence[int]]
) -> tuple[tuple[Part, ...], tuple[Change, ...]]:
    """Per street its queue and its red end, per light its green bar."""
    parts: list[Part] = []
    changes: list[Change] = []
    for lane, occurring in zip(lanes, counts, strict=True):
        axis = 0 if lane.back[0] else 1
        wide, gap = max(lane.car - 1.5, 0.6 * lane.car), min(1.5, 0.4 * lane.car)
        dashes = (wide, gap)
        queue = _line("cars", lane.head, lane.queue(occurring[0]), lane.across - 3, dashes)
        changes.append(Change(len(parts), ("x2", "y2")[axis], tuple(lane.queue(cars)[axis] for cars in occurring)))
        parts.append(Part((queue,), said=f"{lane.name}: at most {max(occurring)} of {lane.most} cars"))
        changes.append(Change(len(parts), DISPLAY, (0.0, 1.0)))
        parts.append(Part((_full(lane),), said=f"{lane.name} is full"))
    for n, place in enumerate(streets.lights):
        bar = _line("go", (-LIGHT + 1.0, 0.0), (LIGHT - 1.0, 0.0), 6.0)
        hand = Mark("rect", "hand", {"x": -LIGHT, "y": -LIGHT, "width": 2 * LIGHT, "height": 2 * LIGHT, "rx": 4.0})
        changes += [Change(len(parts), TURN, (0.0, 90.0)), Change(len(parts), DISPLAY, (0.0, 1.0))]
        parts.append(Part((hand, bar), _on_paper(place, (0.0, 0.0)), agent=n))
    return tuple(parts), tuple(changes)


def _full(lane: _Lane) -> Mark:
    """A bar across the end of a queue that has no room left."""
    x, y = lane.tail[0] + 3 * lane.back[0], lane.tail[1] + 3 * lane.back[1]
    half = lane.across / 2
    return _line(
        "full",
        (x - half * lane.back[1], y - half * lane.back[0]),
        (x + half * lane.back[1], y + half * lane.back[0]),
        4.0,
    )


def _frame(scene: StreetScene, streets: StreetMap, counts: Sequence[Sequence[int]]) -> Frame:
    places: list[int] = []
    for cars, occurring in zip(scene.waiting, counts, strict=True):
        places += [occurring.index(cars), int(cars >= streets.most)]
    for green in scene.green:
        places += [int(green == COLUMN), int(green in (ROW, COLUMN))]
    return tuple(places)


def _caption(scene: StreetScene, most: int) -> str:
    full = sum(cars >= most for cars in scene.waiting)
    row, column = scene.green.count(ROW), scene.green.count(COLUMN)
    dark = f", {scene.green.count(NEITHER)} neither" if NEITHER in scene.green else ""
    return (
        f"{sum(scene.waiting)} cars wait, {full} of {len(scene.waiting)} streets are full; "
        f"green: {row} rows, {column} columns{dark}"
    )


def _extent(streets: StreetMap) -> tuple[float, float, float, float]:
    places = [*streets.lights, *(place for street in streets.streets for place in (street.start, street.end))]
    low = [min(place[axis] for place in places) * BLOCK for axis in (0, 1)]
    high = [max(place[axis] for place in places) * BLOCK for axis in (0, 1)]
    margin = LIGHT + EDGE
    return low[0] - margin, low[1] - margin, high[0] - low[0] + 2 * margin, high[1] - low[1] + 2 * margin


def _line(
    look: str, start: tuple[float, float], end: tuple[float, float], wide: float, dashes: tuple[float, ...] = ()
) -> Mark:
    at = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1], "wide": wide}
    return Mark("line", look, at, dashes=dashes)
