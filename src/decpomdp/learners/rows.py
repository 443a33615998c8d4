"""Beliefs about many discrete distributions at once, one per row: the factors of the posterior.

A prior turns soft counts into a posterior (`updated`); a posterior gives what the sweep needs: E ln w (`expected_log`),
its divergence from the prior (`divergence`), its mean, and samples. `Dirichlet` and `Point` are here, stick-breaking is
in `sticks`. `Point` is no prior at all: the posterior is the normalised counts, which makes the sweep EM.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Rows(Protocol):
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


class RowPrior(Protocol):
    """Where beliefs come from."""

    @property
    def sized(self) -> bool:
        """Whether the number of outcomes is to be inferred."""
        ...

    def updated(self, counts: Floats, before: Rows | None = None) -> Rows:
        """The belief after soft counts[r, j]; `before` is the last belief about the same rows."""
        ...


@dataclass(frozen=True, slots=True)
class Dirichlet:
    """Posterior of `DirichletPrior`."""

    weights: Floats  # [r, j]
    prior: float

    def expected_log(self) -> Floats:
        from scipy.special import digamma

        return digamma(self.weights) - digamma(self.weights.sum(axis=1, keepdims=True))

    def divergence(self) -> float:
        from scipy.special import gammaln

        width = self.weights.shape[1]
        normaliser = gammaln(self.weights.sum(axis=1)) - gammaln(self.weights).sum(axis=1)
        normaliser -= gammaln(width * self.prior) - width * gammaln(self.prior)
        return float(normaliser.sum() + ((self.weights - self.prior) * self.expected_log()).sum())

    def mean(self) -> Floats:
        return self.weights / self.weights.sum(axis=1, keepdims=True)

    def sample(self, rng: np.random.Generator) -> Floats:
        draws = rng.standard_gamma(np.maximum(self.weights, 1e-8)) + 1e-300
        return draws / draws.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class DirichletPrior:
    """Symmetric: every outcome starts with `weight`."""

    weight: float
    sized: bool = False

    def updated(self, counts: Floats, before: Rows | None = None) -> Dirichlet:
        return Dirichlet(self.weight + counts, self.weight)


@dataclass(frozen=True, slots=True)
class Point:
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


@dataclass(frozen=True, slots=True)
class PointPrior:
    """No prior. A row without counts stays as it was."""

    sized: bool = False

    def updated(self, counts: Floats, before: Rows | None = None) -> Point:
        totals = counts.sum(axis=1, keepdims=True)
        kept = np.full(counts.shape, 1 / counts.shape[1]) if before is None else before.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            return Point(np.where(totals > 0, counts / totals, kept))
