"""Stick-breaking beliefs: w_j = V_j prod_{m<j} (1 - V_m), V_j ~ Beta(sigma, eta_j), eta_j ~ Gamma(c, rate).

The last stick of the truncation is 1. Posterior: q(V_j) = Beta(sigma + n_j, <eta_j> + sum_{l>j} n_l).

sigma = 1: conjugate, q(eta_j) = Gamma(c + 1, rate - E ln(1 - V_j)); with one shared concentration (the Dirichlet
process) q(eta) = Gamma(c + number of sticks, rate - sum E ln(1 - V)).

sigma != 1: a Gamma too, with a bound of what is not conjugate (`concentration`).
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from decpomdp.learners.concentration import Concentration, best_concentration
from decpomdp.learners.rows import Floats, Rows, digamma_rise, log_rise


class Sticks(Struct, frozen=True, tag=True):
    """Posterior of `SticksPrior`."""

    prior: "SticksPrior"
    left: Floats  # [r, j] for the sticks j < Z - 1: first Beta parameter
    right: Floats  # [r, j] second Beta parameter
    eta: Concentration

    def logs(self) -> tuple[Floats, Floats]:
        """E ln V and E ln(1 - V)."""
        return -digamma_rise(self.left, self.right), -digamma_rise(self.right, self.left)

    def expected_log(self) -> Floats:
        kept, passed = self.logs()
        before = np.concatenate([np.zeros((len(kept), 1)), np.cumsum(passed, axis=1)], axis=1)
        before[:, :-1] += kept
        return before

    def divergence(self) -> float:
        # E ln q(V) - E ln p(V | eta), with the large terms that cancel (E ln(1 - V) is -1e7 for a tiny eta) taken
        # together: (right - 1) - (eta - 1) = right - eta
        kept, passed = self.logs()
        gap = log_rise(self.right, self.left) - gammaln(self.left)
        gap -= self.eta.expected_normaliser(self.prior.sigma)
        gap += (self.left - self.prior.sigma) * kept + (self.right - self.eta.mean) * passed
        return float(gap.sum()) + self._eta_divergence()

    def mean(self) -> Floats:
        share = self.left / (self.left + self.right)
        return _broken(share)

    def sample(self, rng: np.random.Generator) -> Floats:
        return _broken(rng.beta(self.left, self.right))

    def _eta_divergence(self) -> float:
        """KL(q(eta) || Gamma(c, rate))."""
        c, rate, eta = self.prior.c, self.prior.rate, self.eta
        gap = (eta.shape - c) * digamma(eta.shape) - log_rise(c, eta.shape - c)
        gap += c * (np.log(eta.rate) - np.log(rate)) + eta.mean * (rate - eta.rate)
        return float(gap.sum())


class SticksPrior(Struct, frozen=True, tag=True):
    """Stick-breaking prior with a Gamma(c, rate) hyperprior on eta."""

    sigma: float
    c: float
    rate: float
    # DEPARTS: the paper calls sigma = 1 alone a Dirichlet process; that takes one concentration for all sticks
    shared: bool = False
    sized: bool = True

    def updated(self, counts: Floats, before: Rows | None = None) -> Sticks:
        here = counts[:, :-1]
        beyond = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]
        if isinstance(before, Sticks) and before.left.shape == here.shape:
            return self._round(here, beyond, before.eta)
        posterior = self._round(here, beyond, self._start(here.shape))
        for _ in range(10):  # nothing to begin from: let sticks and concentrations settle
            posterior = self._round(here, beyond, posterior.eta)
        return posterior

    def _start(self, shape: tuple[int, ...]) -> Concentration:
        size = (1, 1) if self.shared else shape
        return Concentration(np.full(size, self.c), np.full(size, self.rate))

    def _round(self, here: Floats, beyond: Floats, eta: Concentration) -> Sticks:
        """Sticks given concentrations, then concentrations given sticks."""
        sticks = Sticks(self, self.sigma + here, eta.mean + beyond, eta)
        _, passed = sticks.logs()
        return Sticks(self, sticks.left, sticks.right, self._concentration(passed))

    def _concentration(self, passed: Floats) -> Concentration:
        if self.shared:
            return Concentration(np.full((1, 1), self.c + passed.size), np.full((1, 1), self.rate - passed.sum()))
        return best_concentration(self.sigma, self.c, self.rate - passed)


def _broken(share: NDArray[np.float64]) -> Floats:
    """Stick lengths from the shares broken off."""
    left = np.concatenate([np.ones((len(share), 1)), np.cumprod(1 - share, axis=1)], axis=1)
    left[:, :-1] *= share
    return left
