"""The fast door: a model played by kernels, each episode a function of the seed and its number."""

import numpy as np
from numpy.typing import NDArray

from decpomdp.engines.clock import Clock
from decpomdp.interaction.players import Arena, check_rewards, unexplored
from decpomdp.interaction.search.machines import Plan, pack
from decpomdp.interaction.played import best, room
from decpomdp.kernels import machines as kernels
from decpomdp.kernels.machines import Played, Soft, Window
from decpomdp.kernels.sampling import key_of
from decpomdp.rollouts.dense import DenseSimulator


class DenseArena(Arena):
    """A model, played by kernels that release the interpreter: workers do not get into each other's way."""

    concurrent = True
    simulator: DenseSimulator

    def __init__(self, simulator: DenseSimulator, clock: Clock, limit: float = np.inf) -> None:
        super().__init__(simulator, clock, limit)
        check_rewards(self.name, simulator.model.reward)

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
