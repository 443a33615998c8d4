"""Agents whose actions depend on each other beyond their own histories."""

import numpy as np
import pytest
from worlds.logs import small_log

import decpomdp as dp
from decpomdp.filtering.filter import log_likelihood
from decpomdp.interaction.logs.dependence import dependent, residuals


def coins(seen, episodes=200, steps=10, mixed=False):
    """Two agents of two actions that see nothing. Both name a hidden coin with probability `seen`, else any side.

    If `mixed`, the coin is that of the episode, which is also how two behaviours in one log look.
    """
    rng = np.random.default_rng(0)
    coin = rng.integers(0, 2, (episodes, 1 if mixed else steps, 1))
    did = np.where(rng.random((episodes, steps, 2)) < seen, coin, rng.integers(0, 2, (episodes, steps, 2)))
    shown = np.zeros((episodes, steps, 2))
    shown[:, 0] = -1
    flat = shown.reshape(-1, 2), did.reshape(-1, 2), np.full((episodes * steps, 2), np.nan), np.zeros(episodes * steps)
    agents = tuple(dp.Agent(name, ("0", "1"), ("0",)) for name in "xy")
    return dp.Episodes(agents, np.arange(0, episodes * steps + 1, steps), *flat, discount=0.9)


def test_a_demonstrator_that_sees_more_is_noticed():
    log = coins(seen=0.6)
    assert dependent(log, dp.Team.uniform(log)) == pytest.approx(0.36, abs=0.06)


@pytest.mark.parametrize("log", [coins(seen=0.0), coins(seen=0.6, mixed=True)])
def test_independent_agents_and_mixed_behaviours_are_not(log):
    assert dependent(log, dp.Team.uniform(log)) == 0


@pytest.mark.parametrize("first", [False, True])
def test_residuals_are_those_of_the_filter(first):
    log = small_log(first=first, episodes=30)
    team = dp.learn(log, dp.Sbpr(utility="equal", judge=False, truncation=3), seed=1).team
    last = log.offsets[1:] - 1
    total = np.zeros(log.count)
    for n, controller in enumerate(team.controllers):
        left = residuals(log, n, controller)
        for k in range(log.count):
            for t in range(log.lengths[k]):
                total[k] += np.log(1 - left[k, t, log.actions[log.offsets[k] + t, n]])
    np.testing.assert_allclose(total, log_likelihood(log, team)[last], rtol=1e-6)
