"""Teams: one controller per agent, and the problems that they fit."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import making

from decpomdp.core import InputError, Team

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
