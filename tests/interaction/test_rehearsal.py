"""A rehearsal compiles what the search needs without keeping a slow simulator busy."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.engines.clock import Clock
from decpomdp.interaction.arena_batch import BatchArena
from decpomdp.interaction.arena_dense import DenseArena
from decpomdp.interaction.search.method import search
from decpomdp.interaction.search.rehearsal import Stage, rehearse
from decpomdp.interaction.search.settings import SearchSettings
from decpomdp.interaction.search.sizes import sizes_for, tiny
from decpomdp.rollouts import DenseSimulator

SMALLEST = tiny(sizes_for(SearchSettings(), 0.9, None, 0.0))


class Counted:
    """Dec-Tiger as a simulator that counts its beginnings."""

    name, discount, repeatable = "counted", 0.9, True

    def __init__(self):
        self.inner, self.resets = DenseSimulator(dp.load("dectiger")), 0
        self.agents = self.inner.agents

    def reset(self, episodes, seed):
        self.resets += 1
        return self.inner.reset(episodes, seed)

    def step(self, actions):
        return self.inner.step(actions)


@pytest.mark.parametrize("shown", [False, True])
def test_a_simulator_is_left_alone(shown):
    simulator = Counted()
    rehearse(BatchArena(simulator, Clock(None)), SMALLEST, shown)
    assert simulator.resets == 0


def test_a_model_plays_itself():
    arena = DenseArena(DenseSimulator(dp.load("dectiger")), Clock(None))
    rehearse(arena, SMALLEST, False)
    assert arena.steps > 0


def test_nothing_happens_on_the_stage():
    stage = Stage(Counted(), shown=True)
    assert stage.reset(3, 0).tolist() == [[0, 0]] * 3
    first, second = (stage.step(np.ones((3, 2), np.int64)) for _ in range(2))
    assert first.observations.tolist() == [[0, 0]] * 3
    assert not first.ended.any()
    assert second.rewards.tolist() == [2.0, 3.0, 4.0]
    assert Stage(Counted(), shown=False).reset(3, 0) is None


def test_a_search_by_the_clock_still_learns():
    fit = search(Counted(), time_limit=1.0, seed=0)
    assert fit.stopped == "time limit"
    assert fit.trace[-1]["steps"] > 0
