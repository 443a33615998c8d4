"""Scenes for the replay: objects on a grid, and the streets, lights and queues of traffic.

A model may have a `GridScene`: the positions of objects in each of its states.

A traffic simulator may have two more methods; the page and the animations then draw it:

    street_map() -> StreetMap              lights and streets, which do not change
    street_scene(episode=0) -> StreetScene queues and green lights of one episode of the current batch

Light n is agent n. Places are (column, row) in blocks: the light in the second row and third column stands at (2, 1);
rows go down. The scene is requested after `reset` and after every `step`: `waiting` are the queues before the next
action, `green` the lights during the last step (`NEITHER` before the first).

    >>> corner = StreetMap(((0.0, 0.0),), (Street("east", (-1.0, 0.0), (0.0, 0.0), (1.0, 0.0)),), most=9)
    >>> StreetScene(waiting=(4,), green=(ROW,)).fitting(corner).waiting
    (4,)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from decpomdp.core.checks import kind_of, number
from decpomdp.core.errors import InputError

Place = tuple[float, float]  # column, row

NEITHER, ROW, COLUMN = -1, 0, 1  # the direction that has green
KINDS = ("agent", "box", "site", "zone")
ENTRIES = ("kind", "column", "row", "width", "turn", "label", "done")  # of a thing on a grid
LARGEST_GRID = 100  # columns or rows

Thing = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GridScene:
    """Positions of objects in every state: things[s] are mappings with the keys `ENTRIES`; agents have their number."""

    things: tuple[tuple[Thing, ...], ...]

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        every = [thing for shown in self.things for thing in shown]
        columns = max((int(thing["column"]) + int(thing.get("width", 1)) for thing in every), default=1)
        return columns, max((int(thing["row"]) + 1 for thing in every), default=1)

    @staticmethod
    def checked(things: Iterable[Thing]) -> tuple[Thing, ...]:
        """The objects of one state, checked; agents without a label are numbered from 1."""
        if isinstance(things, Mapping | str) or not isinstance(things, Iterable):
            raise InputError(f"expected a list of dictionaries, got {kind_of(things)}")
        checked: list[Thing] = []
        for thing in things:
            if not isinstance(thing, Mapping) or thing.get("kind") not in KINDS:
                raise InputError(f"expected dictionaries with a kind among {', '.join(KINDS)}, got {thing!r:.60}")
            unknown = next((key for key in thing if key not in ENTRIES), None)
            if unknown is not None:
                raise InputError(f"expected entries among {', '.join(ENTRIES)}, got {unknown!r}")
            for key in ("column", "row"):
                number(key, thing.get(key), 0, LARGEST_GRID - 1)
            number("width", thing.get("width", 1), 0, LARGEST_GRID)
            agents = 1 + sum(other["kind"] == "agent" for other in checked)
            checked.append({"label": agents, **thing} if thing["kind"] == "agent" else dict(thing))
        return tuple(checked)


@dataclass(frozen=True, slots=True)
class Street:
    """One queue of cars: they come from `start`, wait before `stop` and continue to `end`.

    A street through several lights has one queue, before the first light. An approach to a single light has the same
    `stop` and `end`. Streets run along a row or along a column.
    """

    name: str
    start: Place
    stop: Place
    end: Place

    def __post_init__(self) -> None:
        places = (self.start, self.stop, self.end)
        if self.start == self.stop or not any(len({place[axis] for place in places}) == 1 for axis in (0, 1)):
            raise InputError(f"street {self.name}: expected a way along a row or a column, got {places}")


@dataclass(frozen=True, slots=True)
class StreetMap:
    """Fixed positions: lights[n] is the place of agent n's light, `most` the cars at which a street is full."""

    lights: tuple[Place, ...]
    streets: tuple[Street, ...]
    most: int


@dataclass(frozen=True, slots=True)
class StreetScene:
    """One moment: waiting[street] cars and green[light], which is ROW, COLUMN or NEITHER."""

    waiting: tuple[int, ...]
    green: tuple[int, ...]

    def fitting(self, streets: StreetMap) -> "StreetScene":
        """The scene itself, checked against the map."""
        if len(self.waiting) != len(streets.streets) or len(self.green) != len(streets.lights):
            raise InputError(
                f"street scene: expected {len(streets.streets)} queues and {len(streets.lights)} lights, "
                f"got {len(self.waiting)} and {len(self.green)}"
            )
        return self


@runtime_checkable
class OnStreets(Protocol):
    """A simulator that can be drawn as streets."""

    def street_map(self) -> StreetMap: ...
    def street_scene(self, episode: int = 0) -> StreetScene: ...
