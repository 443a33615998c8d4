"""Traffic demand: an endless stream of vehicles, determined by a seed and independent of what the lights do.

Vehicles arrive at every gate as a Poisson process, `rate` an hour on average. No hour is like another: every gate has
its own weight between 0.5 and 1.5, and traffic swings between columns and rows by up to half, with a period of half an
hour and a random phase. So no fixed plan is right for long. Of the vehicles 3 in 20 turn right and 2 in 20 left,
somewhere on their way; the others go straight.

The simulation draws its vehicles as it goes, because every episode has its own seed and no end. For SUMO's own tools
the first ten minutes of one seed are shipped: `sumo-gui -n grid4.net.xml.gz -r grid4.rou.xml.gz`. `write_demand` makes
such a file for any seed.
"""

import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decpomdp.core.checks import kind_of, number, whole
from decpomdp.core.errors import InputError
from decpomdp.environments.sumo.network import checked_side, route
from decpomdp.io.files import write_bytes

BLOCK = 10  # seconds that are drawn at a time
LIGHTEST, HEAVIEST = 0.5, 1.5  # weight of a gate
SWING, PERIOD = 0.5, 1800.0
STRAIGHT, RIGHT, LEFT = 0, 1, -1
TURNS, SHARES = (STRAIGHT, RIGHT, LEFT), (0.75, 0.15, 0.1)
MOST_RATE = 3600.0
FILE_SEED, FILE_SECONDS, FILE_RATE = 0, 600, 550.0  # of the demand files that are shipped


class Trip(NamedTuple):
    """One vehicle."""

    depart: float  # seconds
    gate: int
    turn_at: int  # the crossing
    turn: int


def checked_rate(rate: object) -> float:
    """Vehicles an hour at every gate, on average."""
    try:
        value = number("rate", rate, 0.0, MOST_RATE)
    except InputError:
        value = 0.0
    if value == 0.0:
        raise InputError(f"rate: expected vehicles an hour above 0 and up to {MOST_RATE:g}, got {kind_of(rate)}")
    return value


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


def demand_file(side: int) -> Path:
    """The demand file that is shipped."""
    return Path(__file__).parent / "networks" / f"grid{checked_side(side)}.rou.xml.gz"


def write_demand(
    path: str | os.PathLike[str],
    side: int,
    seed: int = FILE_SEED,
    seconds: int = FILE_SECONDS,
    rate: float = FILE_RATE,
) -> None:
    """Write the vehicles of the first `seconds` of a seed as a route file for SUMO's own tools."""
    text = "\n".join(_lines(side, seed, seconds, rate)) + "\n"
    write_bytes(path, gzip.compress(text.encode(), mtime=0))


def _lines(side: int, seed: int, seconds: int, rate: float) -> list[str]:
    demand = Demand(side, rate, seed)
    trips = [trip for _ in range(seconds // BLOCK) for trip in demand.block()]
    lines = [
        "<routes>",
        f"  <!-- {side} x {side} lights, seed {seed}, {seconds} s, {rate:g} vehicles an hour and gate -->",
    ]
    for index, trip in enumerate(trips):
        edges = " ".join(route(side, trip.gate, trip.turn_at, trip.turn))
        at = f'id="{index}" depart="{trip.depart:.2f}" departLane="free" departSpeed="max"'
        lines.append(f'  <vehicle {at}><route edges="{edges}"/></vehicle>')
    return [*lines, "</routes>"]
