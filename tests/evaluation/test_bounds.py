"""What an exact value may ask for, and how far it may be off: many agents, rows that are off, the smallest numbers."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.evaluation import exact_value, reachable
from decpomdp.evaluation.exact import TeamOnModel, _value
from decpomdp.evaluation.reachable import ReachableChain


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


@pytest.mark.parametrize(("bound", "words"), [("PAIRS", "pairs of state"), ("MOVES", "moves between pairs")])
def test_pairs_that_are_met_are_counted(monkeypatch, bound, words):
    monkeypatch.setattr(reachable, bound, 5000)
    model, team = crowd(5, 50, 2)
    with pytest.raises(dp.InputError, match=f"at most 5000 {words}.*, got more; estimate it from episodes"):
        ReachableChain(model, team, reachable.MOVES)


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
