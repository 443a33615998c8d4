"""Controllers and teams: what they may hold, exploring copies, deterministic tables, the problems that teams fit."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import making

from decpomdp.core import Controller, InputError, Team


def controller(nodes=3, actions=2, observations=4, seed=0):
    return making.controller(np.random.default_rng(seed), nodes, actions, observations, first=True)


def test_exploring_mixes_in_a_uniform_action():
    for rate in [0, 0.3, 1.0, np.float32(0.5), np.array(0.5), [0, 0.5, 1], np.array([0.1, 0.2, 0.3])]:
        held, mixed = controller(), controller().exploring(rate)
        for i, share in enumerate(np.broadcast_to(rate, 3)):
            for a in range(2):
                assert mixed.action[i, a] == pytest.approx((1 - share) * held.action[i, a] + share / 2, abs=1e-15)
        assert replace(mixed, action=held.action) == held


def test_bad_rates_are_refused():
    for rate, expected in [
        (1.1, "exploration rate: expected numbers from 0 to 1, got 1.1 to 1.1"),
        ([0, -0.1, 0.5], "exploration rate: expected numbers from 0 to 1, got -0.1 to 0.5"),
        ([0.1, 0.2], "exploration rate[i]: expected shape (3), got (2,)"),
        ([[0.1], [0.2, 0.3]], "exploration rate: expected numbers in an array [i], got [[0.1], [0.2, 0.3]]"),
    ]:
        with pytest.raises(InputError) as caught:
            controller().exploring(rate)
        assert str(caught.value).startswith(expected)


def test_uniform():
    held = Controller.uniform(3, 2)
    assert (held.nodes, held.actions, held.observations) == (1, 3, 2)
    assert np.allclose(held.action, 1 / 3, atol=0, rtol=1e-15)


def test_deterministic_follows_its_table():
    actions, moves = [2, 0], [[1, 0, 1], [0, 0, 1]]
    held = Controller.deterministic(actions, moves, action_count=3, start=1)
    assert held.initial.tolist() == [0, 1]
    for i in range(2):
        assert held.action[i].tolist() == [float(a == actions[i]) for a in range(3)]
        for a in range(3):
            for o in range(3):
                assert held.transition[i, a, o].tolist() == [float(j == moves[i][o]) for j in range(2)]


def test_bad_tables_are_refused():
    for actions, moves, count, start, expected in [
        ([0, 2], [[0], [1]], 2, 0, "actions: expected numbers from 0 to 1, got others"),
        ([0, 1], [[0], [2]], 2, 0, "start and moves: expected nodes from 0 to 1, got others"),
        ([0, 1], [[0]], 2, 0, "moves[i, o]: expected shape (2, any), got (1, 1)"),
        ([0, 1], [[0], [1, 1]], 2, 0, "moves: expected numbers in an array [i, o], got [[0], [1, 1]]"),
    ]:
        with pytest.raises(InputError) as caught:
            Controller.deterministic(actions, moves, count, start)
        assert str(caught.value).startswith(expected)


def test_decided_takes_the_likeliest_choice():
    held, decided = controller(), controller().decided()
    for name in ("initial", "action", "transition", "initial_given"):
        before, after = getattr(held, name), getattr(decided, name)
        for place in np.ndindex(before.shape[:-1]):
            assert after[place].tolist() == [float(i == int(np.argmax(before[place]))) for i in range(before.shape[-1])]
    assert decided.decided() == decided
    assert replace(held, initial_given=None).decided().initial_given is None


SIZES = [((2,), (3,)), ((2, 3), (3, 2)), ((2, 1, 2), (1, 2, 2)), ((2, 1, 2, 1, 2), (1, 2, 1, 2, 2))]


def problem(actions=(2, 3), observations=(3, 2)):
    return making.model(np.random.default_rng(0), 2, actions, observations)


def team(actions=(2, 3), observations=(3, 2), nodes=2, seed=0):
    return making.team(np.random.default_rng(seed), problem(actions, observations), nodes)


def test_a_team_of_any_size_fits_its_problem():
    for actions, observations in SIZES:
        held = Team.uniform(problem(actions, observations))
        held.check_fits(problem(actions, observations))
        assert held.nodes == (1,) * len(actions)
        assert held.problem == "random"
        assert held.discount == problem().discount
        assert [c.actions for c in held.controllers] == list(actions)
        assert [c.observations for c in held.controllers] == list(observations)


def test_a_team_does_not_fit_another_problem():
    with pytest.raises(InputError) as caught:
        team().check_fits(problem((3, 2), (2, 3)))
    assert str(caught.value) == (
        "team does not fit problem random: expected (actions, observations) per agent [(3, 2), (2, 3)], "
        "got [(2, 3), (3, 2)]"
    )
    with pytest.raises(InputError, match=r"^team does not fit problem \(unnamed\): "):
        team().check_fits(replace(problem((2,), (3,)), name=""))


def test_each_explores_at_its_own_rates():
    for kind in [list, np.array]:
        held = team(nodes=(2, 3))
        mixed = held.exploring([0.5, kind([0.1, 0.2, 0.3])])
        assert mixed.controllers[0] == held.controllers[0].exploring(0.5)
        assert mixed.controllers[1] == held.controllers[1].exploring([0.1, 0.2, 0.3])
        both = held.exploring([kind([0.4, 0.5]), kind([0.1, 0.2, 0.3])])  # as many rates as nodes, not the same for all
        assert both.controllers[0] == held.controllers[0].exploring([0.4, 0.5])


def test_rates_for_another_number_of_agents_are_refused():
    with pytest.raises(InputError, match=r"^exploration rates: expected one for each of 2 agents, got 3$"):
        team().exploring([0.1, 0.2, 0.3])
