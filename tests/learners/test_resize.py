"""Updates alone: no other size is tried, whatever it would be worth."""

import numpy as np
import pytest

import decpomdp as dp

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")

MODEL = dp.load("broadcast")
EPISODES = dp.simulate(MODEL, dp.Team.uniform(MODEL), 60, 6, seed=3)


def learned(resize, sweeps=12):
    return dp.learn(EPISODES, dp.Sbpr(truncation=6, sweeps=sweeps, resize=resize, tolerance=0.0), threads=1)


def test_without_it_every_sweep_is_an_update():
    alone, tried = learned(False), learned(True)
    bounds = [np.array([row["bound"] for row in fit.trace]) for fit in (alone, tried)]
    assert np.array_equal(bounds[0][:5], bounds[1][:5])  # before the first trial
    assert bounds[1][-1] > bounds[0][-1]
    assert (np.diff(bounds[0]) >= -1e-9 * np.abs(bounds[0][1:])).all()
    assert [agent.nodes for agent in alone.posterior.agents] == [6, 6]  # the truncation, as it began


def test_it_is_a_truth_value():
    with pytest.raises(dp.InputError, match="resize"):
        dp.Sbpr(resize=1)
