"""The only door between the search and the problem: play machines, look at returns and at what each agent saw and did.

A dense model is played by compiled kernels, as a black box: nobody here reads its tables. Any other simulator is
played through its own `reset` and `step`, a batch at a time. Both count the joint steps they take and stop with
`Finished` when time or steps have run out, whatever the search is doing at that moment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, InputError, Simulator
from decpomdp.interaction.clock import Clock, Finished
from decpomdp.interaction.machine import Plan, pack
from decpomdp.kernels import machines as kernels
from decpomdp.kernels.machines import Played, Soft, Window
from decpomdp.rollouts.dense import DenseSimulator, key_of

PIECE = 4000  # episodes between two looks at the clock
BATCH = 1000  # episodes that a simulator plays side by side

Choose = Callable[[int, int, NDArray[np.int16], NDArray[np.int16], NDArray[np.int16]], None]


def unexplored(agents: int) -> Window:
    """Follow the machines always."""
    return Window(0, 0, np.zeros(agents))


class Arena(ABC):
    """A problem to be played by one worker."""

    concurrent: bool  # whether several workers may play at the same time

    def __init__(self, simulator: Simulator, clock: Clock, limit: float = np.inf) -> None:
        self.simulator, self.clock, self.limit = simulator, clock, limit
        self.agents, self.discount, self.name = simulator.agents, simulator.discount, simulator.name
        self.repeatable = simulator.repeatable
        self.steps = 0

    def fork(self, limit: float = np.inf) -> Self:
        """Another worker's door to the same problem, with its own count of steps."""
        return type(self)(self.simulator, self.clock, limit)

    def spend(self, steps: int) -> None:
        """Count steps that are about to be taken; raise Finished when there are none left."""
        self.clock.check()
        if self.steps + steps > self.limit:
            raise Finished
        self.steps += steps

    def returns(
        self, plan: Plan, episodes: int, horizon: int, seed: int, first: int = 0, window: Window | None = None
    ) -> NDArray[np.float64]:
        """[k]: discounted returns of episodes first, first + 1, ... from the window's begin on."""
        around = unexplored(len(plan)) if window is None else window
        out = np.empty(episodes)
        for begin in range(0, episodes, PIECE):
            part = out[begin : begin + PIECE]
            self._returns(plan, around, horizon, seed, first + begin, part)
        return out

    @abstractmethod
    def _returns(
        self, plan: Plan, window: Window, horizon: int, seed: int, first: int, out: NDArray[np.float64]
    ) -> None: ...

    @abstractmethod
    def sample(self, soft: Soft, episodes: int, horizon: int, seed: int) -> Played:
        """Episodes of a softened team."""

    @abstractmethod
    def elites(self, plan: Plan, window: Window, episodes: int, horizon: int, seed: int, count: int) -> Played:
        """The `count` episodes of highest return (from the window's begin on) of `episodes` that explore there."""

    @abstractmethod
    def record(self, plan: Plan, episodes: int, horizon: int, seed: int) -> Played:
        """Episodes of a plan, step by step."""

    def visits(self, plan: Plan, episodes: int, horizon: int, seed: int) -> list[NDArray[np.int64]]:
        """Per agent [i, o]: how often node i was left on o."""
        symbols = max(machine.observations for machine in plan)
        counts = np.zeros((len(plan), max(len(machine.action) for machine in plan), symbols + 1), np.int64)
        for number, begin in enumerate(range(0, episodes, BATCH)):
            kernels.count_edges(self.record(plan, min(BATCH, episodes - begin), horizon, seed + number), counts)
        parts = [counts[n, : len(machine.action)] for n, machine in enumerate(plan)]
        return [
            np.column_stack([part[:, : machine.observations], part[:, -1]])
            for machine, part in zip(plan, parts, strict=True)
        ]


class DenseArena(Arena):
    """A model, played by kernels that release the interpreter: workers do not get into each other's way."""

    concurrent = True
    simulator: DenseSimulator

    def _returns(
        self, plan: Plan, window: Window, horizon: int, seed: int, first: int, out: NDArray[np.float64]
    ) -> None:
        self.spend(len(out) * horizon)
        world = self.simulator.world
        kernels.values(world, pack(plan, self), window, key_of(seed), first, horizon, self.discount, out)

    def sample(self, soft: Soft, episodes: int, horizon: int, seed: int) -> Played:
        self.spend(episodes * horizon)
        played = room(episodes, horizon, len(self.agents))
        kernels.sample(self.simulator.world, soft, key_of(seed), played)
        return played

    def elites(self, plan: Plan, window: Window, episodes: int, horizon: int, seed: int, count: int) -> Played:
        returns = self.returns(plan, episodes, horizon, seed, window=window)
        return self._record(plan, window, horizon, seed, best(returns, count))

    def record(self, plan: Plan, episodes: int, horizon: int, seed: int) -> Played:
        return self._record(plan, unexplored(len(plan)), horizon, seed, np.arange(episodes))

    def _record(self, plan: Plan, window: Window, horizon: int, seed: int, numbers: NDArray[np.int64]) -> Played:
        """Episodes are functions of their number: the ones that are wanted are simply played again."""
        self.spend(len(numbers) * horizon)
        played = room(len(numbers), horizon, len(self.agents))
        kernels.record(self.simulator.world, pack(plan, self), window, key_of(seed), numbers, played)
        return played


class BatchArena(Arena):
    """Any simulator. It keeps its episodes to itself, so one worker plays at a time."""

    concurrent = False

    def _returns(
        self, plan: Plan, window: Window, horizon: int, seed: int, first: int, out: NDArray[np.float64]
    ) -> None:
        for begin in range(0, len(out), BATCH):
            part = out[begin : begin + BATCH]
            played = self._follow(plan, window, len(part), horizon, seed, first + begin)
            part[:] = self._discounted(played, window.begin)

    def sample(self, soft: Soft, episodes: int, horizon: int, seed: int) -> Played:
        def choose(
            first: int, t: int, seen: NDArray[np.int16], nodes: NDArray[np.int16], actions: NDArray[np.int16]
        ) -> None:
            kernels.sample_batch(soft, key_of(seed), first, t, seen, nodes, actions)

        parts = [
            self._play(choose, min(BATCH, episodes - first), horizon, seed, first)
            for first in range(0, episodes, BATCH)
        ]
        return join(parts)

    def elites(self, plan: Plan, window: Window, episodes: int, horizon: int, seed: int, count: int) -> Played:
        kept = None
        for first in range(0, episodes, BATCH):
            played = self._follow(plan, window, min(BATCH, episodes - first), horizon, seed, first)
            both = played if kept is None else join([kept, played])
            kept = take(both, best(self._discounted(both, window.begin), count))
        return kept if kept is not None else room(0, horizon, len(plan))

    def record(self, plan: Plan, episodes: int, horizon: int, seed: int) -> Played:
        return self._follow(plan, unexplored(len(plan)), episodes, horizon, seed, 0)

    def _discounted(self, played: Played, begin: int) -> NDArray[np.float64]:
        weights = self.discount ** np.arange(played.rewards.shape[1], dtype=np.float64)
        weights[:begin] = 0.0
        return played.rewards @ weights

    def _follow(self, plan: Plan, window: Window, episodes: int, horizon: int, seed: int, first: int) -> Played:
        machines = pack(plan, self)

        def choose(
            first: int, t: int, seen: NDArray[np.int16], nodes: NDArray[np.int16], actions: NDArray[np.int16]
        ) -> None:
            kernels.follow_batch(machines, window, key_of(seed), first, t, seen, nodes, actions)

        return self._play(choose, episodes, horizon, seed, first)

    def _play(self, choose: Choose, episodes: int, horizon: int, seed: int, first: int) -> Played:
        played = room(episodes, horizon, len(self.agents))
        played.rewards[:] = 0.0
        running, nodes = np.ones(episodes, bool), np.zeros((episodes, len(self.agents)), np.int16)
        shown = self.simulator.reset(episodes, batch_seed(seed, first))
        seen = np.full(nodes.shape, NO_OBSERVATION, np.int16) if shown is None else self._checked(shown, running)
        for t in range(horizon):
            self.spend(int(running.sum()))
            choose(first, t, seen, nodes, played.actions[:, t])
            played.observations[:, t], played.nodes[:, t] = seen, nodes
            step = self.simulator.step(played.actions[:, t].astype(np.int64))
            played.rewards[running, t] = np.asarray(step.rewards, np.float64)[running]
            played.lengths[running] = t + 1
            running &= ~np.asarray(step.ended, bool)
            if not running.any():
                break
            seen = self._checked(step.observations, running)
        if not np.all(np.isfinite(played.rewards)):
            raise InputError(f"simulator {self.name}: expected finite rewards, got others")
        return played

    def _checked(self, shown: NDArray[np.integer], running: NDArray[np.bool_]) -> NDArray[np.int16]:
        """Observations within the alphabets; finished episodes see symbol 0, which nobody uses."""
        seen = np.where(running[:, None], np.asarray(shown, np.int64), 0)
        sizes = np.array([len(agent.observations) for agent in self.agents])
        wrong = (seen < 0) | (seen >= sizes)
        if np.any(wrong):
            k, n = (int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"simulator {self.name}: episode {k}, agent {self.agents[n].name}: expected an observation "
                f"from 0 to {sizes[n] - 1}, got {seen[k, n]}"
            )
        return seen.astype(np.int16)


def arena_of(simulator: Simulator, clock: Clock) -> Arena:
    """The fast door to a model, the general one to anything else."""
    return (DenseArena if isinstance(simulator, DenseSimulator) else BatchArena)(simulator, clock)


def room(episodes: int, horizon: int, agents: int) -> Played:
    """Space for episodes."""
    shape = (episodes, horizon, agents)
    return Played(
        np.empty(shape, np.int16),
        np.empty(shape, np.int16),
        np.empty(shape, np.int16),
        np.empty(shape[:2]),
        np.empty(episodes, np.int64),
    )


def join(parts: list[Played]) -> Played:
    """Batches of one horizon as one."""
    return parts[0] if len(parts) == 1 else Played._make(np.concatenate(fields) for fields in zip(*parts, strict=True))


def take(played: Played, numbers: NDArray[np.int64]) -> Played:
    """Some of the episodes."""
    return Played._make(field[numbers] for field in played)


def best(returns: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The numbers of the highest returns, best first."""
    return np.argsort(-returns, kind="stable")[:count]


def batch_seed(seed: int, first: int) -> int:
    """A simulator's seed for the batch that begins with episode `first`."""
    return int(np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)[0] >> np.uint64(33))
