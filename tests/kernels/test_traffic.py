"""The compiled grid: how often things happen, and what a crowd's kernels compute."""

import numpy as np
import pytest

from decpomdp.kernels import expectation, sampling
from decpomdp.kernels import traffic as kernels
from decpomdp.kernels.traffic import Rules

RULES = Rules(2, 9, 4, np.uint64(1 << 31), 3, 1.0)


def advanced(loads, actions, rules=RULES, t=0):
    after, rewards = loads.copy(), np.empty(len(loads))
    seen = np.empty((len(loads), rules.side**2), np.int16)
    kernels.advance(rules, np.uint64(0), t, actions.astype(np.int16), after, seen, rewards)
    return after, rewards


def test_arrivals_come_half_of_the_time_in_threes():
    loads = np.zeros((20_000, 4), np.int8)
    after, rewards = advanced(loads, np.zeros((20_000, 4)))
    assert set(np.unique(after)) == {0, 3}
    assert (after == 3).mean() == pytest.approx(0.5, abs=0.01)
    assert not rewards.any()


def test_fractions_of_a_car_are_honoured_on_average():
    """Green at the first of three lights: 4/3 of a car."""
    rules = RULES._replace(side=3, arrival=np.uint64(0))
    loads = np.full((30_000, 6), 8, np.int8)
    actions = np.tile([0, 1, 1] + [1, 1, 1] * 2, (30_000, 1))
    after, _ = advanced(loads, actions, rules)
    assert (8 - after[:, 0]).mean() == pytest.approx(4 / 3, abs=0.02)
    assert set(np.unique(8 - after[:, 0])) == {1, 2}
    assert (8 - after[:, 3]).mean() == pytest.approx(4 / 3, abs=0.02)  # red, green, green
    assert (8 - after[:, 4]).mean() == pytest.approx(4.0)


def test_streets_and_steps_have_their_own_chance():
    loads = np.zeros((4000, 4), np.int8)
    first, second = (advanced(loads, np.zeros((4000, 4)), t=t)[0].astype(float) for t in (0, 1))
    both = np.corrcoef(np.column_stack([first, second]).T)
    assert np.abs(both - np.eye(8)).max() < 0.07


def test_own_ratios_are_products_along_an_episode():
    rng = np.random.default_rng(0)
    logs, behaviour = np.log(rng.random((7, 1))), rng.random(7).astype(np.float32)
    out, offsets = np.empty(7), np.array([0, 3, 7])
    expectation.own_ratios(logs, behaviour, offsets, np.log(4.0), out)
    each = np.exp(logs[:, 0]) / behaviour
    expected = np.minimum(np.concatenate([np.cumprod(each[:3]), np.cumprod(each[3:])]), 4.0)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_a_sketch_adds_one_sign_per_agent_and_symbol():
    rng = np.random.default_rng(1)
    seen = rng.integers(-1, 3, (200, 5)).astype(np.int16)
    out = np.empty((200, 64))
    sampling.sketch(seen, np.uint64(3), out)
    table = np.empty((5, 4, 64))
    for n in range(5):
        for symbol in range(-1, 3):
            one, two = np.zeros((1, 5), np.int16), np.empty((1, 64))
            one[0, n] = symbol
            sampling.sketch(one, np.uint64(3), two)
            table[n, symbol + 1] = two[0]
    base = np.empty((1, 64))
    sampling.sketch(np.zeros((1, 5), np.int16), np.uint64(3), base)
    expected = base + sum(table[n, seen[:, n] + 1] - base for n in range(5))
    np.testing.assert_array_equal(out, expected)
    assert set(np.unique(out)) <= {-5.0, -3.0, -1.0, 1.0, 3.0, 5.0}
