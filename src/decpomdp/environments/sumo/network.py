"""The streets: a grid of side x side crossings, every crossing with a light, every street open at both ends.

The networks are shipped (made with SUMO's netgenerate; the command is in the head of each file): blocks of 200 m, one
lane each way, 50 km/h. Light `B2` stands where column B crosses row 2; a street from one place to the next is called
by both, `B1B2`. Beyond the last lights are the gates: `left0`, `right0`, `bottom0`, `top0`, ...

A light serves its column (north and south) or its row (east and west); who turns left waits for a gap. The order of
the four approaches is SUMO's: from north, east, south and west.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError
from decpomdp.core.checks import kind_of, whole

SIDES = (4, 10)  # the grids that are shipped
COLUMNS = "ABCDEFGHIJ"
NORTH, EAST, SOUTH, WEST = (0, 1), (1, 0), (0, -1), (-1, 0)
APPROACHES = (NORTH, EAST, SOUTH, WEST)  # where the approaches of a light come from, in SUMO's order
GREEN = ("GGgrrrGGgrrr", "rrrGGgrrrGGg")  # per axis: column, row
YELLOW = ("yyyrrryyyrrr", "rrryyyrrryyy")
COLUMN, ROW = 0, 1
AXES = ("column", "row")

Place = tuple[int, int]  # column, row


def checked_side(side: object) -> int:
    """A side for which there is a network."""
    try:
        found = whole("sumo: lights a side", side, min(SIDES), max(SIDES))
    except InputError:
        found = 0
    if found not in SIDES:
        raise InputError(f"sumo: expected a grid of {' or '.join(map(str, SIDES))} lights a side, got {kind_of(side)}")
    return found


def network_file(side: int) -> Path:
    """The network that is shipped."""
    return Path(__file__).parent / "networks" / f"grid{checked_side(side)}.net.xml.gz"


def places(side: int) -> list[Place]:
    """Of the lights, in the order of the agents: column by column."""
    return [(column, row) for column in range(side) for row in range(side)]


def name_of(place: Place, side: int) -> str:
    """Of a light or, outside the grid, of a gate."""
    column, row = place
    if not 0 <= row < side:
        return f"{'top' if row >= side else 'bottom'}{column}"
    if not 0 <= column < side:
        return f"{'right' if column >= side else 'left'}{row}"
    return f"{COLUMNS[column]}{row}"


def lights(side: int) -> tuple[str, ...]:
    """Their names, in the order of the agents."""
    return tuple(name_of(place, side) for place in places(side))


def approaches(side: int) -> list[str]:
    """The streets that lead to the lights: entry 4 n + a is approach a of light n."""
    return [_street(_moved(here, way), here, side) for here in places(side) for way in APPROACHES]


def neighbours(side: int) -> NDArray[np.int64]:
    """[n, a]: the light from which approach a of light n comes; -1: a gate."""
    numbers = {place: n for n, place in enumerate(places(side))}
    return np.array([[numbers.get(_moved(here, way), -1) for way in APPROACHES] for here in places(side)])


def gates(side: int) -> list[tuple[Place, Place]]:
    """Where vehicles come in: the gate, and the way they then head. Those of the columns first."""
    along = range(side)
    columns = [((i, -1), NORTH) for i in along] + [((i, side), SOUTH) for i in along]
    return columns + [((-1, i), EAST) for i in along] + [((side, i), WEST) for i in along]


def route(side: int, gate: int, turn_at: int, turn: int) -> list[str]:
    """The streets from a gate out of the grid: straight on but for a turn at one crossing (1: right, -1: left)."""
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
