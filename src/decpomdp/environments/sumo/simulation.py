"""SUMO in this process, through libsumo: the grid with its lights controlled by agents or by SUMO's own programs.

A decision lasts DECISION seconds. A light that switches first shows yellow for YELLOW_SECONDS of them, so a green lasts
at least DECISION - YELLOW_SECONDS. Before the first decision the fixed-time program runs for WARM_UP seconds for every
policy, because in an empty grid there is nothing to decide.

A light has detectors on its own four approaches, and no information about other lights. A reading turns the detectors
into a symbol. Its name is part of the problem's name, `sumo:4:signs`, so that data and teams record the reading.

  queues  (the default, 15 symbols) the queue before red less the queue before green, in five bins, and the number of
          vehicles still moving towards green, in three. While the green is well used, a longer queue before red is not
          worth three seconds of yellow; the comparison alone does not show this.
  signs   (3 symbols) the comparison alone: red-shorter, equal, red-longer.

libsumo has one simulation per process: `process.py` runs each in its own process.
"""

from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.errors import InputError
from decpomdp.environments.sumo import network
from decpomdp.environments.sumo.network import BLOCK, LATE, YELLOW_SECONDS, Demand, Trip, actuated_file

DECISION = BLOCK  # seconds
WARM_UP = 300
CONTROLS = ("agents", "fixed-time", *LATE)  # of the lights
KEEP, SWITCH = 0, 1  # actions
GREEN_QUEUE, RED_QUEUE, GREEN_MOVING = 0, 1, 2  # columns of `Shown.views`
LEADS = (1, 3, 6, 10)  # red queue less green queue: where a new bin begins
ROLLING = (1, 3)  # vehicles moving towards green: the same
LEAD_WORDS = ("red-not-longer", "red+1", "red+3", "red+6", "red+10")
ROLLING_WORDS = ("idle", "few", "many")


class Measures(NamedTuple):
    """Measures of an episode, from the first decision on.

    Vehicles that have not arrived at the end count the time until then.
    """

    waiting: float  # vehicle-seconds standing before a light or outside a full gate
    travel: float  # mean seconds from when a vehicle wanted to start until it arrived
    arrived: int  # vehicles
    vehicles: int  # that were under way at some time


class Shown(NamedTuple):
    """The state after a decision."""

    # [n, field] vehicles standing before green and before red, moving towards green and towards red; seconds since
    # the green began (or since the first decision); the axis with green: 0 the column, 1 the row
    views: NDArray[np.int16]
    queues: NDArray[np.int16]  # [n, approach] vehicles standing
    waits: NDArray[np.float64]  # [n] vehicles waiting for each light, mean over the seconds of the decision
    present: NDArray[np.int16]  # [n] vehicles on the way to each light, standing or not, and outside its gates


class Reading(NamedTuple):
    """From views to symbols."""

    name: str
    symbols: tuple[str, ...]  # their labels
    longer: tuple[int, ...]  # symbols for a longer queue before red
    read: Callable[[NDArray[np.int16]], NDArray[np.int16]]  # from views[n, field] to symbols[n]


def _lead(views: NDArray[np.int16]) -> NDArray[np.int16]:
    return views[:, RED_QUEUE] - views[:, GREEN_QUEUE]


def _queues(views: NDArray[np.int16]) -> NDArray[np.int16]:
    lead = np.searchsorted(LEADS, _lead(views), side="right")
    rolling = np.searchsorted(ROLLING, views[:, GREEN_MOVING], side="right")
    return (lead * len(ROLLING_WORDS) + rolling).astype(np.int16)


QUEUES = Reading(
    "queues",
    tuple(f"{lead},{rolling}" for lead in LEAD_WORDS for rolling in ROLLING_WORDS),
    tuple(range(len(ROLLING_WORDS), len(LEAD_WORDS) * len(ROLLING_WORDS))),
    _queues,
)
SIGNS = Reading("signs", ("red-shorter", "equal", "red-longer"), (2,), lambda views: 1 + np.sign(_lead(views)))
READINGS = {reading.name: reading for reading in (QUEUES, SIGNS)}


class Simulation:
    """One grid, the only one of its process."""

    def __init__(self, side: int, rate: float) -> None:
        self.side, self.rate = network.checked_side(side), rate
        self.lights = network.lights(side)
        streets = network.approaches(side)
        self._lanes = [f"{street}_0" for street in streets]
        entrances = {network.route(side, gate, -1, 0)[0]: gate for gate in range(4 * side)}
        self._gates = [(place, street) for place, street in enumerate(streets) if street in entrances]
        self._sumo = libsumo()
        self._sumo.start(["sumo", "--net-file", str(network.network_file(side)), "--no-step-log", "--no-warnings"])
        self._control, self._time = "", 0

    def reset(self, seed: int, control: str = "agents") -> Shown:
        """Start an episode; the same seed gives the same vehicles."""
        if control not in CONTROLS:
            raise InputError(f"control: expected one of {', '.join(CONTROLS)}, got {control!r}")
        self._control, self._demand, self._time = control, Demand(self.side, self.rate, seed), 0
        self._departed: dict[str, float] = {}  # of those that have not arrived
        self._added = 0
        self._routes: set[str] = set()
        self._waiting, self._travel, self._arrived = 0.0, 0.0, 0
        options = [
            *("--net-file", str(network.network_file(self.side)), "--seed", str(seed % 2**31)),
            *("--time-to-teleport", "-1", "--no-step-log", "true", "--no-warnings", "true"),
        ]
        if control in LATE:
            options += ["--additional-files", str(actuated_file(self.side, control))]
        self._sumo.load(options)
        self._warm_up()
        self._axes = np.zeros(len(self.lights), np.int64)
        self._greens = np.zeros(len(self.lights), np.int64)
        return self._shown(np.zeros(len(self.lights)))

    def step(self, actions: NDArray[np.integer] | None) -> Shown:
        """One decision: [n] KEEP or SWITCH; None where SUMO's own program sets the lights."""
        self._add(self._demand.block())
        waits = np.zeros(len(self._lanes))
        if self._control == "agents" and actions is not None:
            switching = np.flatnonzero(np.asarray(actions) == SWITCH)
            self._show(switching, network.YELLOW)
            self._run(YELLOW_SECONDS, waits)
            self._axes[switching] = 1 - self._axes[switching]
            self._show(switching, network.GREEN)
            self._run(DECISION - YELLOW_SECONDS, waits)
            self._greens += DECISION
            self._greens[switching] = DECISION - YELLOW_SECONDS
        else:
            self._run(DECISION, waits)
        self._waiting += float(waits.sum())
        return self._shown(waits.reshape(-1, len(network.APPROACHES)).sum(axis=1) / DECISION)

    def measures(self) -> Measures:
        """Measures of the episode so far."""
        still = [self._time - depart for depart in self._departed.values() if depart <= self._time]
        total = self._arrived + len(still)
        return Measures(self._waiting, (self._travel + sum(still)) / max(1, total), self._arrived, total)

    def _warm_up(self) -> None:
        programs = self._sumo.trafficlight
        if self._control in LATE:
            for light in self.lights:
                programs.setProgram(light, "0")
        while self._time < WARM_UP:
            self._add(self._demand.block())
            self._run(BLOCK, None)
        self._travel, self._arrived = 0.0, 0
        for light in self.lights:
            if self._control in LATE:
                programs.setProgram(light, "actuated")
            elif self._control == "agents":
                programs.setRedYellowGreenState(light, network.GREEN[network.COLUMN])

    def _add(self, trips: list[Trip]) -> None:
        for trip in trips:
            way = f"{trip.gate}.{trip.turn_at}.{trip.turn}"
            if way not in self._routes:
                self._sumo.route.add(way, network.route(self.side, trip.gate, trip.turn_at, trip.turn))
                self._routes.add(way)
            vehicle = str(self._added)
            self._added += 1
            self._sumo.vehicle.add(vehicle, way, depart=f"{trip.depart:.2f}", departLane="free", departSpeed="max")
            self._departed[vehicle] = trip.depart

    def _run(self, seconds: int, waits: NDArray[np.float64] | None) -> None:
        """Simulate some seconds; the vehicle-seconds of waiting are added to waits[lane]."""
        halting = self._sumo.lane.getLastStepHaltingNumber
        pending = self._sumo.edge.getPendingVehicles
        for _ in range(seconds):
            self._sumo.simulationStep()
            self._time += 1
            for vehicle in self._sumo.simulation.getArrivedIDList():
                self._travel += self._time - self._departed.pop(vehicle)
                self._arrived += 1
            if waits is not None:
                waits += [halting(lane) for lane in self._lanes]
                for place, street in self._gates:
                    waits[place] += len(pending(street))

    def _show(self, which: NDArray[np.integer], states: tuple[str, str]) -> None:
        for n in which.tolist():
            self._sumo.trafficlight.setRedYellowGreenState(self.lights[n], states[self._axes[n]])

    def _shown(self, waits: NDArray[np.float64]) -> Shown:
        lane = self._sumo.lane
        queues = np.array([lane.getLastStepHaltingNumber(name) for name in self._lanes]).reshape(-1, 4)
        there = np.array([lane.getLastStepVehicleNumber(name) for name in self._lanes]).reshape(-1, 4)
        queue, moving = (part.reshape(-1, 2, 2).sum(axis=1) for part in (queues, there - queues))  # [n, axis]
        every, axes = np.arange(len(self.lights)), self._axes
        columns = (queue[every, axes], queue[every, 1 - axes], moving[every, axes], moving[every, 1 - axes])
        views = np.stack([*columns, self._greens, axes], axis=1).astype(np.int16)
        for place, street in self._gates:
            there.ravel()[place] += len(self._sumo.edge.getPendingVehicles(street))
        return Shown(views, queues.astype(np.int16), waits, there.sum(axis=1).astype(np.int16))


def libsumo() -> Any:
    """The library; its printed remarks about versions of other libraries are suppressed."""
    try:
        with redirect_stdout(StringIO()):
            return import_module("libsumo")
    except ImportError as error:
        raise InputError(f"expected SUMO to be installed: pip install decpomdp[sumo] ({error})") from None
