"""Only the pairs that are met: the same value as over all pairs, many agents, huge rewards elsewhere."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.evaluation import exact, exact_value, reachable
from decpomdp.evaluation.exact import TeamOnModel, _value, chain_of
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


def crowd(agents, nodes, observations=1, discount=0.9):
    """Agents that do one thing, and walk through their nodes by what they see."""
    rng = np.random.default_rng(0)
    names = [dp.Agent(f"g{n}", ("a",), tuple(map(str, range(observations)))) for n in range(agents)]
    seen = observations**agents
    model = dp.DecPOMDP(names, ["s"], [1.0], [[[1.0]]], np.full((1, 1, seen), 1 / seen), [[1.0]], discount)
    walks = [
        dp.Controller.deterministic([0] * nodes, rng.integers(nodes, size=(nodes, observations)), 1)
        for _ in range(agents)
    ]
    return model, dp.Team.of(model, walks)


def test_more_agents_than_numpy_has_axes():
    for horizon in [None, 5]:
        model, team = crowd(70, 1)
        assert exact_value(model, team, horizon).value == pytest.approx(10 if horizon is None else 4.0951)
        assert exact_value(model, dp.Team.uniform(model)).value == pytest.approx(10)


def test_more_pairs_than_numbers_hold_are_refused():
    for horizon in [None, 5]:
        with pytest.raises(dp.InputError, match=r"at most \d+ pairs of state and joint node, got more"):
            exact_value(*crowd(10, 200), horizon)


def test_rewards_in_nodes_that_nobody_comes_to_do_not_count():
    for horizon in [None, 1000]:
        for huge in [1e10, 1e40]:
            model = dp.DecPOMDP(
                [dp.Agent("g", ("a", "b"), ("o",))], ["s", "t"], [1, 0], np.full((2, 2, 2), 0.5), np.ones((2, 2, 1)),
                [[1, 1], [huge, huge]], 0.9,
            )  # fmt: skip
            moves = np.tile([0.5, 0, 0.5], (3, 2, 1, 1))
            team = dp.Team.of(model, [dp.Controller([0.5, 0, 0.5], [[1, 0], [0, 1], [1, 0]], moves)])
            found = exact_value(model, team, horizon)
            assert found.sure
            assert found.value == pytest.approx(10, rel=1e-12)


def test_stochastic_teams_that_are_followed_have_the_same_value():
    for seed in range(2):
        from oracles import making

        rng = np.random.default_rng(seed)
        model = making.model(rng, 3, (2, 3), (2, 2), sparse=True)
        team = making.team(rng, model, (2, 3), sparse=True)
        for horizon in (None, 3):
            all_pairs, met = (_value(chain(model, team), horizon).value for chain in (TeamOnModel, ReachableChain))
            assert met == pytest.approx(all_pairs, rel=1e-12)
        crowded = making.team(rng, model, (2, 3))
        assert ReachableChain(model, crowded).expected == pytest.approx(
            TeamOnModel(model, crowded).expected.reshape(-1, 1), 1e-12
        )
