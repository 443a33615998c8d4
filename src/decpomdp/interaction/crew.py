"""Who does the work: rounds of pieces on the machine's threads, with the steps shared out and counted.

A round has a fixed number of pieces. Each gets its own arena, its own random numbers (from the seed, the number of the
round and its own number) and its own share of the steps that are left. What a piece does depends on nothing else, so
the number of threads changes only how long it takes. A piece that runs out of time or steps comes back as None.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from decpomdp.core import Simulator
from decpomdp.engines import threads as engine
from decpomdp.engines.clock import Clock, Finished
from decpomdp.interaction.arena_batch import BatchArena
from decpomdp.interaction.arena_dense import DenseArena
from decpomdp.interaction.players import Arena
from decpomdp.rollouts import DenseSimulator

Result = TypeVar("Result")
Work = Callable[[int, Arena, np.random.Generator], Result]


class Crew:
    """The workers of one search."""

    def __init__(self, simulator: Simulator, clock: Clock, limit: int | None, seed: int, threads: int | None) -> None:
        self.arena = arena_of(simulator, clock)  # for looking at the problem; nobody plays in it
        self.clock, self.limit, self.seed = clock, limit, seed
        many = engine.default_threads() if threads is None else max(1, threads)
        self.threads = many if self.arena.concurrent else 1
        self._done, self.rounds = 0, 0
        self._at_work: list[Arena] = []

    @property
    def steps(self) -> int:
        """Joint steps taken so far."""
        return self._done + sum(arena.steps for arena in self._at_work)

    def go_on(self, rounds: int, steps: int) -> None:
        """As if so much had been done already."""
        self.rounds, self._done = rounds, steps

    def progress(self) -> float:
        """Share of the limits that is used up."""
        return max(self.clock.share(), self.steps / self.limit if self.limit else 0.0)

    def round(self, pieces: int, work: Work[Result]) -> list[Result | None]:
        """work(0, ...), work(1, ...), ... in order; None where the time or the steps ran out."""
        self.rounds += 1
        self._at_work = [self.arena.fork(self._left() / pieces) for _ in range(pieces)]

        def piece(k: int) -> Result | None:
            try:
                return work(k, self._at_work[k], np.random.default_rng([self.seed, self.rounds, k]))
            except Finished:
                return None

        results = engine.run(piece, pieces, self.threads)
        self._count()
        return results

    def alone(self, work: Callable[[Arena], Result]) -> Result:
        """A piece of work between rounds; raises Finished when it cannot be done any more."""
        self._at_work = [self.arena.fork(self._left())]
        try:
            return work(self._at_work[0])
        finally:
            self._count()

    def _left(self) -> float:
        return np.inf if self.limit is None else max(0, self.limit - self._done)

    def _count(self) -> None:
        self._done, self._at_work = self.steps, []


def arena_of(simulator: Simulator, clock: Clock) -> Arena:
    """The fast door to a model, the general one to anything else."""
    return DenseArena(simulator, clock) if isinstance(simulator, DenseSimulator) else BatchArena(simulator, clock)
