"""The discretisers of a light's view, by name.

A light knows what detectors on its own four approaches tell (`View`), never what another light sees or does. A reading
turns that into a symbol. Its name is part of the problem's name, `sumo:4:signs`, so data and teams tell how they saw.

  queues  (the default, 15 symbols) the queue before red less the queue before green, in five bins, and how many
          vehicles still roll towards green, in three. A longer queue before red is not worth three seconds of yellow
          while the green is in good use; the comparison alone does not show it.
  signs   (3 symbols) the comparison alone: red-shorter, equal, red-longer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError
from decpomdp.core.agent import labels
from decpomdp.core.checks import kind_of, text, whole


class View(NamedTuple):
    """The detectors of one light."""

    green_queue: int  # vehicles standing before green
    red_queue: int  # standing before red
    green_moving: int  # rolling towards green
    red_moving: int  # rolling towards red
    green_seconds: int  # since the green began; since the first decision, if it has not switched yet
    axis: int  # what has green: 0 its column, 1 its row


@dataclass(frozen=True, slots=True)
class Reading:
    """From a view to a symbol.

    Attributes
    ----------
    name
        For the record: one word.
    symbols
        Their labels.
    read
        A function from a `View` to the number of a symbol.

    Examples
    --------
    >>> busy = Reading("busy", ("idle", "busy"), lambda view: int(view.red_queue > 4))
    >>> busy.symbol("A0", View(0, 5, 2, 1, 17, 0))
    1
    """

    name: str
    symbols: tuple[str, ...]
    read: Callable[[View], int]

    def __post_init__(self) -> None:
        if not text("reading: name", self.name).isidentifier():
            raise InputError(f"reading: expected a name of one word, got {self.name!r}")
        if not callable(self.read):
            raise InputError(
                f"reading {self.name}: expected a function from views to symbols, got {type(self.read).__name__}"
            )
        object.__setattr__(self, "symbols", labels(f"symbols of reading {self.name}", self.symbols))

    def symbol(self, light: str, view: View) -> int:
        """The symbol of a view."""
        return whole(f"light {light}: what reading {self.name} returned", self.read(view), 0, len(self.symbols) - 1)

    def all(self, lights: tuple[str, ...], views: NDArray[np.int16]) -> NDArray[np.int16]:
        """[n]: the symbol of every light; views[n, field]."""
        seen = (self.symbol(light, View(*row)) for light, row in zip(lights, views.tolist(), strict=True))
        return np.fromiter(seen, np.int16, len(lights))


LEADS = (1, 3, 6, 10)  # red queue less green queue: where a new bin begins
ROLLING = (1, 3)  # vehicles rolling towards green: the same
LEAD_WORDS = ("red-not-longer", "red+1", "red+3", "red+6", "red+10")
ROLLING_WORDS = ("idle", "few", "many")


def _queues(view: View) -> int:
    lead = int(np.searchsorted(LEADS, view.red_queue - view.green_queue, side="right"))
    rolling = int(np.searchsorted(ROLLING, view.green_moving, side="right"))
    return lead * len(ROLLING_WORDS) + rolling


def _signs(view: View) -> int:
    return 1 + int(np.sign(view.red_queue - view.green_queue))


QUEUES = Reading("queues", tuple(f"{lead},{rolling}" for lead in LEAD_WORDS for rolling in ROLLING_WORDS), _queues)
SIGNS = Reading("signs", ("red-shorter", "equal", "red-longer"), _signs)
READINGS = {reading.name: reading for reading in (QUEUES, SIGNS)}
LONGER = {  # symbols that say: the queue before red is longer
    "queues": tuple(range(len(ROLLING_WORDS), len(QUEUES.symbols))),
    "signs": (2,),
}


def reading_of(given: str | Reading) -> Reading:
    """By name, or itself."""
    if isinstance(given, Reading):
        known = READINGS.get(given.name, given)
        if given != known:
            raise InputError(f"reading: expected a name that is not built in, got {given.name!r}")
        return known
    if not isinstance(given, str) or given not in READINGS:
        raise InputError(
            f"reading: expected one of {', '.join(READINGS)}, or a Reading, got {kind_of(given)}; one of your own "
            "cannot be opened by its name: give SumoGrid(reading=Reading(...)) itself"
        )
    return READINGS[given]
