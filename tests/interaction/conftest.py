"""Small worlds without a model: what the search has to cope with."""

import numpy as np
import pytest

from decpomdp.core import Agent, Step
from decpomdp.core.run import unlimited
from decpomdp.io.checkpoints import decode, encode
from decpomdp.io.team import team_to_json
from simulators import Corridor


class Echo:
    """Every agent is shown a bit and must say it at the next step; the bit before the first action counts too."""

    discount = 0.5
    name = "echo"
    repeatable = True
    agents = tuple(Agent(f"agent{n}", ("0", "1"), ("0", "1")) for n in range(3))

    def reset(self, episodes, seed):
        self.chance = np.random.default_rng(seed)
        self.bits = self.chance.integers(0, 2, (episodes, 3))
        return self.bits.copy()

    def step(self, actions):
        rewards = (actions == self.bits).all(axis=1) * 1.0
        self.bits = self.chance.integers(0, 2, self.bits.shape)
        return Step(self.bits.copy(), rewards, np.zeros(len(actions), bool))


@pytest.fixture
def corridor():
    return Corridor


@pytest.fixture
def echo():
    return Echo()


@pytest.fixture
def resumed():
    """Runs a method whole, and again with its state encoded and decoded before the given steps: the same bytes."""

    def check(method, places, steps):
        outcomes = []
        for cuts in ((), places):
            now, rows, state = unlimited(), [], method.init(unlimited())
            for number in range(steps):
                if number in cuts:
                    state = decode(encode(state), method.state)
                state, row = method.step(state, now)
                rows.append(repr(row))
                if state.stopped:
                    break
            outcomes.append((team_to_json(method.result(state)[0].team), rows, state.steps, state.iterations))
        assert outcomes[0] == outcomes[1]

    return check
