"""Chains that are hard to solve, and the error that is told with a value: it covers the truth without rounding."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from oracles import making
from oracles.exact_values import true_value

import decpomdp as dp
from decpomdp.evaluation import exact, exact_value, fixed_point
from decpomdp.evaluation.exact import TeamOnModel, _value
from decpomdp.evaluation.fixed_point import solve
from decpomdp.evaluation.reachable import ReachableChain


def ring(states, discount, reward=1.0):
    """States in a circle whatever is done, and a reward in the last one."""
    transition = np.zeros((1, states, states))
    transition[0, np.arange(states), (np.arange(states) + 1) % states] = 1.0
    rewards = np.zeros((1, states))
    rewards[0, -1] = reward
    start = np.eye(states)[0]
    agents = [dp.Agent("a", ("go",), ("x",))]
    names = [str(k) for k in range(states)]
    return dp.DecPOMDP(
        agents=agents, states=names, start=start, transition=transition, observation=np.ones((1, states, 1)),
        reward=rewards, discount=discount, name="ring",
    )  # fmt: skip


def worth(states, discount, reward=1.0):
    """The value from the first state, in fractions."""
    once = Fraction(discount)
    return float(Fraction(reward) * once ** (states - 1) / (1 - once**states))


def walker(nodes):
    """One node, or two between which chance decides: another chain with the same value."""
    if nodes == 1:
        return dp.Controller.deterministic([0], [[0]], 1)
    return dp.Controller([0.5, 0.5], np.ones((2, 1)), np.full((2, 1, 1, 2), 0.5))


@pytest.mark.parametrize(
    ("states", "discount", "nodes"),
    [
        *((7, 0.999999, 1), (310, 0.9999, 2), (120, 0.999999, 1), (330, 0.999, 2)),
        pytest.param(1700, 0.999999, 1, marks=pytest.mark.slow),
        pytest.param(1700, 0.999999, 2, marks=pytest.mark.slow),
    ],
)
def test_long_cycles_are_solved(states, discount, nodes):
    model = ring(states, discount)
    found = exact_value(model, dp.Team.of(model, [walker(nodes)]))
    assert found.sure
    assert found.value == pytest.approx(worth(states, discount), rel=1e-9)
    assert found.precision == "exact"


def test_a_long_cycle_of_many_pairs_is_solved():
    model = ring(90, 0.99999)
    clock = dp.Controller.deterministic([0] * 97, [[(i + 1) % 97] for i in range(97)], 1)
    team = dp.Team.of(model, [clock])
    assert fixed_point.SMALL < 90 * 97  # so the factors are not those of the whole matrix
    found = exact_value(model, team)
    assert found.sure
    assert found.value == pytest.approx(worth(90, 0.99999), rel=1e-9)


def test_what_was_not_solved_is_not_called_exact(monkeypatch):
    monkeypatch.setattr(fixed_point, "_factors", lambda chain: None)
    model = ring(310, 0.9999)
    team = dp.Team.of(model, [walker(1)])
    found = exact_value(model, team)
    assert not found.sure
    assert abs(found.value - worth(310, 0.9999)) <= found.error
    assert found.precision.startswith("not converged: within ")
    v, error = solve(exact.chain_of(model, team))
    assert np.isfinite(v).all()
    assert error <= found.error


def test_what_rounding_hides_is_not_called_exact():
    transition = np.zeros((1, 3, 3))
    transition[0, [0, 1, 2], [1, 2, 2]] = 1.0
    model = dp.DecPOMDP(
        agents=[dp.Agent("a", ("go",), ("x",))], states=["0", "1", "2"], start=[1.0, 0.0, 0.0], transition=transition,
        observation=np.ones((1, 3, 1)), reward=np.array([[8.1e29, -9e29, 8.1]]), discount=0.9, name="cancel",
    )  # fmt: skip
    for nodes in (1, 2):
        found = exact_value(model, dp.Team.of(model, [walker(nodes)]))
        assert not found.sure
        assert abs(found.value - 65.61) <= found.error


@pytest.mark.parametrize(("discount", "steps"), [(1.0, 20_000), (0.9999, 20_000), (0.5, 100)])
def test_the_error_of_a_finite_horizon_is_a_bound(discount, steps):
    model = ring(1, discount, 0.1)
    found = exact_value(model, dp.Team.of(model, [walker(1)]), steps)
    if discount == 1:
        true = Fraction(0.1) * steps
    else:
        true = Fraction(0.1 * -math.expm1(steps * math.log(discount)) / (1 - discount))
    assert abs(Fraction(found.value) - true) <= Fraction(found.error)
    assert found.sure


def one_agent(start, transition, reward, discount, actions=1):
    """A model for one agent who sees nothing."""
    agent = dp.Agent("g", [f"u{a}" for a in range(actions)], ("o",))
    states = [str(s) for s in range(len(start))]
    return dp.DecPOMDP([agent], states, start, transition, np.ones((actions, len(start), 1)), reward, discount)


def within(found, truth):
    return abs(Fraction(found.value) - truth) <= Fraction(found.error)


def told_by_both(model, team, horizon):
    return [
        exact_value(model, team, horizon),
        *(_value(c(model, team), horizon) for c in (TeamOnModel, ReachableChain)),
    ]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("discount", "horizon"), [(1e-12, None), (0.9, None), (0.9, 7)])
def test_actions_that_are_off(sign, discount, horizon):
    """Rows of transitions that are off the other way make up for it in what follows, not in what is earned."""
    size, off = 50, 4e-14
    transition = np.full((size, size, size), (1 - sign * off) / size)
    model = one_agent(np.eye(size)[0], transition, np.ones((size, size)), discount, size)
    often = dp.Controller([1.0], np.full((1, size), (1 + off) / size), np.ones((1, size, 1, 1)))
    truth = (1 - (Fraction(discount) ** horizon if horizon else 0)) / (1 - Fraction(discount))
    for found in told_by_both(model, dp.Team.of(model, [often]), horizon):
        assert within(found, truth)


@pytest.mark.parametrize("horizon", [None, 3])
def test_rewards_that_cancel(horizon):
    """7e10 with 0.3 and -3e10 with 0.7 come to 5.6e-7, of which no digit is left."""
    model = one_agent([1.0], np.ones((2, 1, 1)), [[7e10], [-3e10]], 0.9, 2)
    team = dp.Team.of(model, [dp.Controller([1.0], [[0.3, 0.7]], np.ones((1, 2, 1, 1)))])
    for found in told_by_both(model, team, horizon):
        assert within(found, true_value(model, team, horizon))
    fair = one_agent([1.0], np.ones((2, 1, 1)), [[1], [-1]], 0.9999, 2)
    assert exact_value(fair, dp.Team.uniform(fair), horizon).precision == "exact"


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_random_models_that_are_off(seed):
    rng = np.random.default_rng(seed)

    def bent(table):
        return table * (1 + 1.7e-15 * rng.choice([-1, 1], size=(*table.shape[:-1], 1)))

    fair = making.model(rng, 2, (2, 2), (2, 1), discount=[0.0, 1e-300, 0.5, 0.99999][seed % 4])
    model = replace(fair, **{name: bent(getattr(fair, name)) for name in ("start", "transition", "observation")})
    team = making.team(rng, model, (2, 1))
    team = dp.Team.of(model, [dp.Controller(*map(bent, (c.initial, c.action, c.transition))) for c in team.controllers])
    for horizon in (None, 1, 3):
        for found in told_by_both(model, team, horizon):
            assert within(found, true_value(model, team, horizon))
            assert found.sure
