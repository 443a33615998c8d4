"""The belief about a stick's concentration eta, where V ~ Beta(sigma, eta) and eta ~ Gamma(c, rate).

ln p(V | eta) holds f(eta) = ln Gamma(sigma + eta) - ln Gamma(eta), which is ln eta for sigma = 1 and conjugate to a
Gamma then only. Otherwise f is replaced by a line below it that touches it at one point x (docs/formulas.md,
section 9), which leaves a Gamma again and a bound that is still one:

  sigma < 1: f(eta) - ln eta is convex in eta;    best x = E eta;          q(eta) = Gamma(c + 1, slope + 1/x - f'(x))
  sigma > 1: f is convex in ln eta;               best x = exp E ln eta;   q(eta) = Gamma(c + h(x), slope)

with slope = rate - E ln(1 - V) and h(x) = x f'(x), which runs from 1 to sigma as x grows. x and q(eta) are found
together: the two equations have one solution, between known ends.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, zeta

from decpomdp.learners.rows import Floats

CLOSE = 1e-9  # in ln x; the bound is flat at its maximum and cannot tell
Height = Callable[[Floats], tuple[Floats, Floats]]  # of ln x: a function that falls through 0, and its derivative


@dataclass(frozen=True, slots=True)
class Concentration:
    """Belief about eta: Gamma(shape, rate)."""

    shape: Floats  # [r, j] or [1, 1] when shared
    rate: Floats

    @property
    def mean(self) -> Floats:
        """E eta."""
        return self.shape / self.rate

    def expected_log(self) -> Floats:
        """E ln eta."""
        return digamma(self.shape) - np.log(self.rate)

    def expected_normaliser(self, sigma: float) -> Floats:
        """E ln of the constant in Beta(sigma, eta), or what is below it."""
        logs = self.expected_log()
        if sigma == 1:
            return logs
        if sigma < 1:  # -ln B(sigma, x) = f(x) - ln Gamma(sigma)
            return np.asarray(logs - np.log(self.mean) - betaln(sigma, self.mean))
        return np.asarray(-betaln(sigma, np.exp(logs)))


def best_concentration(sigma: float, c: float, slope: Floats) -> Concentration:
    """The belief about eta that makes the bound highest, given slope = rate - E ln(1 - V) > 0."""
    if sigma == 1:
        return Concentration(np.full(slope.shape, c + 1), slope)
    few, where = np.unique(slope, return_inverse=True)  # sticks without counts are all alike
    if len(few) < slope.size:
        found = best_concentration(sigma, c, few)
        return Concentration(found.shape[where].reshape(slope.shape), found.rate[where].reshape(slope.shape))
    # DEPARTS: a Gamma and a bound of f; the paper's point on a grid has no entropy, and an empty stick pays for ever
    if sigma < 1:
        touched = np.exp(_root(_below(sigma, c, slope), np.log((c + sigma) / slope), np.log((c + 1) / slope)))
        return Concentration(np.full(slope.shape, c + 1), (c + 1) / touched)
    ends = (digamma(c + end) - np.log(slope) for end in (1.0, sigma))
    touched = np.exp(_root(_above(sigma, c, slope), *ends))
    return Concentration(c + _h(sigma, touched)[0], slope)


def _h(sigma: float, x: Floats) -> tuple[Floats, Floats]:
    """h(x) = x (psi(sigma + x) - psi(x)) and its derivative by ln x; between 1 and sigma whatever the rounding."""
    h = x * (digamma(sigma + x) - digamma(x))
    return np.clip(h, min(1.0, sigma), max(1.0, sigma)), h + x**2 * (zeta(2, sigma + x) - zeta(2, x))


def _below(sigma: float, c: float, slope: Floats) -> Height:
    """sigma < 1: x (slope + 1/x - f'(x)) = c + 1."""

    def height(log_x: Floats) -> tuple[Floats, Floats]:
        x = np.exp(log_x)
        h, rise = _h(sigma, x)
        return c + h - slope * x, rise - slope * x

    return height


def _above(sigma: float, c: float, slope: Floats) -> Height:
    """sigma > 1: ln x = psi(c + h(x)) - ln slope."""

    def height(log_x: Floats) -> tuple[Floats, Floats]:
        h, rise = _h(sigma, np.exp(log_x))
        return digamma(c + h) - np.log(slope) - log_x, zeta(2, c + h) * rise - 1

    return height


def _root(height: Height, low: Floats, high: Floats) -> Floats:
    """Where each `height` is 0: Newton steps, and halves of the bracket where one would leave it."""
    found = 0.5 * (low + high)
    for _ in range(60):
        above, steep = height(found)
        low, high = np.where(above > 0, found, low), np.where(above > 0, high, found)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = found - above / steep
        following = np.where((moved >= low) & (moved <= high), moved, 0.5 * (low + high))
        far = np.abs(following - found) > CLOSE * np.maximum(1, np.abs(found))
        found = following
        if not far.any():
            break
    return found
