"""Simulators for tests: a corridor without a model, and a model as a plain simulator."""

import time

import numpy as np

import decpomdp as dp
from decpomdp.core import Agent, Step


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


class Uncompiled:
    """Dec-Tiger as a simulator without compiled code, which may be slow; counts the episodes that were begun."""

    repeatable = True

    def __init__(self, pause=0.0, piece=None):
        self.inner, self.pause, self.played = dp.DenseSimulator("dectiger"), pause, 0
        self.name, self.agents, self.discount = self.inner.name, self.inner.agents, self.inner.discount
        if piece is not None:
            self.piece = piece

    def reset(self, episodes, seed):
        self.played += episodes
        return self.inner.reset(episodes, seed)

    def step(self, actions):
        time.sleep(self.pause)
        return self.inner.step(actions)
