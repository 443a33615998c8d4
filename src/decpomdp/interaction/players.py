"""The only door between the search and the problem: play machines, look at returns and at what each agent saw and did.

A dense model is played by compiled kernels, as a black box: nobody here reads its tables. Any other simulator is
played through its own `reset` and `step`, a batch at a time. Both count the joint steps they take and stop with
`Finished` when time or steps have run out, whatever the search is doing at that moment.
"""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError, Simulator
from decpomdp.engines.clock import Clock, Finished
from decpomdp.interaction.search.machines import Plan
from decpomdp.kernels import machines as kernels
from decpomdp.kernels.machines import Played, Soft, Window

PIECE = 4000  # episodes between two looks at the clock
LARGEST_REWARD = 1e100  # of a step: returns are squared, added up and divided by one another
BATCH = 1000  # episodes that are recorded at a time, or that a simulator plays side by side


def check_rewards(name: str, rewards: NDArray[np.float64]) -> None:
    """Refuse rewards that are no numbers, or so large that the squares of returns are none."""
    if not np.all(np.isfinite(rewards)):
        raise InputError(f"simulator {name}: expected finite rewards, got others")
    largest = float(np.abs(rewards).max(initial=0.0))
    if largest > LARGEST_REWARD:
        limits = f"{-LARGEST_REWARD:g} to {LARGEST_REWARD:g}"
        raise InputError(f"problem {name}: expected rewards from {limits} for learning by playing, got {largest:g}")


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
