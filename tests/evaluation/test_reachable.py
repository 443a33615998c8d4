"""Only the pairs that are met: the same value as over all pairs."""

import time

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.evaluation.exact import TeamOnModel, _value, chain_of, exact_value
from decpomdp.evaluation.reachable import MetPairs, is_deterministic


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("horizon", [None, 1, 4])
def test_the_same_value_as_over_all_pairs(seed, horizon):
    rng = np.random.default_rng(seed)
    model = making.model(rng, 3, *(((2, 3), (2, 2)) if seed % 2 else ((2, 2, 2), (2, 1, 2))))
    team = making.team(rng, model, 3).decided()
    assert is_deterministic(team)
    assert exact_value(model, team, horizon).value == pytest.approx(
        _value(TeamOnModel(model, team), horizon).value, rel=1e-10, abs=1e-10
    )


def test_stochastic_teams_are_not_deterministic():
    model = dp.load("dectiger")
    assert not is_deterministic(dp.Team.uniform(model))
    assert isinstance(chain_of(model, dp.Team.uniform(model)), TeamOnModel)


@pytest.mark.slow
def test_large_machines_take_little_time():
    """Mars with two machines of 100 nodes: 2.6 million pairs, of which few are met."""
    rng = np.random.default_rng(0)
    model = dp.load("marsrovers")
    machines = [
        dp.Controller.deterministic(rng.integers(6, size=100), rng.integers(100, size=(100, 8)), 6) for _ in range(2)
    ]
    team = dp.Team(model.agents, tuple(machines), 0.9)
    begin = time.process_time()
    chain = MetPairs(model, team)
    assert chain.shape[0] < 200_000
    assert exact_value(model, team).error < 1e-6
    assert time.process_time() - begin < 30
