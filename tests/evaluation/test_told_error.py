"""The error that is told with an exact value covers the truth: what it would be without any rounding."""

from fractions import Fraction

import numpy as np
import pytest
from oracles import making
from oracles.exact_values import true_value

import decpomdp as dp
from decpomdp.evaluation import exact_value


def one_agent(start, transition, reward, discount, actions=1):
    """A model for one agent who sees nothing."""
    agent = dp.Agent("g", [f"u{a}" for a in range(actions)], ("o",))
    states = [str(s) for s in range(len(start))]
    return dp.DecPOMDP([agent], states, start, transition, np.ones((actions, len(start), 1)), reward, discount)


def within(found, truth):
    return abs(Fraction(found.value) - truth) <= Fraction(found.error)


@pytest.mark.parametrize("off", [3e-16, 8e-16])
def test_nothing_earned_is_no_error(off):
    """The sum of what may be lost has no end where a row sums to more than 1: nothing times that is nothing."""
    model = one_agent([1, 0], [[[0.5, 0.5 + off]] * 2], np.zeros((1, 2)), 1 - 2**-53)
    found = exact_value(model, dp.Team.uniform(model))
    assert (found.value, found.error, found.sure) == (0.0, 0.0, True)


@pytest.mark.parametrize("seed", [183, 390, 473])
def test_the_largest_error_has_room_for_its_own_rounding(seed):
    """Discount 1 - 2^-53: the value has no digit, and the error is what any value may be off."""
    rng = np.random.default_rng(seed)
    model = making.model(rng, 1, (2, 2), (1, 1), discount=1 - 2**-53)
    team = making.team(rng, model, 1)
    assert within(exact_value(model, team), true_value(model, team))
