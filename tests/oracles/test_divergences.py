"""The oracles of divergences and expected logarithms against closed forms, quadrature and sampling.

Every kind of check is also run once on a deliberately wrong variant, which it must reject.
"""

import numpy as np
import pytest
from oracles import sweeps
from oracles.sweep_cases import agree, differ

BETAS = [(1.0, 0.5, 1.0, 2.0), (3.2, 1.7, 1.0, 0.4), (1.4, 6.0, 2.0, 2.5)]


@pytest.mark.parametrize(("s", "e", "sigma", "eta"), BETAS)
def test_beta_divergence(s, e, sigma, eta):
    want = sweeps.kl_beta_by_quadrature(s, e, sigma, eta)
    agree(sweeps.kl_beta(s, e, sigma, eta), want, 1e-10)
    agree(sweeps.kl_beta(s, e, sigma, eta), sweeps.kl_dirichlet([s, e], [sigma, eta]))
    differ(sweeps.kl_beta(sigma, eta, s, e), want, 1e-7)  # the two the wrong way round


def test_dirichlet_divergence():
    q, p = np.array([2.0, 3.5, 2.2]), np.array([1.5, 1.0, 2.0])
    want = sweeps.kl_dirichlet_by_quadrature(q, p)
    agree(sweeps.kl_dirichlet(q, p), want, 1e-6)  # q ln q is not smooth at the edges
    differ(sweeps.kl_dirichlet(p, q), want, 1e-6)
    agree(sweeps.kl_dirichlet(q, 0.3), sweeps.kl_dirichlet(q, [0.3, 0.3, 0.3]))


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def sticks(shared=False, rows=1):
    here, beyond = (
        np.array([[2.0, 3.0, 0.5], [0.0, 4.0, 0.0]])[:rows],
        np.array([[3.5, 0.5, 0.0], [6.0, 2.0, 2.0]])[:rows],
    )
    prior = {"sigma": 1.3, "eta": [0.4, 2.0, 5.0], "chance": [0.5, 0.3, 0.2], "shared": shared}
    return {**prior, "here": here, "beyond": beyond}


@pytest.mark.parametrize("shared", [False, True])
def test_sticks_by_sampling_the_prior(rng, shared):
    """The posterior by importance: draws of the prior, weighted by the probability of the counts."""
    agent, draws = sticks(shared, rows=2), 400_000
    shape = (draws, *(() if shared else agent["here"].shape))
    eta = rng.choice(agent["eta"], p=agent["chance"], size=shape)
    share = rng.beta(agent["sigma"], eta[:, None, None] if shared else eta, size=(draws, *agent["here"].shape))
    logs = agent["here"] * np.log(share) + agent["beyond"] * np.log1p(-share)
    weights = np.exp(logs.sum(axis=(1, 2)))
    kept, passed = (np.tensordot(weights, np.log(part), 1) / weights.sum() for part in (share, 1 - share))
    want = np.hstack([np.zeros((2, 1)), np.cumsum(passed, axis=1)])
    want[:, :-1] += kept
    np.testing.assert_allclose(sweeps.expected_log_sticks(agent), want, atol=0.06)
    total = np.sum(agent["here"] * kept + agent["beyond"] * passed) - np.log(weights.mean())
    assert sweeps.sticks_divergence(agent) == pytest.approx(total, abs=0.1)
    other = {**agent, "shared": not shared}
    assert sweeps.sticks_divergence(other) != pytest.approx(total, abs=0.1)


def test_sticks_without_counts_are_the_prior():
    agent = sticks()
    empty = {**agent, "here": 0 * agent["here"], "beyond": 0 * agent["beyond"]}
    agree(sweeps.concentrations(empty)[0, 0], agent["chance"])
    agree(sweeps.sticks_divergence(empty), 0)
    assert sweeps.sticks_divergence(agent) > 0.1
