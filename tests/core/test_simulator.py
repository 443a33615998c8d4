"""Who counts as a simulator."""

import numpy as np

from decpomdp.core import Agent, Simulator, Step


class Coin:
    agents = (Agent("a", ["guess"], ["heads", "tails"]),)
    discount, name, repeatable = 1.0, "coin", True

    def reset(self, episodes, seed):
        return None

    def step(self, actions):
        return Step(np.zeros_like(actions), np.zeros(len(actions)), np.ones(len(actions), bool))


def test_what_has_the_parts_is_a_simulator():
    assert isinstance(Coin(), Simulator)
    assert Coin().step(np.zeros((3, 1), int)).ended.all()


def test_what_lacks_one_is_not():
    for part in ("agents", "discount", "name", "repeatable", "reset", "step"):
        kept = {name: value for name, value in vars(Coin).items() if name != part and not name.startswith("__")}
        assert not isinstance(type("Part", (), kept)(), Simulator), part
