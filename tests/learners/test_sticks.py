"""Stick-breaking rows: expectations, the cost of sticks, samples."""

import numpy as np
import pytest
from oracles import decimals, special, sweeps

from decpomdp.core import Agent
from decpomdp.learners import StickBreaking
from decpomdp.learners.rows import PointPrior, log_rise
from decpomdp.learners.sticks import SticksPrior, concentrations


@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("c", "rate"), [(0.1, 1e6), (1.0, 1.0), (30.0, 1e-6)])
def test_an_empty_stick_costs_nothing(sigma, c, rate):
    prior = SticksPrior(sigma, c, rate)
    assert prior.updated(np.zeros((3, 4))).divergence() == pytest.approx(0, abs=1e-9)
    some = np.zeros((3, 4))
    some[1, 2] = 5.0
    alone = prior.updated(some[1:2])
    assert prior.updated(some).divergence() == pytest.approx(alone.divergence(), rel=1e-9)
    assert alone.divergence() > 0


@pytest.mark.parametrize(("c", "rate"), [(0.1, 1.0), (0.1, 1e6), (1.0, 0.5), (30.0, 2.0)])
def test_the_grid_is_close_to_the_gamma(c, rate):
    """Its mean, and the probability of counts, against quadrature."""
    eta, log_chance = concentrations(c, rate)
    assert np.exp(log_chance).sum() == pytest.approx(1)
    assert np.exp(log_chance) @ eta == pytest.approx(c / rate, rel=0.12)
    points, weights = special.gamma_rule(c, rate)
    for here, beyond in ((3.0, 0.0), (0.0, 2.0), (20.0, 5.0)):
        exact = weights @ np.exp(special.log_beta(1 + here, points + beyond) - special.log_beta(1.0, points))
        counts = np.array([[here, beyond]])
        assert SticksPrior(1.0, c, rate).updated(counts).evidence == pytest.approx(np.log(exact), abs=0.12)


@pytest.mark.parametrize("shared", [False, True])
def test_expected_logs_are_the_oracles(shared):
    rng = np.random.default_rng(0)
    found = SticksPrior(0.7, 0.5, 1.0, shared).updated(rng.gamma(1.0, size=(7, 5)))
    eta, chance = concentrations(0.5, 1.0)
    told = {"here": found.here, "beyond": found.beyond, "sigma": 0.7, "eta": eta, "chance": np.exp(chance)}
    told["shared"] = shared
    assert found.expected_log() == pytest.approx(sweeps.expected_log_sticks(told), rel=1e-10)
    assert found.divergence() == pytest.approx(sweeps.sticks_divergence(told), rel=1e-10)


@pytest.mark.parametrize("shared", [False, True])
def test_means_and_samples(shared):
    rng = np.random.default_rng(1)
    counts = rng.gamma(1.0, size=(4, 6)) * 50
    sticks = SticksPrior(1.0, 1.0, 1.0, shared).updated(counts)
    assert sticks.mean().sum(axis=1) == pytest.approx(1, abs=1e-12)
    draws = np.array([sticks.sample(rng) for _ in range(4000)])
    assert draws.sum(axis=2) == pytest.approx(1, abs=1e-9)
    assert draws.mean(axis=0) == pytest.approx(sticks.mean(), abs=4 * draws.std(axis=0).max() / np.sqrt(4000))
    assert sticks.mean() == pytest.approx(counts / counts.sum(axis=1, keepdims=True), abs=0.03)


@pytest.mark.parametrize(("reading", "rate", "mass"), [("scale", 1e6, 0), ("rate", 1e-6, -1)])
def test_both_readings_of_gamma(reading, rate, mass):
    """Without counts the scale gives everything to the first node, the rate to the last of the truncation."""
    prior = StickBreaking(d=1e-6, reading=reading).priors(Agent("x", ("a",), ("o",))).move
    assert prior.rate == pytest.approx(rate, rel=1e-12)
    assert prior.updated(np.zeros((1, 5))).mean()[0, mass] > 0.97
    assert StickBreaking() == StickBreaking(reading="scale")


def test_rows_without_counts_stay_in_em():
    before = PointPrior().updated(np.array([[1.0, 3.0], [2.0, 2.0]]))
    after = PointPrior().updated(np.array([[0.0, 0.0], [1.0, 0.0]]), before)
    assert after.mean().tolist() == [[0.25, 0.75], [1.0, 0.0]]


@pytest.mark.parametrize("start", [1e-3, 1.0, 999.0, 1001.0, 1e6, 1e15])
def test_differences_of_gamma_functions_keep_their_digits(start):
    """Against recurrences and series in sixty digits."""
    rises = np.array([1e-9, 0.5, 30.0, 1e4, 1e8])
    values = np.array([float(decimals.gamma_rise(start, float(rise))[0]) for rise in rises])
    assert log_rise(start, rises) == pytest.approx(values, rel=1e-12, abs=1e-12)
