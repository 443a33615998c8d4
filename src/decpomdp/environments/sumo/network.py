"""The road network: a grid of side x side crossings with a traffic light at each, every street open at both ends.

The network files are shipped (made with SUMO's netgenerate; the command is in the head of each file): blocks of 200 m,
one lane each way, 50 km/h. Light `B2` stands where column B crosses row 2; a street is named after both of its ends,
`B1B2`. The streets end at the gates: `left0`, `right0`, `bottom0`, `top0`, ...

A light serves its column (north and south) or its row (east and west); a vehicle that turns left waits for a gap. The
order of the four approaches is SUMO's: from north, east, south and west.

SUMO's own signal programs:

  fixed-time     in the network file: 42 s of green for the column, 3 s of yellow, the same for the row.
  actuated       SUMO's default: a green of at least 5 s is extended while vehicles follow each other within 3 s, up to
                 50 s.
  actuated-late  the same, but every green ends 5 s later: the average delay of a light that decides every 10 s. It
                 shows the cost of such rare decisions, and is not a baseline.

Traffic demand is an endless stream of vehicles, determined by a seed and independent of what the lights do.

Vehicles arrive at every gate as a Poisson process, `rate` an hour on average. Demand varies: every gate has its own
weight between 0.5 and 1.5, and traffic shifts between columns and rows by up to half, with a period of half an hour and
a random phase. So no fixed plan is good for long. Of the vehicles 3 in 20 turn right and 2 in 20 left at a random
crossing; the others go straight.

Vehicles are drawn during the simulation, because every episode has its own seed and no end.
"""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decpomdp.core import InputError
from decpomdp.core.checks import kind_of, whole
from decpomdp.core.scene import Street, StreetMap

SIDES = (4, 10)  # sizes of the networks that are shipped
COLUMNS = "ABCDEFGHIJ"
NORTH, EAST, SOUTH, WEST = (0, 1), (1, 0), (0, -1), (-1, 0)
APPROACHES = (NORTH, EAST, SOUTH, WEST)  # directions of a light's approaches, in SUMO's order
GREEN = ("GGgrrrGGgrrr", "rrrGGgrrrGGg")  # per axis: column, row
YELLOW = ("yyyrrryyyrrr", "rrryyyrrryyy")
COLUMN, ROW = 0, 1  # axes

YELLOW_SECONDS = 3
SHORTEST, USUAL, LONGEST = 5, 42, 50  # seconds of an actuated green
LATE = {"actuated": 0, "actuated-late": 5}  # seconds by which a green ends later

FULL = 26  # vehicles that stand in a block of 200 m
STOP = 0.1  # where a queue begins in a drawing: blocks before the light

Place = tuple[int, int]  # column, row
BLOCK = 10  # seconds that are drawn at a time
LIGHTEST, HEAVIEST = 0.5, 1.5  # weight of a gate
SWING, PERIOD = 0.5, 1800.0
STRAIGHT, RIGHT, LEFT = 0, 1, -1
TURNS, SHARES = (STRAIGHT, RIGHT, LEFT), (0.75, 0.15, 0.1)
MOST_RATE = 3600.0


def checked_side(side: object) -> int:
    """Lights a side, if there is a network of that size."""
    for known in SIDES:
        if side == known:
            return known
    raise InputError(f"sumo: expected a grid of {' or '.join(map(str, SIDES))} lights a side, got {kind_of(side)}")


def network_file(side: int) -> Path:
    """The network file for SUMO."""
    return Path(__file__).parent / "networks" / f"grid{checked_side(side)}.net.xml.gz"


def places(side: int) -> list[Place]:
    """Positions of the lights, in the order of the agents: column by column."""
    return [(column, row) for column in range(side) for row in range(side)]


def name_of(place: Place, side: int) -> str:
    """The name of a light or, outside the grid, of a gate."""
    column, row = place
    if not 0 <= row < side:
        return f"{'top' if row >= side else 'bottom'}{column}"
    if not 0 <= column < side:
        return f"{'right' if column >= side else 'left'}{row}"
    return f"{COLUMNS[column]}{row}"


def lights(side: int) -> tuple[str, ...]:
    """Names of the lights, in the order of the agents."""
    return tuple(name_of(place, side) for place in places(side))


def approaches(side: int) -> list[str]:
    """The streets that lead to the lights: entry 4 n + a is approach a of light n."""
    return [_street(_moved(here, way), here, side) for here in places(side) for way in APPROACHES]


def gates(side: int) -> list[tuple[Place, Place]]:
    """The gates with their directions of travel. Gates of the columns come first."""
    along = range(side)
    columns = [((i, -1), NORTH) for i in along] + [((i, side), SOUTH) for i in along]
    return columns + [((-1, i), EAST) for i in along] + [((side, i), WEST) for i in along]


def route(side: int, gate: int, turn_at: int, turn: int) -> list[str]:
    """The streets from a gate out of the grid: straight on except for a turn at one crossing (1: right, -1: left)."""
    return list(_walk(side, *gates(side)[gate], turn_at, turn))


def _walk(side: int, here: Place, way: Place, turn_at: int, turn: int) -> Iterator[str]:
    for crossing in range(2 * side):
        after = _moved(here, way)
        yield _street(here, after, side)
        if not (0 <= after[0] < side and 0 <= after[1] < side):
            return
        if turn and crossing == turn_at:
            way = (turn * way[1], -turn * way[0])
        here = after


def _moved(place: Place, way: Place) -> Place:
    return place[0] + way[0], place[1] + way[1]


def _street(begin: Place, end: Place, side: int) -> str:
    return name_of(begin, side) + name_of(end, side)


@cache
def actuated_file(side: int, control: str) -> Path:
    """The actuated programs of all lights as a temporary file for SUMO, removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="decpomdp-sumo-")
    _folders.append(folder)
    path = Path(folder.name) / f"{control}{side}.add.xml"
    path.write_text(actuated(side, LATE[control]), encoding="utf-8")
    return path


_folders: list["tempfile.TemporaryDirectory[str]"] = []  # kept until the process ends


def actuated(side: int, late: int = 0) -> str:
    """The actuated programs of all lights as XML."""
    logics = "\n".join(_logic(light, late) for light in lights(side))
    return f"<additional>\n{logics}\n</additional>\n"


def _logic(light: str, late: int) -> str:
    phases = []
    for green, yellow in zip(GREEN, YELLOW, strict=True):
        phases.append(f'<phase duration="{USUAL}" minDur="{SHORTEST}" maxDur="{LONGEST}" state="{green}"/>')
        phases += [f'<phase duration="{late}" state="{green}"/>'] if late else []
        phases.append(f'<phase duration="{YELLOW_SECONDS}" state="{yellow}"/>')
    return f'<tlLogic id="{light}" type="actuated" programID="actuated" offset="0">{"".join(phases)}</tlLogic>'


def street_map(side: int) -> StreetMap:
    """Positions of lights and approaches for drawings; north is up."""
    positions = [(float(column), float(side - 1 - row)) for column, row in places(side)]
    names, streets = approaches(side), []
    for n, (column, row) in enumerate(positions):
        for a, (east, north) in enumerate(APPROACHES):
            stop = (column + STOP * east, row - STOP * north)
            streets.append(Street(names[4 * n + a], (column + east, row - north), stop, stop))
    return StreetMap(tuple(positions), tuple(streets), FULL)


class Trip(NamedTuple):
    """One vehicle."""

    depart: float  # seconds
    gate: int
    turn_at: int  # the crossing
    turn: int


def checked_rate(rate: object) -> float:
    """Vehicles an hour at every gate, on average."""
    if not isinstance(rate, int | float) or not 0 < rate <= MOST_RATE:
        raise InputError(f"rate: expected vehicles an hour above 0 and up to {MOST_RATE:g}, got {kind_of(rate)}")
    return float(rate)


class Demand:
    """The vehicles of one seed, a block of seconds at a time."""

    def __init__(self, side: int, rate: float, seed: int) -> None:
        rate, self.side = checked_rate(rate), checked_side(side)
        self._random = np.random.default_rng([whole("seed", seed, 0, 2**64 - 1), 1])
        self._rates = rate / 3600 * self._random.uniform(LIGHTEST, HEAVIEST, 4 * side)  # [gate] a second
        self._moment = self._random.uniform(0, PERIOD)
        self._time = 0

    def block(self) -> list[Trip]:
        """The vehicles of the next BLOCK seconds, in order of departure."""
        middle = self._time + BLOCK / 2 + self._moment
        swing = SWING * np.sin(2 * np.pi * middle / PERIOD)
        factors = np.repeat([1 + swing, 1 - swing], 2 * self.side)  # columns, rows
        counts = self._random.poisson(self._rates * factors * BLOCK)
        trips = [self._trip(gate) for gate, count in enumerate(counts.tolist()) for _ in range(count)]
        self._time += BLOCK
        return sorted(trips)

    def _trip(self, gate: int) -> Trip:
        depart = self._time + BLOCK * float(self._random.random())
        turn = TURNS[int(np.searchsorted(np.cumsum(SHARES), self._random.random(), side="right"))]
        return Trip(round(depart, 2), gate, int(self._random.integers(self.side)), turn)
