"""Animated scenes: robots, boxes and sites on a grid, or streets with queues and lights.

Grids (`core/scene.py`): a model has its own scene, or that of the built-in problem with the same digest, even if it was
read from a file.

Streets: one dash per waiting car, the first at the light. A full street has a red end. A light is a dark square with a
red cross; a green bar shows the direction with green. Opposite directions are drawn side by side, each on its right.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from decpomdp.core import DecPOMDP
from decpomdp.core.scene import COLUMN, NEITHER, ROW, Place, Street, StreetMap, StreetScene, Thing
from decpomdp.domains import registry
from decpomdp.report.drawing import DISPLAY, MOVE, TURN, ChangeValue, Film, Mark, Part, Track

RobotPose = tuple[float, float, float]  # x, y, turn (negative: none)
T = TypeVar("T")

GRIDS = {  # built-in problems that also exist as files, by the first digits of their digests
    "94bd4c13d422b688": "gridsmall",
    "1536dfa308dbbf5f": "boxpushing",
    "06ea955984d36ea3": "marsrovers",
}
CELL = 90.0  # pixels of a grid's cell, and between neighbouring lights
SIDE_BY_SIDE = 38.0  # pixels between robots in one cell
NOSE = ((0.0, -23.0), (19.0, 14.0), (0.0, 18.0), (-19.0, 14.0))  # a robot that faces up
TICK = ((0.0, 6.0), (3.0, 3.0), (6.0, 6.5), (13.0, -2.0), (16.0, 1.0), (6.0, 12.0))
HEAD = 24.0  # height of a zone's name, above its boxes
LIGHT = 13.0  # half a light
ROAD, LANE = 15.0, 8.0  # width of a street; of one lane, if there are two
LONGEST = 7.0  # length of a car, at most
EDGE = 8.0
LEGEND = (
    "Dashes on a street: waiting cars. Red bar: the street is full. Green bar at a light: direction with green. "
    "Click a light to follow its agent."
)


def grid_film(model: DecPOMDP, states: Sequence[Sequence[int]]) -> Film | None:
    """A drawing of every states[k][t]; None if the problem has no scene."""
    scene = model.scene
    if scene is None and (name := GRIDS.get(model.digest()[:16])):
        scene = registry.build(name).scene
    if scene is None:
        return None
    columns, rows = scene.size
    things = [[scene.things[s] for s in episode] for episode in states]  # [k][t]
    occurring = [scene.things[s] for s in sorted({s for episode in states for s in episode})]
    cells = [_rect("cell", c * CELL, r * CELL, CELL, CELL) for r in range(rows) for c in range(columns)]
    parts = [_standing_part(thing, things) for thing in _standing(occurring)]
    for label in sorted({str(thing["label"]) for present in occurring for thing in present if _is_agent(thing)}):
        parts += _robot(label, [[_pose(label, present) for present in episode] for episode in things])
    captions = tuple(tuple(f"state {model.states[s]}" for s in episode) for episode in states)
    return Film((-2, -2, columns * CELL + 4, rows * CELL + 4), tuple(cells), tuple(parts), captions)


def _is_agent(thing: Thing) -> bool:
    return bool(thing["kind"] == "agent")


def _standing(occurring: Sequence[Sequence[Thing]]) -> list[Thing]:
    """All things except robots, in all their forms; zones first, because they are drawn below the others."""
    distinct = {tuple(sorted(t.items())): t for things in occurring for t in things if not _is_agent(t)}
    return sorted(distinct.values(), key=lambda thing: thing["kind"] != "zone")


def _standing_part(thing: Thing, things: Sequence[Sequence[Sequence[Thing]]]) -> Part:
    return Part(_shapes(thing), {DISPLAY: _each(things, lambda present: float(thing in present))})


def _pose(label: str, things: Sequence[Thing]) -> RobotPose | None:
    """Position and direction of a robot; None if it is not on the grid. Robots in one cell are side by side."""
    agents = [thing for thing in things if _is_agent(thing)]
    own = next((thing for thing in agents if str(thing["label"]) == label), None)
    if own is None:
        return None
    near = [thing for thing in agents if (thing["column"], thing["row"]) == (own["column"], own["row"])]
    shift = (near.index(own) - (len(near) - 1) / 2) * SIDE_BY_SIDE
    return (own["column"] + 0.5) * CELL + shift, (own["row"] + 0.5) * CELL + 8, float(own.get("turn", -1.0))


def _robot(label: str, poses: Sequence[Sequence[RobotPose | None]]) -> list[Part]:
    """A body that may turn, and a number that stays upright; hidden where the robot is not on the grid."""
    look, agent = f"robot a{(int(label) - 1) % 4}", int(label) - 1
    known = [pose for episode in poses for pose in episode if pose is not None]
    changes = {MOVE: _each(poses, lambda pose: (pose or known[0])[:2])}
    if any(pose is None for episode in poses for pose in episode):
        changes[DISPLAY] = _each(poses, lambda pose: float(pose is not None))
    number = Mark("text", "name", {"x": 0.0, "y": 6.0, "font-size": 16.0}, label)
    if not any(turn >= 0 for _, _, turn in known):
        body = Mark("circle", look, {"cx": 0.0, "cy": 0.0, "r": 17.0})
        return [Part((body, number), changes, tooltip=f"agent {label}", agent=agent)]
    body, turn = Mark("polygon", look, {}, points=NOSE), {TURN: _each(poses, lambda pose: (pose or known[0])[2])}
    return [
        Part((body,), changes | turn, tooltip=f"agent {label}", agent=agent),
        Part((number,), changes, tooltip=f"agent {label}", agent=agent),
    ]


def _shapes(thing: Thing) -> tuple[Mark, ...]:
    x, y, wide = thing["column"] * CELL, thing["row"] * CELL, thing.get("width", 1) * CELL
    words, high = str(thing.get("label", "")), CELL - HEAD - 12
    if thing["kind"] == "zone":
        name = Mark("text", "label", {"x": x + 30, "y": y + 17, "font-size": 13.0}, words)
        return _rect("zone", x + 1, y + 1, wide - 2, CELL - 2), name
    if thing["kind"] == "box":
        name = Mark("text", "onbox", {"x": x + wide / 2, "y": y + HEAD + high / 2 + 5, "font-size": 13.0}, words)
        return _rect("box", x + 14, y + HEAD, wide - 28, high, 5.0), name
    done = bool(thing.get("done"))  # a site
    area = _rect("site done" if done else "site", x + 6, y + 6, CELL - 12, CELL - 12, 10.0)
    name = Mark("text", "label", {"x": x + CELL / 2, "y": y + 23, "font-size": 12.0}, words)
    tick = tuple((x + CELL - 26 + a, y + CELL - 24 + b) for a, b in TICK)
    return (area, name, Mark("polygon", "tick", {}, points=tick)) if done else (area, name)


def street_film(streets: StreetMap, scenes: Sequence[Sequence[StreetScene]]) -> Film:
    """A drawing of every scenes[k][t]."""
    checked = [[scene.fitting(streets) for scene in episode] for episode in scenes]
    both = _both_ways(streets.streets)
    lanes = [_Lane(street, both, streets.most) for street in streets.streets]
    still = [_line("road", lane.start, lane.end, lane.across) for lane in lanes]
    parts: list[Part] = []
    for s, lane in enumerate(lanes):
        parts += lane.parts([[scene.waiting[s] for scene in episode] for episode in checked])
    for n, (column, row) in enumerate(streets.lights):
        x, y = column * CELL, row * CELL
        still.append(_rect("light", x - LIGHT, y - LIGHT, 2 * LIGHT, 2 * LIGHT, 4.0))
        still.append(_line("stop", (x - LIGHT + 4, y), (x + LIGHT - 4, y), 2.5))
        still.append(_line("stop", (x, y - LIGHT + 4), (x, y + LIGHT - 4), 2.5))
        parts.append(_green((x, y), n, [[scene.green[n] for scene in episode] for episode in checked]))
    captions = tuple(tuple(_caption(scene, streets.most) for scene in episode) for episode in checked)
    return Film(_extent(streets), tuple(still), tuple(parts), captions, LEGEND)


def _green(at: Place, agent: int, green: Sequence[Sequence[int]]) -> Part:
    """A green bar along the direction with green, in a clickable area."""
    bar = _line("go", (-LIGHT + 1.0, 0.0), (LIGHT - 1.0, 0.0), 6.0)
    hand = _rect("hand", -LIGHT, -LIGHT, 2 * LIGHT, 2 * LIGHT, 4.0)
    turn = _each(green, lambda way: 90.0 if way == COLUMN else 0.0)
    shown = _each(green, lambda way: float(way != NEITHER))
    return Part((hand, bar), {TURN: turn, DISPLAY: shown}, at, agent=agent)


def _both_ways(streets: Sequence[Street]) -> bool:
    """Whether any road has both directions."""
    ways = set()  # axis, row or column, forwards
    for street in streets:
        axis = 0 if street.start[1] == street.stop[1] else 1
        ways.add((axis, street.start[1 - axis], street.start[axis] < street.stop[axis]))
    return any((axis, road, not forwards) in ways for axis, road, forwards in ways)


class _Lane:
    """The position of a street in the drawing; `back` is the direction in which its queue grows."""

    def __init__(self, street: Street, both: bool, most: int) -> None:
        (c0, r0), (c1, r1) = street.start, street.stop
        self.back = back = (float((c0 > c1) - (c0 < c1)), float((r0 > r1) - (r0 < r1)))
        self.name, self.most, self.across = street.name, most, LANE if both else ROAD
        shift = LANE / 2 + 0.5 if both else 0.0
        self.aside = (shift * back[1], -shift * back[0])  # to the driver's right
        self.start, self.end = self._at(street.start), self._at(street.end)
        stop = self._at(street.stop)
        self.head = (stop[0] + (LIGHT + 3) * back[0], stop[1] + (LIGHT + 3) * back[1])
        room = abs(self.start[0] - self.head[0]) + abs(self.start[1] - self.head[1]) - 4
        self.car = min(LONGEST + 1.5, max(room, 1.0) / most)

    def _at(self, place: Place) -> Place:
        return place[0] * CELL + self.aside[0], place[1] * CELL + self.aside[1]

    def queue(self, cars: float) -> Place:
        """The end of a queue of `cars` cars."""
        long = self.car * min(cars, self.most)
        return self.head[0] + long * self.back[0], self.head[1] + long * self.back[1]

    def parts(self, waiting: Sequence[Sequence[int]]) -> list[Part]:
        """The queue, and a bar across its end where the street is full."""
        axis = 0 if self.back[0] else 1
        dashes = (max(self.car - 1.5, 0.6 * self.car), min(1.5, 0.4 * self.car))
        cars = _line("cars", self.head, self.queue(waiting[0][0]), self.across - 3, dashes)
        ends = _each(waiting, lambda count: self.queue(count)[axis])
        tail, half, (back_x, back_y) = self.queue(self.most), self.across / 2, self.back
        x, y = tail[0] + 3 * back_x, tail[1] + 3 * back_y
        full = _line("full", (x - half * back_y, y - half * back_x), (x + half * back_y, y + half * back_x), 4.0)
        shown = _each(waiting, lambda count: float(count >= self.most))
        longest = max(max(episode) for episode in waiting)
        return [
            Part((cars,), {("x2", "y2")[axis]: ends}, tooltip=f"{self.name}: at most {longest} of {self.most} cars"),
            Part((full,), {DISPLAY: shown}, tooltip=f"{self.name} is full"),
        ]


def _caption(scene: StreetScene, most: int) -> str:
    full, neither = sum(cars >= most for cars in scene.waiting), scene.green.count(NEITHER)
    return (
        f"{sum(scene.waiting)} cars wait, {full} of {len(scene.waiting)} streets are full; green: "
        f"{scene.green.count(ROW)} rows, {scene.green.count(COLUMN)} columns{f', {neither} neither' if neither else ''}"
    )


def _extent(streets: StreetMap) -> tuple[float, float, float, float]:
    places = [*streets.lights, *(place for street in streets.streets for place in (street.start, street.end))]
    (left, right), (top, bottom) = ((min(axis) * CELL, max(axis) * CELL) for axis in zip(*places, strict=True))
    margin = LIGHT + EDGE
    return left - margin, top - margin, right - left + 2 * margin, bottom - top + 2 * margin


def _each(moments: Sequence[Sequence[T]], value: Callable[[T], ChangeValue]) -> Track:
    """[k][t]: the value at every moment."""
    return tuple(tuple(value(moment) for moment in episode) for episode in moments)


def _rect(look: str, x: float, y: float, width: float, height: float, rx: float = 0.0) -> Mark:
    return Mark("rect", look, {"x": x, "y": y, "width": width, "height": height} | ({"rx": rx} if rx else {}))


def _line(look: str, start: Place, end: Place, wide: float, dashes: tuple[float, ...] = ()) -> Mark:
    at = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1], "stroke-width": wide}
    return Mark("line", look, at, dashes=dashes)
