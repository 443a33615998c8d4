"""Values from fresh episodes: how many steps are played."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.evaluation.offpolicy.support import facts_of


class Pennies:
    """One step decides; whoever plays on is paid again."""

    name, repeatable = "pennies", True
    agents = (dp.Agent("ann", ("heads", "tails"), ("shown",)),)

    def __init__(self, discount, **more):
        self.discount = discount
        self.__dict__.update(more)

    def reset(self, episodes, seed):
        return None

    def step(self, actions):
        return dp.Step(np.zeros_like(actions), np.ones(len(actions)), np.zeros(len(actions), bool))


def team():
    return dp.Team.uniform(Pennies(1.0))


def test_a_simulator_may_say_how_long_its_episodes_are():
    told = dp.evaluate(team(), Pennies(1.0, horizon=7))
    assert (told.value, told.horizon) == (7.0, 7)
    assert dp.evaluate(team(), Pennies(0.5, horizon=7)).horizon == 7
    assert dp.evaluate(team(), Pennies(0.5, horizon=100)).horizon == 14  # the rest is worth next to nothing
    assert dp.evaluate(team(), Pennies(1.0, horizon=7), horizon=3).value == 3.0


def test_without_either_it_has_to_be_told():
    with pytest.raises(dp.InputError, match="because the discount is 1"):
        dp.evaluate(team(), Pennies(1.0))
    with pytest.raises(dp.InputError, match="horizon of the simulator: expected a whole number"):
        dp.evaluate(team(), Pennies(1.0, horizon="long"))


def test_facts_of_episodes():
    episodes = dp.simulate("recycling", episodes=50, horizon=3, seed=1)
    told = facts_of(episodes)
    assert told["lengths"] == {"mean": 3.0, "min": 3, "max": 3}
    assert told["returns"]["mean"] == float(episodes.returns().mean())
    assert facts_of(dp.simulate("recycling", episodes=1, horizon=1))["returns"]["standard_error"] is None
