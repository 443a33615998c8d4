"""The auxiliary controller: rates, their fall, and the recorded probability of the mixture."""

import numpy as np
import pytest
from oracles import making

from decpomdp.interaction.sbpr.exploration import Exploration
from decpomdp.rollouts import simulate


def test_rates_follow_the_formula_and_fall():
    begun = Exploration.begin(100.0, [2, 3])
    assert [list(e) for e in begun.rates()] == [[1.0, 1.0], [1.0, 1.0, 1.0]]
    after = begun.after([np.array([100.0, 300.0]), np.zeros(3)])
    np.testing.assert_allclose(after.rates()[0], [0.5, 0.25])
    np.testing.assert_allclose(after.after([np.array([100.0, 0.0]), np.zeros(3)]).rates()[0], [1 / 3, 0.25])


def test_dropping_nodes_keeps_the_visits_of_the_others():
    state = Exploration(10.0, (np.array([0.0, 10.0, 30.0]),)).chosen([np.array([0, 2])])
    np.testing.assert_allclose(state.rates()[0], [1.0, 0.25])


def test_the_recorded_probability_is_the_marginal_of_the_mixture():
    rng = np.random.default_rng(0)
    problem = making.model(rng)
    team = making.team(rng, problem, nodes=2)
    state = Exploration(5.0, (np.array([1.0, 20.0]), np.array([3.0, 0.0])))
    played = simulate(problem, state.behaviour(team), 20, 3, seed=1)
    for n, controller in enumerate(team.controllers):
        share = state.rates()[n][:, None]
        mixed = (1 - share) * controller.action + share / controller.actions
        for k in range(played.count):
            belief = controller.initial
            for row in range(played.offsets[k], played.offsets[k + 1]):
                action = played.actions[row, n]
                if row > played.offsets[k]:
                    before, seen = played.actions[row - 1, n], played.observations[row, n]
                    belief = belief @ controller.transition[:, before, seen]
                assert played.behaviour[row, n] == pytest.approx(belief @ mixed[:, action], abs=1e-6)
                belief = belief * mixed[:, action] / (belief @ mixed[:, action])
