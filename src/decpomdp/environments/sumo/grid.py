"""The grid as a simulator: `sumo:4`, `sumo:10`, `sumo:4:signs`, `sumo:4:queues:400` (side, reading, rate).

Whole episodes are played in several processes, or a few episodes in lockstep.

Agents: the lights, actions `keep` and `switch`. Reward: minus the number of vehicles that wait (standing before a
light, or outside a gate whose street is full), averaged over the ten seconds of a decision; one number for the team.
Minus ten times the sum of an episode's rewards is its total waiting time in vehicle-seconds. Episodes never
terminate.

Every episode has one seed, which fixes its vehicles, SUMO's own random numbers and the team's random choices. So
episodes depend neither on the process that plays them nor on the number of processes.

The lights' parts of an episode can be pooled as data for a controller that all lights share (`pooled`).

*Credit.* The team's reward is a sum over all lights, in which the effect of a single light is hard to detect. For
learning only, the reward of a light is minus the number of vehicles on their way to it, standing or moving. The time
that vehicles spend there is the free travel time, which no light can change, plus the delay that the light causes.
Standing vehicles alone are not enough: a switch makes a queue move at once, and the vehicles that it stops still move
for a while. Reports and comparisons use the team's reward.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, Episodes, InputError, Step, Team
from decpomdp.core.agent import checked_actions
from decpomdp.core.checks import one_of, whole
from decpomdp.core.model import checked_discount
from decpomdp.core.scene import COLUMN, NEITHER, ROW, StreetMap, StreetScene
from decpomdp.engines import threads as engine
from decpomdp.environments.sumo import network
from decpomdp.environments.sumo.network import YELLOW_SECONDS, checked_rate
from decpomdp.environments.sumo.process import SimulationProcess
from decpomdp.environments.sumo.simulation import (
    DECISION,
    KEEP,
    QUEUES,
    READINGS,
    SWITCH,
    WARM_UP,
    Measures,
    Reading,
    Shown,
)
from decpomdp.kernels import rollout
from decpomdp.kernels.rollout import Paths, Players, empty_paths
from decpomdp.kernels.sampling import key_of

NAME = "sumo"
ACTIONS = ("keep", "switch")
RATE = 550.0  # vehicles an hour at a gate: more than a fixed program can carry, about what the streets can
DISCOUNT = 0.95  # a queue lasts minutes longer than the decision that caused it
PACE = 30.0  # joint steps a second of 4 x 4 lights on two cores, the 300 s before the first decision included
SIDE_BY_SIDE = 16  # episodes of a batch, at most: each is a process of about 100 MB

Result = TypeVar("Result")


class Played(NamedTuple):
    """Episodes of one length, one after the other, with data of every light."""

    paths: Paths  # row k * T + t
    waits: NDArray[np.float64]  # [r, n] vehicles waiting for each light, in the mean over the decision
    present: NDArray[np.float64]  # [r, n] vehicles on the way to each light after the decision, standing or not
    measures: list[Measures]  # [k]

    def part(self, number: int, length: int) -> "Played":
        """The rows of one episode, without its measures."""
        rows = slice(number * length, (number + 1) * length)
        paths = Paths._make(field[rows] for field in self.paths)
        return Played(paths, self.waits[rows], self.present[rows], [])


def play_episode(
    player: SimulationProcess, reading: Reading, players: Players | None, seed: int, control: str, out: Played
) -> Measures:
    """Play the episode of a seed into `out`; without players, SUMO's own `control` sets the lights."""
    shown, paths = player.reset(seed, control), out.paths
    lights = len(shown.views)
    nodes, actions = np.zeros((2, 1, lights), np.int16)
    beliefs = np.zeros((1, lights, 1 if players is None else players.initial.shape[2]))
    chance = np.ones((1, lights), np.float32)
    for t in range(len(out.waits)):
        seen = reading.read(shown.views)[None]
        if players is not None:
            rollout.choose(players, key_of(seed), t, seen, nodes, actions, beliefs, chance)
        paths.observations[t], paths.actions[t], paths.nodes[t] = seen[0], actions[0], nodes[0]
        if paths.behaviour.size:
            paths.behaviour[t] = chance[0]
        shown = player.step(None if players is None else actions[0])
        paths.rewards[t], out.waits[t], out.present[t] = -shown.waits.sum(), shown.waits, shown.present
    return player.measures()


def episode_seed(seed: int, number: int) -> int:
    """The seed of one episode of a sequence: at least 2^62, so it differs from any seed that a user would choose."""
    key = int(seed) & 0xFFFFFFFFFFFFFFFF
    return int(np.random.SeedSequence([key, number]).generate_state(1, np.uint64)[0] >> np.uint64(1)) | 1 << 62


def pooled(agents: tuple[Agent, ...], played: Played, discount: float) -> Episodes:
    """Episode k of light n as episode k * N + n of the first agent; `discount`: of the credit."""
    paths, lights, count = played.paths, len(agents), len(played.measures)
    length = len(played.present) // count

    def by_light(table: NDArray) -> NDArray:
        """From [k * T + t, n] to [(k * N + n) * T + t]."""
        return np.ascontiguousarray(table.reshape(count, length, lights).swapaxes(1, 2)).reshape(-1)

    return Episodes(
        agents=agents[:1],
        offsets=np.arange(count * lights + 1) * length,
        observations=by_light(paths.observations)[:, None],
        actions=by_light(paths.actions)[:, None],
        behaviour=np.minimum(by_light(paths.behaviour), np.float32(1))[:, None],
        rewards=by_light(0.0 - played.present),
        discount=discount,
    )


class SumoGrid:
    """A grid of side x side lights.

    Parameters
    ----------
    side
        4 or 10.
    discount
        Of the rewards.
    reading
        What a light observes: queues or signs (see `simulation.py`).
    rate
        Vehicles an hour at every gate, on average: above 0 and up to 3600.
    workers
        Processes, at most: as many as there are cores by default.
    """

    repeatable = plays_teams = True
    side_by_side = 4  # recommended episodes of a batch: more episodes need more processes and are not faster
    pace = PACE  # joint steps a second, about

    def __init__(
        self,
        side: int = 4,
        discount: float = DISCOUNT,
        reading: str = QUEUES.name,
        rate: float = RATE,
        workers: int | None = None,
    ) -> None:
        self.side, self.discount = network.checked_side(side), checked_discount(discount)
        self.reading, self.rate = READINGS[one_of("reading", reading, tuple(READINGS))], checked_rate(rate)
        self.workers = engine.default_threads() if workers is None else whole("workers", workers, 1, 1000)
        self.name = name_of(self.side, self.reading, self.rate)
        self.lights = network.lights(self.side)
        self.agents = tuple(Agent(light, ACTIONS, self.reading.symbols) for light in self.lights)
        self._idle: list[SimulationProcess] = []
        self._batch: list[SimulationProcess] = []
        self._shown: list[Shown] = []
        self._acted = False

    @property
    def facts(self) -> dict[str, str]:
        """All settings that the episodes depend on, for the record."""
        return {
            "environment": f"SUMO grid of {self.side} x {self.side} lights",
            "reading": self.reading.name,
            "vehicles_an_hour_and_gate": f"{self.rate:g}",
            "seconds_of_a_decision": str(DECISION),
            "seconds_of_yellow": str(YELLOW_SECONDS),
            "seconds_before_the_first_decision": str(WARM_UP),
        }

    @property
    def piece(self) -> int:
        """Episodes of one piece of a stream."""
        return 2 * self.workers

    def reset(self, episodes: int, seed: int) -> NDArray[np.int16]:
        """Start a batch; [k, n] the first observations."""
        count = whole("episodes", episodes, 1, 2**31)
        if count > SIDE_BY_SIDE:
            raise InputError(
                f"episodes: expected at most {SIDE_BY_SIDE} in a batch (one SUMO process each), got {count}; "
                f"`simulate` plays any number, {self.workers} at a time"
            )
        self._release()
        self._batch, self._acted = [self._taken() for _ in range(count)], False
        seeds = [episode_seed(seed, k) for k in range(count)]
        self._shown = self._together(lambda k: self._batch[k].reset(seeds[k]))
        return self._seen()

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Take actions[k, n]; episodes never terminate."""
        chosen = checked_actions(actions, len(self._batch), self.agents, np.int16)
        self._shown, self._acted = self._together(lambda k: self._batch[k].step(chosen[k])), True
        rewards = np.array([-float(shown.waits.sum()) for shown in self._shown])
        return Step(self._seen(), rewards, np.zeros(len(chosen), bool))

    def play(
        self,
        players: Players,
        episodes: int,
        horizon: int,
        seed: int,
        first: int = 0,
        behaviour: bool = False,
        threads: int | None = None,
    ) -> Paths:
        """Episodes first, first + 1, ... of the sequence that `seed` fixes; the same for any number of processes."""
        seeds = [episode_seed(seed, first + k) for k in range(episodes)]
        return self.play_seeds(players, seeds, horizon, behaviour, threads).paths

    def play_own(
        self, players: Players, episodes: int, horizon: int, seed: int, first: int = 0, threads: int | None = None
    ) -> Episodes:
        """The same episodes as `play`, every light's part as an episode of one agent, for a shared controller.

        Rewards are those of the light: minus the number of vehicles on their way to it (see *Credit* above).
        """
        seeds = [episode_seed(seed, first + k) for k in range(episodes)]
        played = self.play_seeds(players, seeds, horizon, behaviour=True, threads=threads)
        return replace(pooled(self.agents, played, self.discount), name=self.name, facts=self.facts)

    def play_seeds(
        self,
        players: Players | None,
        seeds: Sequence[int],
        horizon: int,
        behaviour: bool = False,
        threads: int | None = None,
        control: str = "agents",
    ) -> Played:
        """One episode for every seed; without players, SUMO's own `control` sets the lights."""
        rows = len(seeds) * horizon
        waits, present = np.zeros((2, rows, len(self.agents)))
        buffers = Played(empty_paths(rows, len(self.agents), behaviour), waits, present, [])
        count = min(self.workers, self.workers if threads is None else threads, len(seeds))
        self._release()
        taken, free = [self._taken() for _ in range(count)], SimpleQueue[SimulationProcess]()
        for player in taken:
            free.put(player)

        def episode(k: int) -> Measures:
            player = free.get()
            try:
                return play_episode(player, self.reading, players, seeds[k], control, buffers.part(k, horizon))
            finally:
                free.put(player)

        try:
            return buffers._replace(measures=_run(episode, len(seeds), count, taken))
        finally:
            self._idle.extend(taken)

    def policies(self) -> dict[str, Team]:
        """The policies that need no learning, by name."""
        longest = Team.of(self, [longest_queue(self.reading)] * len(self.lights))
        return {"random": Team.uniform(self), "longest-queue": longest}

    def street_map(self) -> StreetMap:
        """Positions of lights and streets, for drawings."""
        return network.street_map(self.side)

    def street_scene(self, episode: int = 0) -> StreetScene:
        """Queues and greens in one episode of the batch; before the agents have acted, no light counts as green."""
        shown = self._shown[whole("episode", episode, 0, len(self._shown) - 1)]
        green = tuple((COLUMN, ROW)[axis] if self._acted else NEITHER for axis in shown.views[:, -1].tolist())
        return StreetScene(tuple(shown.queues.ravel().tolist()), green)

    def close(self) -> None:
        """End the processes; the next reset or play starts others."""
        self._release()
        for player in self._idle:
            player.close()
        self._idle = []

    def __reduce__(self) -> tuple[type["SumoGrid"], tuple[Any, ...]]:
        """Copies, for example on other machines, have their own processes."""
        return type(self), (self.side, self.discount, self.reading.name, self.rate, self.workers)

    def _taken(self) -> SimulationProcess:
        try:
            return self._idle.pop()  # in one step: threads of a cluster's worker share the grid
        except IndexError:
            return SimulationProcess(self.side, self.rate)

    def _release(self) -> None:
        while self._batch:
            self._idle.append(self._batch.pop())

    def _together(self, work: Callable[[int], Shown]) -> list[Shown]:
        return _run(work, len(self._batch), self.workers, self._batch)

    def _seen(self) -> NDArray[np.int16]:
        return np.stack([self.reading.read(shown.views) for shown in self._shown])


def named(text: str, discount: float | None = None) -> SumoGrid:
    """The grid called `sumo:SIDE`, `sumo:SIDE:READING` or `sumo:SIDE:READING:RATE`."""
    base, *parts = text.split(":")
    if base != NAME or len(parts) > 3 or not all(parts):
        raise InputError(f"problem: expected {NAME}:4, {NAME}:10 or {NAME}:SIDE:READING:RATE, got {text!r}")
    default: list[Any] = ["4", QUEUES.name, RATE]
    side, reading, rate = parts + default[len(parts) :]
    return SumoGrid(_number(side, int), DISCOUNT if discount is None else discount, reading, _number(rate, float))


def name_of(side: int, reading: Reading, rate: float) -> str:
    """The name by which the same problem is opened; defaults are left out.

    >>> name_of(4, QUEUES, RATE), name_of(4, QUEUES, 400.0)
    ('sumo:4', 'sumo:4:queues:400')
    """
    if rate != RATE:
        return f"{NAME}:{side}:{reading.name}:{int(rate) if rate.is_integer() else rate}"
    return f"{NAME}:{side}" + ("" if reading is QUEUES else f":{reading.name}")


def longest_queue(reading: Reading) -> Controller:
    """Switch when the queue before red is longer than the one before green."""
    moves = [SWITCH if symbol in reading.longer else KEEP for symbol in range(len(reading.symbols))]
    followed = Controller.deterministic([KEEP, SWITCH], [moves, moves], len(ACTIONS))
    return Controller(followed.initial, followed.action, followed.transition, np.eye(2)[moves])


def _number(text: Any, kind: type) -> Any:
    """The number, if it is one; otherwise the text, which the grid rejects."""
    try:
        return kind(text)
    except ValueError:
        return text


def _run(work: Callable[[int], Result], pieces: int, count: int, players: Sequence[SimulationProcess]) -> list[Result]:
    """Work with `players` on `count` threads; after an error or an interrupt their processes are killed."""

    def stop() -> None:
        for player in players:
            player.cancel()

    try:
        return engine.run(work, pieces, count, stop)
    except BaseException:
        for player in players:
            player.close()
        raise
