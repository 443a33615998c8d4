"""A team acting step by step does what it does in rollouts."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.rollouts.runner import alias_rows, pick_entry, random_bits, stream_key


@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_actions_as_in_collected_episodes(sparse):
    rng = np.random.default_rng(4)
    model = making.model(rng, 3, (2, 3, 2), (3, 1, 2))
    team = making.team(rng, model, (3, 1, 4), sparse)
    episodes = dp.simulate(model, team, 6, 15, seed=2**64 - 1)
    runner = dp.TeamRunner(team, seed=2**64 - 1)
    for k in range(6):
        for t in range(15):
            row = k * 15 + t
            seen = None if t == 0 else episodes.observations[row]
            assert runner.act(seen) == episodes.actions[row].tolist()
            assert runner.probabilities == pytest.approx(episodes.behaviour[row], rel=1e-6)
        runner.reset()
    runner.reset(2)
    assert runner.act() == episodes.actions[30].tolist()


def test_first_observations_count_where_the_controller_minds_them():
    given = np.array([[0.0, 1.0], [1.0, 0.0]])
    minds = dp.Controller([1.0, 0.0], np.eye(2), np.tile(np.eye(2)[:, None, None], (1, 2, 2, 1)), given)
    agent = dp.Agent("x", ("a", "b"), ("o", "p"))
    runner = dp.TeamRunner(dp.Team((agent,), (minds,), 0.9))
    assert runner.act([0]) == [1]
    runner.reset()
    assert runner.act([1]) == [0]
    runner.reset()
    assert runner.act() == [0]
    ignores = dp.Controller(minds.initial, minds.action, minds.transition)
    assert dp.TeamRunner(dp.Team((agent,), (ignores,), 0.9)).act([0]) == [0]


def test_names_in_names_out_and_who_is_left_out_stays():
    rng = np.random.default_rng(0)
    model = making.model(rng, 2, (2, 2), (2, 2))
    team = making.team(rng, model, 3)
    by_list, by_name = dp.TeamRunner(team, seed=3), dp.TeamRunner(team, seed=3)
    assert list(by_name.act({"agent1": None, "agent2": None}).values()) == by_list.act()
    before = by_name.nodes
    assert by_name.act({"agent2": 1}) == {"agent2": by_list.act([0, 1])[1]}
    assert by_name.nodes[0] == before[0]
    assert by_name.nodes[1] == by_list.nodes[1]


def test_minus_one_is_nothing_seen_as_in_episodes():
    team = dp.Team.uniform(dp.load("dectiger"))
    actions = dp.TeamRunner(team, seed=3).act()
    for nothing in ([-1, -1], [None, -1], np.array([-1, -1])):
        assert dp.TeamRunner(team, seed=3).act(nothing) == actions
    with pytest.raises(InputError, match="observation of agent1: expected a whole number from -1 to 1, got -2"):
        dp.TeamRunner(team).act([-2, 0])


def test_mistakes_are_named_and_nobody_moves():
    runner = dp.TeamRunner(dp.Team.uniform(dp.load("dectiger")))
    assert runner.nodes == (-1, -1)
    assert np.isnan(runner.probabilities).all()
    runner.act()
    before = (runner.nodes, runner.step)
    for wrong, message in (
        ([0, 2], "observation of agent2: expected a whole number from 0 to 1, got 2"),
        ([0], "expected one per agent, 2, got 1"),
        (None, "observation of agent1"),
        ([-1, 0], "observation of agent1: expected a whole number from 0 to 1, got -1"),
        ({"agent1": 0, "nobody": 0}, "expected agents among agent1, agent2, got 'nobody'"),
    ):
        with pytest.raises(InputError, match=message):
            runner.act(wrong)
        assert (runner.nodes, runner.step) == before
    with pytest.raises(InputError, match="seed"):
        dp.TeamRunner(runner.team, seed=-1)


def test_draws_have_the_right_frequencies():
    chances = np.array([0.5, 0.0, 0.2, 0.3])
    (row,) = alias_rows(chances[None])
    key = stream_key(5, 0)
    counts = np.bincount([pick_entry(row, random_bits(key, i)) for i in range(20_000)], minlength=4)
    assert counts[1] == 0
    assert counts / 20_000 == pytest.approx(chances, abs=5 * 0.5 / np.sqrt(20_000))  # five standard errors at most
