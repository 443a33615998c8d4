"""Stick-breaking rows: expectations, the best concentration, samples."""

import numpy as np
import pytest
from oracles import decimals, special, sweeps

from decpomdp.core import Agent
from decpomdp.learners import StickBreaking
from decpomdp.learners.concentration import Concentration, best_concentration
from decpomdp.learners.rows import DirichletPrior, PointPrior, digamma_rise, log_rise
from decpomdp.learners.sticks import SticksPrior


def height(sigma, c, slope, belief):
    """What the bound has of q(eta): E of the line below f, of the prior, of (1 - V)^eta, and the entropy."""
    shape, rate = belief.shape.item(), belief.rate.item()
    entropy = shape - np.log(rate) + special.log_gamma(shape) + (1 - shape) * special.digamma(shape)
    logs = special.digamma(shape) - np.log(rate)
    return belief.expected_normaliser(sigma).item() + (c - 1) * logs - slope * shape / rate + entropy


def test_the_best_concentration_is_the_best():
    for c, slope in [(0.1, 1e6), (1.0, 0.3), (3.0, 1e-2)]:
        for sigma in [0.01, 0.5, 0.99, 1.0, 1.01, 10.0, 300.0]:
            best = best_concentration(sigma, c, np.array([[slope]]))
            top = height(sigma, c, slope, best)
            rng = np.random.default_rng(4)
            for size in (1e-3, 0.1, 2.0):
                for by in size * rng.normal(size=(40, 2)):
                    other = Concentration(best.shape * np.exp(by[0]), best.rate * np.exp(by[1]))
                    gap = top - height(sigma, c, slope, other)
                    assert gap > (0.01 * size**2 * np.square(by / size).sum() if size < 1 else 0) * min(1, c) - 1e-9


def test_the_normaliser_is_bounded_by_the_best_line():
    for shape, rate in [(1.1, 1e3), (1.5, 2.0), (4.0, 0.01)]:
        for sigma in [0.1, 0.7, 1.4, 8.0]:
            found = Concentration(np.array([[shape]]), np.array([[rate]])).expected_normaliser(sigma).item()
            line = sweeps.line_below(shape, rate, sigma) - special.log_gamma(sigma)
            assert found == pytest.approx(line, rel=1e-10, abs=1e-10)
            eta, weights = special.gamma_rule(shape, rate)
            assert found < -np.sum(weights * special.log_beta(sigma, eta))


def test_an_empty_stick_costs():
    """However long it is left alone, and however much prior there is: it never pays."""
    for c, rate in [(0.1, 1e6), (1.0, 1.0), (30.0, 1e-6)]:
        for sigma in [0.1, 1 - 1e-6, 1.0, 1 + 1e-6, 10.0]:
            prior, none = SticksPrior(sigma, c, rate), np.zeros((1, 2))
            sticks, costs = prior.updated(none), []
            for _ in range(300):
                sticks = prior.updated(none, sticks)
                costs.append(sticks.divergence())
            assert np.isfinite(costs).all()
            assert (np.diff(costs) < 1e-9 + 1e-14 * c / rate).all()  # ln Gamma of a large eta is rounded
            assert costs[-1] > 0
            if rate == 1e6 or abs(sigma - 1) < 1e-5:  # what sigma = 1 costs, too
                assert costs[-1] == pytest.approx((c + 1) * np.log((c + 1) / c) - 1, rel=1e-4)


def test_expected_logs_are_the_oracles():
    rng = np.random.default_rng(0)
    sticks = SticksPrior(1.0, 0.1, 1.0).updated(rng.gamma(1.0, size=(7, 5)))
    assert sticks.expected_log() == pytest.approx(sweeps.expected_log_sticks(sticks.left, sticks.right), rel=1e-12)


def test_means_and_samples():
    for shared in [False, True]:
        rng = np.random.default_rng(1)
        counts = rng.gamma(1.0, size=(4, 6)) * 50
        sticks = SticksPrior(1.0, 1.0, 1.0, shared).updated(counts)
        assert sticks.mean().sum(axis=1) == pytest.approx(1, abs=1e-12)
        draws = np.array([sticks.sample(rng) for _ in range(4000)])
        assert draws.sum(axis=2) == pytest.approx(1, abs=1e-9)
        assert draws.mean(axis=0) == pytest.approx(sticks.mean(), abs=4 * draws.std(axis=0).max() / np.sqrt(4000))
        assert sticks.mean() == pytest.approx(counts / counts.sum(axis=1, keepdims=True), abs=0.03)


def test_both_readings_of_gamma():
    """Without counts the scale gives everything to the first node, the rate to the last of the truncation."""
    for reading, rate, mass in [("scale", 1e6, 0), ("rate", 1e-6, -1)]:
        prior = StickBreaking(reading=reading).priors(Agent("x", ("a",), ("o",))).move
        assert prior.rate == pytest.approx(rate, rel=1e-12)
        assert prior.updated(np.zeros((1, 5))).mean()[0, mass] > 0.999
        assert StickBreaking() == StickBreaking(reading="scale")


def test_one_concentration_for_all_sticks_is_the_dirichlet_process():
    rng = np.random.default_rng(2)
    counts = rng.gamma(1.0, size=(3, 4))
    each, shared = (SticksPrior(1.0, 2.0, 3.0, one).updated(counts).eta for one in (False, True))
    assert each.shape == pytest.approx(np.full((3, 3), 3.0))
    assert shared.shape.tolist() == [[2.0 + 9]]
    assert shared.rate[0, 0] > each.rate.max()


def test_divergence_is_zero_only_at_the_prior():
    belief = DirichletPrior(0.5).updated(np.zeros((3, 4)))
    assert belief.divergence() == pytest.approx(0, abs=1e-12)
    assert DirichletPrior(0.5).updated(np.ones((3, 4))).divergence() > 0.1


def test_rows_without_counts_stay_in_em():
    before = PointPrior().updated(np.array([[1.0, 3.0], [2.0, 2.0]]))
    after = PointPrior().updated(np.array([[0.0, 0.0], [1.0, 0.0]]), before)
    assert after.mean().tolist() == [[0.25, 0.75], [1.0, 0.0]]


def test_differences_of_gamma_functions_keep_their_digits():
    """Against recurrences and series in sixty digits."""
    for start in [1e-3, 1.0, 999.0, 1001.0, 1e6, 1e15]:
        rises = np.array([1e-9, 0.5, 30.0, 1e4, 1e8])
        values, slopes = np.array([[float(x) for x in decimals.gamma_rise(start, float(rise))] for rise in rises]).T
        assert log_rise(start, rises) == pytest.approx(values, rel=1e-12, abs=1e-12)
        assert digamma_rise(np.full(5, start), rises) == pytest.approx(
            slopes, rel=1e-11, abs=0 if start > 1000 else 1e-12
        )
