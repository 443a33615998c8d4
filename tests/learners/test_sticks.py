"""Stick-breaking rows: expectations, the best concentration, samples."""

import numpy as np
import pytest
from oracles import sweeps
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from decpomdp.core import Agent, InputError
from decpomdp.learners import StickBreaking
from decpomdp.learners.rows import DirichletPrior, PointPrior
from decpomdp.learners.sticks import SticksPrior, best_eta


@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.5, 0.99, 1.5, 10.0])
@pytest.mark.parametrize("c", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("slope", [1e-6, 0.3, 7.0, 1e6])
def test_best_eta_is_the_maximum(sigma, c, slope):
    def g(log_eta):
        eta = np.exp(log_eta)
        return gammaln(sigma + eta) - gammaln(eta) + (c - 1) * log_eta - slope * eta

    found = np.log(best_eta(sigma, c, np.array([slope]))[0])
    grid = np.linspace(found - 30, found + 8, 4001)
    heights = np.array([g(x) for x in grid])
    assert g(found) >= heights.max() - 1e-9 * max(1, abs(heights.max()))
    near = minimize_scalar(lambda x: -g(x), bounds=(found - 1, found + 1), method="bounded", options={"xatol": 1e-10})
    assert near.x == pytest.approx(found, abs=1e-4)


def test_expected_logs_are_the_oracles():
    rng = np.random.default_rng(0)
    sticks = SticksPrior(1.0, 0.1, 1.0).updated(rng.gamma(1.0, size=(7, 5)))
    assert sticks.expected_log() == pytest.approx(sweeps.expected_log_sticks(sticks.left, sticks.right), rel=1e-12)


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


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"c": -1.0}, {"rate": float("nan")}, {"sigma": 2.0, "shared": True}])
def test_bad_numbers_are_refused(wrong):
    with pytest.raises(InputError, match="expected"):
        SticksPrior(**{"sigma": 1.0, "c": 1.0, "rate": 1.0, **wrong})
