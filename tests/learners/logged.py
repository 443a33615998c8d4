"""Logged episodes to learn from, and the mark of fits that may warn of what such data lack."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core import Agent, Episodes, Team

quiet = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")


def logged(problem="broadcast", count=400, horizon=8, seed=1, team=None):
    model = dp.load(problem)
    return model, dp.simulate(model, team or Team.uniform(model), count, horizon, seed=seed)


def fitted(episodes, prior="stick-breaking", begin="best", *, settings=None, **inputs):
    """Learn from episodes: `begin` is a start or a team, `settings` are fields of `Sbpr`."""
    team = None if isinstance(begin, str) else begin
    method = dp.Sbpr(prior=prior, start="best" if team is not None else begin, **(settings or {}))
    return dp.learn(episodes, method, begin=team, **inputs)


def alternating(count=500, horizon=4):
    """Random actions; rewarded is a, b, a, b: one node cannot do that, two can."""
    rng = np.random.default_rng(0)
    did = rng.integers(0, 2, count * horizon)
    return Episodes(
        (Agent("x", ("a", "b"), ("o",)),),
        np.arange(count + 1) * horizon,
        np.where(np.arange(count * horizon) % horizon == 0, -1, 0)[:, None],
        did[:, None],
        np.full((count * horizon, 1), 0.5),
        (did == np.arange(count * horizon) % 2).astype(float),
        0.9,
    )
