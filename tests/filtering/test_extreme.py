"""The filter with probabilities of 1e-300 and with millions of factors, against sixty digits."""

import math

import numpy as np
import pytest
from oracles import decimals, making

from decpomdp.core import Agent, Controller, Episodes, Team
from decpomdp.filtering.filter import cumulated, log_likelihood


def logged(agents, actions, seen):
    seen = np.array(seen)
    seen[0] = -1
    rows = len(actions)
    return Episodes(agents, np.array([0, rows]), seen, actions, np.full(actions.shape, 0.5), np.ones(rows), 0.9)


def test_rare_actions_and_rare_moves():
    for steps in [3, 400]:
        for rare in [1e-300, 1e-100, 1e-12]:
            rng = np.random.default_rng(steps)
            agents = (Agent("x", ("a", "b"), ("o", "p")),)
            moves = np.where(rng.random((3, 2, 2, 3)) < 0.3, rare, making.rows(rng, 3, 2, 2, 3))
            moves[..., 0] = 1 - moves[..., 1:].sum(axis=-1)
            controller = Controller(
                np.array([1.0, rare, rare]), np.array([[1.0, rare], [rare, 1.0], [0.5, 0.5]]), np.abs(moves)
            )
            episodes = logged(agents, rng.integers(0, 2, (steps, 1)), rng.integers(0, 2, (steps, 1)))
            got = log_likelihood(episodes, Team.of(episodes, [controller]))
            parts = (controller.initial, controller.action, controller.transition)
            wanted = decimals.prefix_logs(parts, episodes.actions[:, 0], episodes.observations[:, 0])
            assert got == pytest.approx(np.array(wanted, float), rel=1e-13, abs=1e-14 * steps)


def test_sums_of_four_million_logs():
    """10,000 steps of 400 agents: a sum of three millions, right to 1e-12 of itself, so weights to 1e-6."""
    rng = np.random.default_rng(0)
    agents = tuple(Agent(f"x{n}", ("a",), ("o",)) for n in range(400))
    logs = np.log(rng.uniform(0.2, 1.0, (10_000, 400)))
    episodes = logged(agents, np.zeros(logs.shape, int), np.zeros(logs.shape, int))
    found = cumulated(logs, episodes)
    assert abs(found[-1] - math.fsum(logs.ravel())) < 1e-6
    assert found[-1] < -1_000_000
