"""Small worlds without a model: what the search has to cope with."""

import numpy as np
import pytest

from decpomdp.core import Agent, Step
from decpomdp.core.run import unlimited
from decpomdp.io.checkpoints import decode, encode
from decpomdp.io.team import team_to_json


class Corridor:
    """Agents in a corridor of four cells; it ends when all are at the right end. Each sees its own cell."""

    discount = 0.9
    name = "corridor"

    def __init__(self, agents=2, repeatable=True, noise=0.0, first=True):
        actions = [("left", "right"), ("left", "right", "stay")]
        self.agents = tuple(Agent(f"agent{n}", actions[n % 2], tuple("0123")) for n in range(agents))
        self.repeatable, self.noise, self.first = repeatable, noise, first
        self.chance = np.random.default_rng(12345)

    def reset(self, episodes, seed):
        if self.repeatable:
            self.chance = np.random.default_rng(seed)
        self.cells = self.chance.integers(0, 3, (episodes, len(self.agents)))
        return self.cells.copy() if self.first else None

    def step(self, actions):
        self.cells = np.clip(self.cells + np.array([-1, 1, 0])[actions], 0, 3)
        ended = (self.cells == 3).all(axis=1)
        noise = self.noise * self.chance.normal(size=len(actions))
        return Step(self.cells.copy(), np.where(ended, 10.0, -1.0) + noise, ended)


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
