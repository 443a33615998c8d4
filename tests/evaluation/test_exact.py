"""Exact values against enumeration, closed forms and simulation; values from fresh episodes."""

import numpy as np
import pytest
from oracles import making, values

import decpomdp as dp
from decpomdp.core import Team
from decpomdp.evaluation import exact_value, sampled_value


def oracle(model, team, horizon):
    return values.value_of_paths(
        model.start, model.transition, model.observation, model.reward, model.discount, making.tables(team), horizon
    )


@pytest.mark.parametrize(
    ("actions", "observations", "nodes", "horizon"),
    [
        ((2,), (3,), (3,), 4),
        ((2, 2), (2, 2), (2, 2), 3),
        ((2, 3), (2, 1), (1, 2), 3),
        ((2, 2, 2), (2, 1, 2), (2, 2, 1), 2),
        ((1, 2, 1, 2), (2, 1, 1, 2), (1, 2, 1, 2), 3),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_finite_horizon_equals_enumeration(actions, observations, nodes, horizon, sparse):
    rng = np.random.default_rng(len(actions))
    model = making.model(rng, 2, actions, observations, 0.8, sparse)
    team = making.team(rng, model, nodes, sparse)
    assert exact_value(model, team, horizon).value == pytest.approx(oracle(model, team, horizon), rel=1e-12)


def test_enumeration_sees_a_changed_reward():
    rng = np.random.default_rng(0)
    model = making.model(rng)
    team = making.team(rng, model)
    other = dp.DecPOMDP(
        model.agents, model.states, model.start, model.transition, model.observation, model.reward + 1e-6, 0.9
    )
    assert exact_value(model, team, 2).value != pytest.approx(oracle(other, team, 2), rel=1e-9)


@pytest.mark.parametrize("agents", [1, 2, 3])
@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95])
def test_for_ever_is_the_limit_of_finite_horizons(agents, discount):
    rng = np.random.default_rng(agents)
    model = making.model(rng, 3, (2,) * agents, (2,) * agents, discount)
    team = making.team(rng, model, 2)
    horizon = 1 if discount == 0 else int(np.log(1e-13) / np.log(discount)) + 1
    found = exact_value(model, team)
    assert found.value == pytest.approx(exact_value(model, team, horizon).value, abs=1e-10)
    assert found.error < 1e-9


def test_discount_near_one_is_solved():
    rng = np.random.default_rng(5)
    model = making.model(rng, 4, (2, 2), (2, 2), 0.999999)
    team = making.team(rng, model, 2)
    found = exact_value(model, team)
    chain_states = 4 * 4  # solve the same linear system densely
    from decpomdp.evaluation.exact import TeamOnModel

    chain = TeamOnModel(model, team)
    columns = [chain.backup(e.reshape(chain.shape), None).ravel() for e in np.eye(chain_states)]
    v = np.linalg.solve(np.eye(chain_states) - np.array(columns).T, chain.expected.ravel())
    assert found.value == pytest.approx(chain.at_start(v.reshape(chain.shape)), rel=1e-8)


def test_horizon_three_policy_repeated():
    from dectiger_horizon3 import controller

    model = dp.load("dectiger")
    team = Team.of(model, [controller()] * 2)
    closed = (-2 - 1.8 + 0.81 * 9.190812) / (1 - 0.729)
    assert exact_value(model, team).value == pytest.approx(closed, abs=1e-5)  # 9.190812 is printed to six places
    undiscounted = model.with_discount(1.0)
    assert exact_value(undiscounted, team, 3).value == pytest.approx(5.190812, abs=1e-6)


@pytest.mark.parametrize("problem", ["dectiger", "broadcast", "recycling", "gridsmall", "boxpushing", "marsrovers"])
def test_simulation_agrees_within_its_error(problem):
    rng = np.random.default_rng(3)
    model = dp.load(problem)
    team = making.team(rng, model, (3, 4))
    exact = exact_value(model, team, 30).value
    sampled = sampled_value(model, team, 20_000, 30, seed=7)
    assert abs(sampled.value - exact) < 4 * sampled.standard_error
    assert sampled.standard_error < 0.05 * np.ptp(model.reward) / (1 - model.discount)


class Pennies:
    """One step decides; whoever plays on is paid again."""

    name, repeatable = "pennies", True
    agents = (dp.Agent("ann", ("heads", "tails"), ("shown",)),)

    def __init__(self, discount, **more):
        self.discount = discount
        self.__dict__.update(more)

    def reset(self, episodes, seed):
        return None

    def step(self, actions):
        return dp.Step(np.zeros_like(actions), np.ones(len(actions)), np.zeros(len(actions), bool))


def team():
    return dp.Team.uniform(Pennies(1.0))


def test_a_simulator_may_say_how_long_its_episodes_are():
    told = dp.evaluate(team(), Pennies(1.0, horizon=7))
    assert (told.value, told.horizon) == (7.0, 7)
    assert dp.evaluate(team(), Pennies(0.5, horizon=7)).horizon == 7
    assert dp.evaluate(team(), Pennies(0.5, horizon=100)).horizon == 14  # the rest is worth next to nothing
    assert dp.evaluate(team(), Pennies(1.0, horizon=7), horizon=3).value == 3.0


def test_without_either_it_has_to_be_told():
    with pytest.raises(dp.InputError, match="because the discount is 1"):
        dp.evaluate(team(), Pennies(1.0))
    with pytest.raises(dp.InputError, match="horizon of the simulator: expected a whole number"):
        dp.evaluate(team(), Pennies(1.0, horizon="long"))


def test_a_check_can_end_a_value():
    model, calls = dp.load("dectiger"), []

    def check():
        calls.append(1)
        if len(calls) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        exact_value(model, dp.Team.uniform(model), check=check)
    assert len(calls) == 3
