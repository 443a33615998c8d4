"""Stick-breaking beliefs: w_j = V_j prod_{m<j} (1 - V_m), V_j ~ Beta(sigma, eta_j), eta_j ~ Gamma(c, rate).

The last stick of the truncation is 1. Posterior: q(V_j) = Beta(sigma + n_j, <eta_j> + sum_{l>j} n_l).

sigma = 1: conjugate, q(eta_j) = Gamma(c + 1, rate - E ln(1 - V_j)); with one shared concentration (the Dirichlet
process) q(eta) = Gamma(c + number of sticks, rate - sum E ln(1 - V)).

sigma != 1: q(eta_j) is a point, the maximum of
  g(eta) = ln Gamma(sigma + eta) - ln Gamma(eta) + eta E ln(1 - V) + (c - 1) ln eta - rate eta.
g' falls from +infinity and crosses zero exactly once (docs/formulas.md), so a bracketed Newton iteration finds the
maximum to rounding; a grid (the paper's way) may step past it and lower the bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, zeta

from decpomdp.core import InputError
from decpomdp.learners.rows import Floats, Rows

CLOSE = 1e-12  # relative; g is flat at its maximum, so that the bound cannot tell


@dataclass(frozen=True, slots=True)
class Concentration:
    """Belief about eta: Gamma(shape, rate), or a point."""

    mean: Floats  # [r, j] or [1, 1] when shared
    shape: Floats | None  # None: a point
    rate: Floats | None

    def expected_log(self) -> Floats:
        """E ln eta."""
        return np.log(self.mean) if self.shape is None or self.rate is None else digamma(self.shape) - np.log(self.rate)


@dataclass(frozen=True, slots=True)
class Sticks:
    """Posterior of `SticksPrior`."""

    prior: "SticksPrior"
    left: Floats  # [r, j] for the sticks j < Z - 1: first Beta parameter
    right: Floats  # [r, j] second Beta parameter
    eta: Concentration

    def logs(self) -> tuple[Floats, Floats]:
        """E ln V and E ln(1 - V)."""
        both = digamma(self.left + self.right)
        return digamma(self.left) - both, digamma(self.right) - both

    def expected_log(self) -> Floats:
        kept, passed = self.logs()
        before = np.concatenate([np.zeros((len(kept), 1)), np.cumsum(passed, axis=1)], axis=1)
        before[:, :-1] += kept
        return before

    def divergence(self) -> float:
        # E ln q(V) - E ln p(V | eta), with the large terms that cancel (E ln(1 - V) is -1e7 for a tiny eta) taken
        # together: (right - 1) - (eta - 1) = right - eta
        kept, passed = self.logs()
        gap = gammaln(self.left + self.right) - gammaln(self.left) - gammaln(self.right) - self._normaliser()
        gap += (self.left - self.prior.sigma) * kept + (self.right - self.eta.mean) * passed
        return float(gap.sum()) + self._eta_divergence()

    def mean(self) -> Floats:
        share = self.left / (self.left + self.right)
        return _broken(share)

    def sample(self, rng: np.random.Generator) -> Floats:
        return _broken(rng.beta(self.left, self.right))

    def _normaliser(self) -> Floats:
        """E ln of the constant in Beta(sigma, eta)."""
        sigma, eta = self.prior.sigma, self.eta
        return eta.expected_log() if sigma == 1 else gammaln(sigma + eta.mean) - gammaln(sigma) - gammaln(eta.mean)

    def _eta_divergence(self) -> float:
        """KL(q(eta) || Gamma(c, rate)); for a point, minus the log density there."""
        c, rate, eta = self.prior.c, self.prior.rate, self.eta
        if eta.shape is None or eta.rate is None:
            density = c * np.log(rate) - gammaln(c) + (c - 1) * np.log(eta.mean) - rate * eta.mean
            return -float(density.sum())
        gap = (eta.shape - c) * digamma(eta.shape) - gammaln(eta.shape) + gammaln(c)
        gap += c * (np.log(eta.rate) - np.log(rate)) + eta.mean * (rate - eta.rate)
        return float(gap.sum())


@dataclass(frozen=True, slots=True)
class SticksPrior:
    """Stick-breaking prior with a Gamma(c, rate) hyperprior on eta."""

    sigma: float
    c: float
    rate: float
    # DEPARTS: the paper calls sigma = 1 alone a Dirichlet process; that takes one concentration for all sticks
    shared: bool = False
    sized: bool = True

    def __post_init__(self) -> None:
        for name, value in (("sigma", self.sigma), ("c", self.c), ("rate", self.rate)):
            if not (np.isfinite(value) and value > 0):
                raise InputError(f"{name}: expected a number above 0, got {value}")
        if self.shared and self.sigma != 1:
            raise InputError(f"sigma: expected 1 with one shared concentration, got {self.sigma}")

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
        return Concentration(np.full(size, self.c / self.rate), None, None)

    def _round(self, here: Floats, beyond: Floats, eta: Concentration) -> Sticks:
        """Sticks given concentrations, then concentrations given sticks."""
        sticks = Sticks(self, self.sigma + here, eta.mean + beyond, eta)
        _, passed = sticks.logs()
        return Sticks(self, sticks.left, sticks.right, self._concentration(passed))

    def _concentration(self, passed: Floats) -> Concentration:
        if self.sigma != 1:  # DEPARTS: a bracketed root; the paper's grid search may lower the bound
            return Concentration(best_eta(self.sigma, self.c, self.rate - passed), None, None)
        if self.shared:
            shape, rate = np.full((1, 1), self.c + passed.size), np.full((1, 1), self.rate - passed.sum())
        else:
            shape, rate = np.full(passed.shape, self.c + 1), self.rate - passed
        return Concentration(shape / rate, shape, rate)


def best_eta(sigma: float, c: float, slope: Floats) -> Floats:
    """The maximum of ln Gamma(sigma + eta) - ln Gamma(eta) + (c - 1) ln eta - slope eta, slope > 0.

    eta g'(eta) = eta (psi(sigma + eta) - psi(eta)) + c - 1 - slope eta is at least
    c - eta (slope + max(0, psi(1) - psi(sigma))) and at most max(1, sigma) + c - 1 - slope eta, which brackets the
    root. Newton steps in ln eta, halving when one leaves the bracket.
    """
    low = np.log(0.5 * c / (slope + max(0.0, float(digamma(1.0) - digamma(sigma)))))
    high = np.log(2 * (max(1.0, sigma) + c - 1) / slope)
    found = 0.5 * (low + high)
    open_ = np.ones(found.shape, bool)  # roots still to be found
    for _ in range(60):
        point, below, above, steep = found[open_], low[open_], high[open_], slope[open_]
        eta = np.exp(point)
        excess = digamma(sigma + eta) - digamma(eta)
        height = eta * excess + c - 1 - steep * eta
        below, above = np.where(height > 0, point, below), np.where(height > 0, above, point)
        rise = eta * (excess - steep) + eta**2 * (zeta(2, sigma + eta) - zeta(2, eta))
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = point - height / rise
        inside = (moved > below) & (moved < above)
        following = np.where(inside, moved, 0.5 * (below + above))
        found[open_], low[open_], high[open_] = following, below, above
        open_[open_] = np.abs(following - point) > CLOSE * np.maximum(1, np.abs(point))
        if not open_.any():
            break
    return np.exp(found)


def _broken(share: NDArray[np.float64]) -> Floats:
    """Stick lengths from the shares broken off."""
    left = np.concatenate([np.ones((len(share), 1)), np.cumprod(1 - share, axis=1)], axis=1)
    left[:, :-1] *= share
    return left
