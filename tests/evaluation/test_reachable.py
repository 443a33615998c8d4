"""Only the pairs that are met: the same value as over all pairs."""

import time

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.evaluation import exact, reachable
from decpomdp.evaluation.exact import TeamOnModel, _value, chain_of, exact_value
from decpomdp.evaluation.reachable import ReachableChain, is_deterministic


def test_the_same_value_as_over_all_pairs():
    for horizon in [None, 1, 4]:
        for seed in range(3):
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
    chain = ReachableChain(model, team)
    assert chain.shape[0] < 200_000
    assert exact_value(model, team).error < 1e-6
    assert time.process_time() - begin < 30


def blind(states, observations):
    """One agent who does one thing: everything may follow everything, and every observation is seen."""
    agent = dp.Agent("g", ("a",), [f"o{o}" for o in range(observations)])
    even, seen = np.full((1, states, states), 1 / states), np.full((1, states, observations), 1 / observations)
    names = [str(s) for s in range(states)]
    model = dp.DecPOMDP([agent], names, np.full(states, 1 / states), even, seen, np.ones((1, states)), 0.9)
    return model, dp.Team.uniform(model)


def test_moves_are_counted_once_whatever_is_seen():
    model, team = blind(30, 30)
    chain = ReachableChain(model, team, 1000)
    assert chain.moves.nnz == 900
    assert _value(chain, None).value == pytest.approx(10, rel=1e-12)
    with pytest.raises(dp.InputError, match="at most 899 moves between pairs"):
        ReachableChain(model, team, 899)


def test_dense_models_are_followed_a_few_pairs_at_a_time(monkeypatch):
    """A block lays out a number for every pair, following state and observation."""
    blocks, onward = [], ReachableChain._successors
    monkeypatch.setattr(
        ReachableChain, "_successors", lambda self, pairs: blocks.append(len(pairs)) or onward(self, pairs)
    )
    monkeypatch.setattr(reachable, "CELLS", 30_000)
    monkeypatch.setattr(reachable, "LOOSE", 20_000)
    assert exact_value(*blind(50, 40)).value == pytest.approx(10, rel=1e-12)
    assert blocks == [15, 15, 15, 5]
    monkeypatch.setattr(reachable, "CELLS", 1000)  # less than one pair needs
    assert exact_value(*blind(50, 40)).value == pytest.approx(10, rel=1e-12)
    assert set(blocks[4:]) == {1}


@pytest.mark.parametrize("bound", ["PAIRS", "MOVES"])
@pytest.mark.parametrize("horizon", [None, 3])
def test_all_pairs_where_too_many_are_met(monkeypatch, bound, horizon):
    rng = np.random.default_rng(0)
    model = making.model(rng, 3, (2, 2), (2, 2))
    team = making.team(rng, model, 3).decided()
    met = exact_value(model, team, horizon)
    monkeypatch.setattr(reachable, bound, 4)
    assert isinstance(chain_of(model, team), TeamOnModel)
    assert exact_value(model, team, horizon).value == pytest.approx(met.value, rel=1e-12)
    monkeypatch.setattr(exact, "LARGEST", 20)
    with pytest.raises(dp.InputError, match=r"exact value: expected at most 4 .*, got more"):
        exact_value(model, team, horizon)
