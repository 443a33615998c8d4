"""The error that is told with an exact value covers the truth: what it would be without any rounding."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from oracles import making
from oracles.exact_values import true_value

import decpomdp as dp
from decpomdp.evaluation import exact_value
from decpomdp.evaluation.exact import TeamOnModel, _value
from decpomdp.evaluation.reachable import ReachableChain


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


def test_steps_that_rounding_hides():
    """Every step is worth 2^-54, which is nothing beside the 1 and -1 of its states: the sum stands still."""
    model = one_agent([0.5, 0.5], np.full((1, 2, 2), 0.5), [[1.0, -1 + 2**-53]], 1.0)
    for found in told_by_both(model, dp.Team.uniform(model), 10**6):
        assert within(found, Fraction(10**6, 2**54))
        assert found.sure
