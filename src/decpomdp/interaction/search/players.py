"""Players of machines: the only access of a search to its problem.

A model is played by compiled kernels, any other simulator through its `reset` and `step`, a batch of episodes at a
time. A player counts joint steps; it raises `OutOfSteps` at its limit and `Cut` when the run is ending.

`Pool` runs rounds of pieces of work on threads. Each piece has its own player, random numbers and share of the
remaining steps, so the results do not depend on the number of threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Simulator
from decpomdp.core.run import Cut, Now, unlimited
from decpomdp.engines import threads as engine
from decpomdp.interaction.episode_player import OutOfSteps
from decpomdp.interaction.search.machines import Plan, pack
from decpomdp.kernels import machines
from decpomdp.kernels.machines import PlayedBatch, RandomWindow, Soft
from decpomdp.rollouts import DenseSimulator
from decpomdp.rollouts.play import begin_batch, step_batch

PIECE = 4000  # episodes between two checks of the stop flag
BATCH = 1000  # episodes that are recorded, or played by a simulator, at a time

Result = TypeVar("Result")
Actions = NDArray[np.int16]  # [k, n]; observations and nodes likewise
Choose = Callable[[int, int, Actions, Actions, Actions], None]  # (first episode, t, observations, nodes, actions)


def no_exploration(agents: int) -> RandomWindow:
    """An empty window."""
    return RandomWindow(0, 0, np.zeros(agents))


class Player(ABC):
    """Plays one problem and counts the joint steps."""

    concurrent: bool  # whether several workers may play at the same time

    def __init__(self, simulator: Simulator, now: Now | None = None, limit: float = np.inf) -> None:
        self.simulator, self.now, self.limit = simulator, now or unlimited(), limit
        self.agents, self.discount, self.name = simulator.agents, simulator.discount, simulator.name
        self.repeatable = simulator.repeatable
        self.steps = 0

    def fork(self, now: Now, limit: float = np.inf) -> Self:
        """A player of the same problem with its own count of steps."""
        other = copy(self)
        other.now, other.limit, other.steps = now, limit, 0
        return other

    def spend(self, steps: int) -> None:
        """Count steps before they are taken; raises OutOfSteps at the limit, Cut if the run is ending."""
        if self.now.stop[0]:
            raise Cut
        if self.steps + steps > self.limit:
            raise OutOfSteps
        self.steps += steps

    def returns(
        self, plan: Plan, episodes: int, horizon: int, seed: int, first: int = 0, window: RandomWindow | None = None
    ) -> NDArray[np.float64]:
        """[k]: discounted returns of episodes first, first + 1, ... from the window's begin on."""
        exploration = no_exploration(len(plan)) if window is None else window
        out = np.empty(episodes)
        for begin in range(0, episodes, PIECE):
            self._returns(plan, exploration, horizon, seed, first + begin, out[begin : begin + PIECE])
        return out

    @abstractmethod
    def _returns(
        self, plan: Plan, window: RandomWindow, horizon: int, seed: int, first: int, out: NDArray[np.float64]
    ) -> None: ...

    @abstractmethod
    def sample(self, soft: Soft, episodes: int, horizon: int, seed: int) -> PlayedBatch:
        """Episodes of a softened team."""

    @abstractmethod
    def elites(
        self, plan: Plan, window: RandomWindow, episodes: int, horizon: int, seed: int, count: int
    ) -> PlayedBatch:
        """The `count` episodes of highest return (from the window's begin on) of `episodes` that explore there."""

    @abstractmethod
    def record(self, plan: Plan, episodes: int, horizon: int, seed: int) -> PlayedBatch:
        """Episodes of a plan, step by step."""

    def visits(self, plan: Plan, episodes: int, horizon: int, seed: int) -> list[NDArray[np.int64]]:
        """Per agent [i, o]: how often node i was left on o."""
        symbols = max(machine.observations for machine in plan)
        counts = np.zeros((len(plan), max(len(machine.action) for machine in plan), symbols + 1), np.int64)
        for number, begin in enumerate(range(0, episodes, BATCH)):
            machines.count_edges(self.record(plan, min(BATCH, episodes - begin), horizon, seed + number), counts)
        parts = [counts[n, : len(machine.action)] for n, machine in enumerate(plan)]
        return [
            np.column_stack([part[:, : machine.observations], part[:, -1]])
            for machine, part in zip(plan, parts, strict=True)
        ]


class DensePlayer(Player):
    """Plays a model with kernels that release the GIL. Each episode is a function of the seed and its number."""

    concurrent = True
    simulator: DenseSimulator

    def _returns(
        self, plan: Plan, window: RandomWindow, horizon: int, seed: int, first: int, out: NDArray[np.float64]
    ) -> None:
        self.spend(len(out) * horizon)
        world = self.simulator.world
        machines.values(world, pack(plan, self), window, np.uint64(seed), first, horizon, self.discount, out)

    def sample(self, soft: Soft, episodes: int, horizon: int, seed: int) -> PlayedBatch:
        self.spend(episodes * horizon)
        played = empty_batch(episodes, horizon, len(self.agents))
        machines.sample(self.simulator.world, soft, np.uint64(seed), played)
        return played

    def elites(
        self, plan: Plan, window: RandomWindow, episodes: int, horizon: int, seed: int, count: int
    ) -> PlayedBatch:
        returns = self.returns(plan, episodes, horizon, seed, window=window)
        return self._record(plan, window, horizon, seed, highest(returns, count))

    def record(self, plan: Plan, episodes: int, horizon: int, seed: int) -> PlayedBatch:
        return self._record(plan, no_exploration(len(plan)), horizon, seed, np.arange(episodes))

    def _record(
        self, plan: Plan, window: RandomWindow, horizon: int, seed: int, numbers: NDArray[np.int64]
    ) -> PlayedBatch:
        """Play the episodes with these numbers (again)."""
        self.spend(len(numbers) * horizon)
        played = empty_batch(len(numbers), horizon, len(self.agents))
        machines.record(self.simulator.world, pack(plan, self), window, np.uint64(seed), numbers, played)
        return played


class BatchPlayer(Player):
    """Plays any simulator through `reset` and `step`; not concurrent, because the simulator holds the episodes.

    `side_by_side` of a simulator is the largest number of episodes that it can play at a time.
    """

    concurrent = False

    def __init__(self, simulator: Simulator, now: Now | None = None, limit: float = np.inf) -> None:
        super().__init__(simulator, now, limit)
        self.batch = min(BATCH, int(getattr(simulator, "side_by_side", BATCH)))

    def _returns(
        self, plan: Plan, window: RandomWindow, horizon: int, seed: int, first: int, out: NDArray[np.float64]
    ) -> None:
        for begin, count in self._batches(len(out)):
            played = self._follow(plan, window, count, horizon, seed, first + begin)
            out[begin : begin + count] = self._discounted(played, window.begin)

    def sample(self, soft: Soft, episodes: int, horizon: int, seed: int) -> PlayedBatch:
        def choose(first: int, t: int, seen: Actions, nodes: Actions, actions: Actions) -> None:
            machines.sample_batch(soft, np.uint64(seed), first, t, seen, nodes, actions)

        return joined([self._play(choose, count, horizon, seed, first) for first, count in self._batches(episodes)])

    def elites(
        self, plan: Plan, window: RandomWindow, episodes: int, horizon: int, seed: int, count: int
    ) -> PlayedBatch:
        elite = empty_batch(0, horizon, len(plan))
        for first, size in self._batches(episodes):
            both = joined([elite, self._follow(plan, window, size, horizon, seed, first)])
            numbers = highest(self._discounted(both, window.begin), count)
            elite = PlayedBatch._make(field[numbers] for field in both)
        return elite

    def record(self, plan: Plan, episodes: int, horizon: int, seed: int) -> PlayedBatch:
        alone = no_exploration(len(plan))
        return joined(
            [self._follow(plan, alone, count, horizon, seed, first) for first, count in self._batches(episodes)]
        )

    def _batches(self, episodes: int) -> Iterator[tuple[int, int]]:
        """First episode and number of episodes of every batch that is played side by side."""
        return ((first, min(self.batch, episodes - first)) for first in range(0, episodes, self.batch))

    def _discounted(self, played: PlayedBatch, begin: int) -> NDArray[np.float64]:
        weights = self.discount ** np.arange(played.rewards.shape[1], dtype=np.float64)
        weights[:begin] = 0.0
        return played.rewards @ weights

    def _follow(
        self, plan: Plan, window: RandomWindow, episodes: int, horizon: int, seed: int, first: int
    ) -> PlayedBatch:
        packed = pack(plan, self)

        def choose(first: int, t: int, seen: Actions, nodes: Actions, actions: Actions) -> None:
            machines.follow_batch(packed, window, np.uint64(seed), first, t, seen, nodes, actions)

        return self._play(choose, episodes, horizon, seed, first)

    def _play(self, choose: Choose, episodes: int, horizon: int, seed: int, first: int) -> PlayedBatch:
        played = empty_batch(episodes, horizon, len(self.agents))
        played.rewards[:] = 0.0
        running, nodes = np.ones(episodes, bool), np.zeros((episodes, len(self.agents)), np.int16)
        seen = begin_batch(self.simulator, episodes, batch_seed(seed, first))
        for t in range(horizon):
            self.spend(int(running.sum()))
            choose(first, t, seen, nodes, played.actions[:, t])
            played.observations[:, t], played.nodes[:, t] = seen, nodes
            seen, played.rewards[:, t], ended = step_batch(self.simulator, played.actions[:, t], running)
            played.lengths[running] = t + 1
            running &= ~ended
            if not running.any():
                break
        return played


def player_of(simulator: Simulator) -> Player:
    """The fast player for a model, the general one for any other simulator."""
    return DensePlayer(simulator) if isinstance(simulator, DenseSimulator) else BatchPlayer(simulator)


def batch_seed(seed: int, first: int) -> int:
    """A simulator's seed for the batch that begins with episode `first`."""
    return int(np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)[0] >> np.uint64(33))


def empty_batch(episodes: int, horizon: int, agents: int) -> PlayedBatch:
    """Memory for episodes."""
    shape = (episodes, horizon, agents)
    return PlayedBatch(
        np.empty(shape, np.int16),
        np.empty(shape, np.int16),
        np.empty(shape, np.int16),
        np.empty(shape[:2]),
        np.empty(episodes, np.int64),
    )


def joined(parts: list[PlayedBatch]) -> PlayedBatch:
    """Batches of one horizon as one."""
    return (
        parts[0]
        if len(parts) == 1
        else PlayedBatch._make(np.concatenate(fields) for fields in zip(*parts, strict=True))
    )


def highest(returns: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The numbers of the highest returns, best first."""
    return np.argsort(-returns, kind="stable")[:count]


Work = Callable[[int, Player, np.random.Generator], Result]


class Pool:
    """Runs pieces of work on threads, each with a share of the remaining steps."""

    def __init__(self, player: Player, now: Now, threads: int | None) -> None:
        self.player, self.now = player, now
        self.threads = workers(player, threads)
        self.steps = 0  # joint steps taken

    def round(self, pieces: int, work: Work[Result], *seed: int) -> list[Result | None]:
        """work(0, ...), work(1, ...), ... in order; None where the steps ran out or the run ended."""
        players = [self.player.fork(self.now, self._left() / pieces) for _ in range(pieces)]

        def piece(k: int) -> Result | None:
            try:
                return work(k, players[k], np.random.default_rng([*seed, k]))
            except (OutOfSteps, Cut):
                return None

        results = engine.run(piece, pieces, self.threads)
        self.steps += sum(player.steps for player in players)
        return results

    def alone(self, work: Callable[[Player], Result]) -> Result:
        """A piece of work between rounds; raises OutOfSteps or Cut if it cannot be finished."""
        player = self.player.fork(self.now, self._left())
        try:
            return work(player)
        finally:
            self.steps += player.steps

    def end(self) -> None:
        """Raise Cut or OutOfSteps: some pieces of a round were not finished."""
        self.now.check()
        raise OutOfSteps

    def _left(self) -> float:
        return max(0, self.now.steps - self.steps)


def workers(player: Player, threads: int | None) -> int:
    """Number of concurrent pieces."""
    many = engine.default_threads() if threads is None else threads
    return many if player.concurrent else 1
