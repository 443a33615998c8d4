"""Beliefs about many discrete distributions at once, one per row: the factors of the posterior.

A prior turns soft counts into a posterior (`updated`); a posterior gives what the sweep needs: E ln w (`expected_log`),
its divergence from the prior (`divergence`), its mean, and samples. `Dirichlet` and `Point` are here, stick-breaking is
in `sticks`. With `Point` there is no prior: the posterior is the normalised counts, and the sweep is EM. All are plain
data and part of checkpoints.
"""

from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGE = 1e3  # above this, Stirling's series with two terms is exact to rounding


class RowBelief(Protocol):
    """A belief about distributions w[r, :]."""

    def expected_log(self) -> Floats:
        """E ln w[r, j]."""
        ...

    def divergence(self) -> float:
        """KL from the prior, over all rows."""
        ...

    def mean(self) -> Floats:
        """E w[r, j]; every row sums to one."""
        ...

    def sample(self, rng: np.random.Generator) -> Floats:
        """One draw of w[r, j]."""
        ...


def log_rise(start: float | Floats, rise: Floats) -> Floats:
    """ln Gamma(start + rise) - ln Gamma(start), rise >= 0, without cancellation of two large logarithms."""
    from scipy.special import gammaln

    begin = np.asarray(start, float)
    if (begin <= LARGE).all():
        return np.asarray(gammaln(begin + rise) - gammaln(begin))
    large = np.maximum(begin, LARGE)  # the other entries are not used, but must be numbers
    series = (large + rise - 0.5) * np.log1p(rise / large) + rise * (np.log(large) - 1)
    series += (1 / (large + rise) - 1 / large) / 12 - (1 / (large + rise) ** 3 - 1 / large**3) / 360
    return np.where(begin > LARGE, series, gammaln(begin + rise) - gammaln(begin))


class Dirichlet(Struct, frozen=True, tag=True):
    """Posterior of `DirichletPrior`."""

    weights: Floats  # [r, j]
    prior: float

    def expected_log(self) -> Floats:
        from scipy.special import digamma

        return digamma(self.weights) - digamma(self.weights.sum(axis=1, keepdims=True))

    def divergence(self) -> float:
        added = self.weights - self.prior
        normaliser = log_rise(self.weights.shape[1] * self.prior, added.sum(axis=1))
        return float(normaliser.sum() + (added * self.expected_log() - log_rise(self.prior, added)).sum())

    def mean(self) -> Floats:
        return self.weights / self.weights.sum(axis=1, keepdims=True)

    def sample(self, rng: np.random.Generator) -> Floats:
        draws = rng.standard_gamma(np.maximum(self.weights, 1e-8)) + 1e-300
        return draws / draws.sum(axis=1, keepdims=True)


class DirichletPrior(Struct, frozen=True, tag=True):
    """Symmetric: every outcome starts with `weight`."""

    weight: float
    sized: bool = False  # whether the number of outcomes is to be inferred

    def updated(self, counts: Floats, before: RowBelief | None = None) -> Dirichlet:
        """The belief after soft counts[r, j]; `before` is the last belief about the same rows."""
        return Dirichlet(self.weight + counts, self.weight)


class Point(Struct, frozen=True, tag=True):
    """A certain belief: EM."""

    table: Floats  # [r, j]

    def expected_log(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.table)

    def divergence(self) -> float:
        return 0.0

    def mean(self) -> Floats:
        return self.table

    def sample(self, rng: np.random.Generator) -> Floats:
        return self.table


class PointPrior(Struct, frozen=True, tag=True):
    """No prior. A row without counts stays unchanged."""

    sized: bool = False

    def updated(self, counts: Floats, before: RowBelief | None = None) -> Point:
        totals = counts.sum(axis=1, keepdims=True)
        default = np.full(counts.shape, 1 / counts.shape[1]) if before is None else before.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            return Point(np.where(totals > 0, counts / totals, default))
