"""Teams: one controller per agent, and the problems that they fit."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import making

from decpomdp.core import Agent, Controller, InputError, Team

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


def test_a_bad_team_cannot_be_made():
    for changes, expected in [
        ({"controllers": (Controller.uniform(2, 3),)}, "team: expected 2 controllers, got 1"),
        ({"controllers": (Controller.uniform(2, 3), None)}, "team: expected Controller objects, got NoneType"),
        (
            {"controllers": (Controller.uniform(2, 3), Controller.uniform(2, 2))},
            "controller of agent2: expected 3 actions and 2 observations, got 2 and 2",
        ),
        (
            {"controllers": (Controller.uniform(2, 1), Controller.uniform(3, 2))},
            "controller of agent1: expected 2 actions and 3 observations, got 2 and 1",
        ),
        ({"agents": (), "controllers": ()}, "agents: expected at least one label, got none"),
        ({"agents": (Agent("a", ["x"], ["y"]),) * 2}, "agents: expected distinct labels, got 'a' twice (again at 1)"),
        ({"discount": 2}, "discount: expected a number from 0 to 1, got 2.0"),
        ({"problem": None}, "problem: expected a text, got None"),
    ]:
        with pytest.raises(InputError) as caught:
            replace(team(), **changes)
        assert str(caught.value) == expected


def test_equality_sees_every_field():
    assert team() == team()
    assert team() != team().controllers
    renamed = tuple(Agent(f"{agent.name}!", agent.actions, agent.observations) for agent in team().agents)
    changes = {"agents": renamed, "controllers": team(seed=1).controllers, "discount": 0.1, "problem": "other"}
    for name, value in changes.items():
        assert replace(team(), **{name: value}) != team(), name


def test_all_explore_alike():
    mixed = team().exploring(0.2)
    assert mixed == replace(team(), controllers=tuple(c.exploring(0.2) for c in team().controllers))
    assert mixed != team()


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


def test_every_agent_decides():
    assert team().decided() == replace(team(), controllers=tuple(c.decided() for c in team().controllers))
