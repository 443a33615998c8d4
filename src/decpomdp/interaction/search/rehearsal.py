"""Everything that a search does, once and as small as can be, so that what is not compiled yet does not seem slow.

A compiled model is rehearsed with itself. Any other simulator may take seconds to begin an episode (traffic, robots),
and would be kept busy before the clock begins to count: in its place there is a stage on which nothing happens.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Simulator
from decpomdp.core.simulator import Step
from decpomdp.interaction.arena_batch import BatchArena
from decpomdp.interaction.players import Arena
from decpomdp.interaction.search.moves import graft
from decpomdp.interaction.search.sizes import Sizes
from decpomdp.interaction.search.starts import entries
from decpomdp.interaction.search.trial import trial


class Stage:
    """A simulator of the same agents: everybody always sees their first observation, and only the hour pays."""

    def __init__(self, simulator: Simulator, shown: bool) -> None:
        self.agents, self.discount, self.name = simulator.agents, simulator.discount, "rehearsal"
        self.repeatable, self.shown, self.hour = simulator.repeatable, shown, 0

    def reset(self, episodes: int, seed: int) -> NDArray[np.int64] | None:
        """All hours are the first one again."""
        self.hour = 0
        return np.zeros((episodes, len(self.agents)), np.int64) if self.shown else None

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Nobody's action matters."""
        self.hour += 1
        return Step(np.zeros_like(actions), np.arange(len(actions)) + float(self.hour), np.zeros(len(actions), bool))


def rehearse(arena: Arena, smallest: Sizes, shown: bool) -> None:
    """A memory, a chain, a graft, a trial."""
    played = BatchArena(Stage(arena.simulator, shown), arena.clock) if isinstance(arena, BatchArena) else arena
    rng = np.random.default_rng(0)
    for _, work in entries(played, smallest)[:2]:
        plan = work(played, rng)
    candidate = graft(played, plan, smallest, rng)
    trial(played, plan, candidate, smallest.stages, 0)
