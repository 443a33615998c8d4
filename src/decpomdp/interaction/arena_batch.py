"""The general door: any simulator, through its own `reset` and `step`.

A simulator that cannot play many episodes at a time says how many by a member `side_by_side`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Simulator
from decpomdp.engines.clock import Clock
from decpomdp.interaction.played import best, join, room, take
from decpomdp.interaction.players import BATCH, Arena, check_rewards, unexplored
from decpomdp.interaction.search.machines import Plan, pack
from decpomdp.kernels import machines as kernels
from decpomdp.kernels.machines import Played, Soft, Window
from decpomdp.kernels.sampling import key_of
from decpomdp.rollouts.batch import begun, stepped

Batch = NDArray[np.int16]  # [k, n]
Choose = Callable[
    [int, int, Batch, Batch, Batch], None
]  # (first episode, t, seen, nodes, actions): changes the last two


class BatchArena(Arena):
    """Any simulator. It keeps its episodes to itself, so one worker plays at a time."""

    concurrent = False

    def __init__(self, simulator: Simulator, clock: Clock, limit: float = np.inf) -> None:
        super().__init__(simulator, clock, limit)
        self.batch = min(BATCH, int(getattr(self.simulator, "side_by_side", BATCH)))

    def _returns(
        self, plan: Plan, window: Window, horizon: int, seed: int, first: int, out: NDArray[np.float64]
    ) -> None:
        for begin, count in self._batches(len(out)):
            played = self._follow(plan, window, count, horizon, seed, first + begin)
            out[begin : begin + count] = self._discounted(played, window.begin)

    def sample(self, soft: Soft, episodes: int, horizon: int, seed: int) -> Played:
        def choose(first: int, t: int, seen: Batch, nodes: Batch, actions: Batch) -> None:
            kernels.sample_batch(soft, key_of(seed), first, t, seen, nodes, actions)

        return join([self._play(choose, count, horizon, seed, first) for first, count in self._batches(episodes)])

    def elites(self, plan: Plan, window: Window, episodes: int, horizon: int, seed: int, count: int) -> Played:
        kept = None
        for first, many in self._batches(episodes):
            played = self._follow(plan, window, many, horizon, seed, first)
            both = played if kept is None else join([kept, played])
            kept = take(both, best(self._discounted(both, window.begin), count))
        return kept if kept is not None else room(0, horizon, len(plan))

    def record(self, plan: Plan, episodes: int, horizon: int, seed: int) -> Played:
        alone = unexplored(len(plan))
        parts = [self._follow(plan, alone, count, horizon, seed, first) for first, count in self._batches(episodes)]
        return join(parts)

    def _batches(self, episodes: int) -> Iterator[tuple[int, int]]:
        """First episode and number of episodes of every batch that is played side by side."""
        return ((first, min(self.batch, episodes - first)) for first in range(0, episodes, self.batch))

    def _discounted(self, played: Played, begin: int) -> NDArray[np.float64]:
        weights = self.discount ** np.arange(played.rewards.shape[1], dtype=np.float64)
        weights[:begin] = 0.0
        return played.rewards @ weights

    def _follow(self, plan: Plan, window: Window, episodes: int, horizon: int, seed: int, first: int) -> Played:
        machines = pack(plan, self)

        def choose(first: int, t: int, seen: Batch, nodes: Batch, actions: Batch) -> None:
            kernels.follow_batch(machines, window, key_of(seed), first, t, seen, nodes, actions)

        return self._play(choose, episodes, horizon, seed, first)

    def _play(self, choose: Choose, episodes: int, horizon: int, seed: int, first: int) -> Played:
        played = room(episodes, horizon, len(self.agents))
        played.rewards[:] = 0.0
        running, nodes = np.ones(episodes, bool), np.zeros((episodes, len(self.agents)), np.int16)
        seen = begun(self.simulator, episodes, batch_seed(seed, first))
        for t in range(horizon):
            self.spend(int(running.sum()))
            choose(first, t, seen, nodes, played.actions[:, t])
            played.observations[:, t], played.nodes[:, t] = seen, nodes
            seen, played.rewards[:, t], ended = stepped(self.simulator, played.actions[:, t], running)
            played.lengths[running] = t + 1
            running &= ~ended
            if not running.any():
                break
        check_rewards(self.name, played.rewards)
        return played


def batch_seed(seed: int, first: int) -> int:
    """A simulator's seed for the batch that begins with episode `first`."""
    return int(np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)[0] >> np.uint64(33))
