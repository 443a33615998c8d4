"""The oracles of divergences and expected logarithms against closed forms, quadrature and sampling.

Every kind of check is also run once on a deliberately wrong variant, which it must reject.
"""

import numpy as np
import pytest
from oracles import sweeps
from oracles.special import digamma, gamma_density, log_beta
from oracles.sweep_cases import agree, differ

BETAS = [(1.0, 0.5, 1.0, 2.0), (3.2, 1.7, 1.0, 0.4), (1.4, 6.0, 2.0, 2.5)]
GAMMAS = [(1.1, 0.5, 0.5, 2.0), (2.0, 3.0, 1.5, 0.7), (7.5, 0.2, 1.0, 0.1)]


def test_beta_divergence():
    for s, e, sigma, eta in BETAS:
        want = sweeps.kl_beta_by_quadrature(s, e, sigma, eta)
        agree(sweeps.kl_beta(s, e, sigma, eta), want, 1e-10)
        agree(sweeps.kl_beta(s, e, sigma, eta), sweeps.kl_dirichlet([s, e], [sigma, eta]))
        differ(sweeps.kl_beta(sigma, eta, s, e), want, 1e-7)  # the two the wrong way round


def test_gamma_divergence():
    for shape, rate, c, b in GAMMAS:
        agree(sweeps.kl_gamma(shape, rate, c, b), sweeps.kl_gamma_by_quadrature(shape, rate, c, b), 1e-10)
        differ(
            sweeps.kl_gamma(shape, rate, c, b), sweeps.kl_gamma_by_quadrature(shape, rate, c, 1 / b), 1e-7
        )  # a scale


def test_dirichlet_divergence():
    q, p = np.array([2.0, 3.5, 2.2]), np.array([1.5, 1.0, 2.0])
    want = sweeps.kl_dirichlet_by_quadrature(q, p)
    agree(sweeps.kl_dirichlet(q, p), want, 1e-6)  # q ln q is not smooth at the edges
    differ(sweeps.kl_dirichlet(p, q), want, 1e-6)
    agree(sweeps.kl_dirichlet(q, 0.3), sweeps.kl_dirichlet(q, [0.3, 0.3, 0.3]))


def test_divergence_from_itself_is_nothing():
    agree(sweeps.kl_dirichlet([0.3, 2.0, 5.0], [0.3, 2.0, 5.0]), 0)
    agree(sweeps.kl_beta(0.3, 2.0, 0.3, 2.0), 0)
    agree(sweeps.kl_gamma(0.3, 1e-6, 0.3, 1e-6), 0)


STICKS = [
    (1.3, 2.0, 1.1, 0.5),
    (4.0, 0.3, 1.1, 1e-6),
    (1.0, 0.2, 1.1, 1e6),
    (2.0, 2.0, 40.0, 10.0),
    (1.5, 1.0, 0.1, 1.0),
]


def test_expected_stick_divergence_in_closed_form():
    for s, e, shape, rate in STICKS:
        # E ln q(V) - E ln p(V | eta), with ln p = ln eta + (eta - 1) ln(1 - V)
        kept, left = digamma(s) - digamma(s + e), digamma(e) - digamma(s + e)
        own = (s - 1) * kept + (e - 1) * left - log_beta(s, e)
        want = own - (digamma(shape) - np.log(rate)) - (shape / rate - 1) * left
        agree(sweeps.expected_stick_divergence(s, e, shape, rate), want, 1e-10)
        differ(sweeps.expected_stick_divergence(s, e, shape, rate), sweeps.kl_beta(s, e, 1, shape / rate), 1e-10)


def test_expected_stick_divergence_by_another_quadrature():
    for sigma in [1.0, 0.4]:
        nodes, weights = np.polynomial.legendre.leggauss(200)  # in u, eta = u^4: smooth enough at 0
        u = 60**0.25 * (nodes + 1) / 2
        density = np.exp(gamma_density(4 * np.log(u), 2.5, 1.5))
        terms = 4 * u**3 * density * sweeps.kl_beta(1.3, 2.0, sigma, u**4)
        want = 60**0.25 / 2 * np.sum(weights * terms)
        agree(sweeps.expected_stick_divergence(1.3, 2.0, 2.5, 1.5, sigma), want, 1e-9)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


# ---- expectations ----


def test_expected_log_sticks_by_sampling(rng):
    sigma_hat, eta_hat = np.array([2.0, 3.0, 1.5]), np.array([4.0, 2.0, 2.5])
    sticks = np.hstack([rng.beta(sigma_hat, eta_hat, size=(200_000, 3)), np.ones((200_000, 1))])
    before = np.hstack([np.ones((200_000, 1)), np.cumprod(1 - sticks[:, :-1], axis=1)])
    weights = sticks * before
    agree(weights.sum(axis=1), 1)
    logs = np.log(weights)
    error = logs.std(axis=0) / np.sqrt(len(logs))
    got = sweeps.expected_log_sticks(sigma_hat, eta_hat)
    assert np.all(np.abs(got - logs.mean(axis=0)) < 5 * error)
    short = sweeps.expected_log_sticks(sigma_hat[:2], eta_hat[:2])  # as if the third stick were the last
    assert not np.all(np.abs(short - logs.mean(axis=0)[:3]) < 5 * error[:3])


def test_expected_log_sticks_row_by_row():
    sigma_hat, eta_hat = np.array([[1.0, 2.0], [3.0, 0.5]]), np.array([[0.2, 1.0], [2.0, 4.0]])
    got = sweeps.expected_log_sticks(sigma_hat, eta_hat)
    agree(got[1], sweeps.expected_log_sticks(sigma_hat[1], eta_hat[1]))
    agree(sweeps.expected_log_sticks(np.zeros((2, 0)), np.zeros((2, 0))), np.zeros((2, 1)))
    differ(got[0], got[1])
