"""Playing with states and nodes on record, and finding nodes where they are not."""

from itertools import product

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.core import NO_OBSERVATION
from decpomdp.report.playing import filtered, play, recorded


def test_the_played_value_is_the_exact_one():
    model = dp.load("recycling")
    team = dp.Team.uniform(model)
    played = play(model, team, 4000, 60, seed=3)
    returns = (played.rewards * model.discount ** np.arange(60)).sum(axis=1)
    exact = dp.evaluate(team, model).value
    cut = model.discount**60 * np.abs(model.reward).max() / (1 - model.discount)
    assert abs(returns.mean() - exact) < 4 * returns.std() / np.sqrt(len(returns)) + cut


def test_what_is_played_is_possible_and_repeatable():
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller()] * 2)
    played = play(model, team, 20, 12, seed=1)
    assert np.all(played.observations[:, 0] == NO_OBSERVATION)
    own = controller()
    for k, t, n in product(range(20), range(11), range(2)):
        node, action, seen = played.nodes[k, t, n], played.actions[k, t, n], played.observations[k, t + 1, n]
        assert own.action[node, action] == 1
        assert own.transition[node, action, seen, played.nodes[k, t + 1, n]] == 1
    joint = played.actions @ [3, 1]
    assert np.array_equal(played.rewards, model.reward[joint, played.states])
    again = play(model, team, 20, 12, seed=1)
    assert np.array_equal(again.states, played.states)
    assert np.array_equal(again.nodes, played.nodes)


def test_filtering_by_enumeration():
    rng = np.random.default_rng(2)
    made = dp.Controller(
        rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), (3, 2, 2)), None
    )
    seen, done = np.array([[NO_OBSERVATION, 1, 0, 1]]), np.array([[0, 1, 1, 0]])
    found = filtered(made, seen, done)[0]
    for t in range(4):
        weights = np.zeros(3)
        for path in product(range(3), repeat=t + 1):
            p = made.initial[path[0]] * made.action[path[0], done[0, 0]]
            for step in range(t):
                p *= made.transition[path[step], done[0, step], seen[0, step + 1], path[step + 1]]
                p *= made.action[path[step + 1], done[0, step + 1]]
            weights[path[-1]] += p
        assert found[t] == pytest.approx(weights / weights.sum(), abs=1e-12)


def test_filtering_with_a_first_observation_and_an_impossible_action():
    given = dp.Controller([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], np.full((2, 2, 2, 2), 0.5), [[1.0, 0.0], [0.0, 1.0]])
    assert filtered(given, np.array([[1]]), np.array([[1]]))[0, 0].tolist() == [0.0, 1.0]
    assert filtered(given, np.array([[NO_OBSERVATION]]), np.array([[0]]))[0, 0].tolist() == [1.0, 0.0]
    assert filtered(given, np.array([[1]]), np.array([[0]]))[0, 0].tolist() == [0.0, 1.0]  # cannot be: as before


def test_recorded_episodes_are_cut_and_filled_up():
    agents = (dp.Agent("x", ("a", "b"), ("c", "d")),)
    rows = 6
    episodes = dp.Episodes(
        agents, [0, 1, 6], np.array([[-1], [-1], [1], [0], [1], [1]]), np.ones((rows, 1)), np.ones((rows, 1)),
        np.arange(6.0), 0.9,
    )  # fmt: skip
    observations, actions, rewards, lengths = recorded(episodes, 10, 4)
    assert lengths.tolist() == [1, 4]
    assert rewards.tolist() == [[0, 0, 0, 0], [1, 2, 3, 4]]
    assert observations[1, :, 0].tolist() == [-1, 1, 0, 1]
    assert actions[0, :, 0].tolist() == [1, 0, 0, 0]
    assert recorded(episodes, 1, 4)[3].tolist() == [1]
