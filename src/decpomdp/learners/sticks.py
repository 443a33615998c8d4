"""Stick-breaking beliefs: w_j = V_j prod_{m<j} (1 - V_m), V_j ~ Beta(sigma, eta_j), eta_j ~ Gamma(c, rate).

The last stick of the truncation is 1. The concentration eta is integrated out: the posterior of a stick with n counts
here and m beyond it is the exact joint one,

  q(V | eta) = Beta(sigma + n, eta + m),    q(eta) ~ p(eta) B(sigma + n, eta + m) / B(sigma, eta),

with p(eta) the Gamma on a grid of GRID values, so that every expectation is a finite sum and the bound is exact for
that prior, for any sigma. A stick without counts keeps its prior and does not change the bound. With one shared
concentration (the Dirichlet process) q(eta) multiplies the evidence of all sticks.
"""

from functools import cache

import numpy as np
from msgspec import Struct
from scipy.special import betaln, digamma, gammaincc, gammainccinv, gammaincinv

from decpomdp.learners.rows import Floats, RowBelief

GRID = 16  # values of eta
TAIL = 1e-7  # probability of the Gamma beyond the largest and, unless that is below LEAST of it, the smallest of them
LEAST = 1e-5  # of the largest: with a smaller eta the stick takes everything, too


class Sticks(Struct, frozen=True, tag=True):
    """Posterior of `SticksPrior`."""

    prior: "SticksPrior"
    here: Floats  # [r, j] for the sticks j < Z - 1: soft counts
    beyond: Floats  # [r, j] soft counts of later sticks
    kept: Floats  # [r, j] E ln V
    passed: Floats  # [r, j] E ln(1 - V)
    share: Floats  # [r, j] E V
    evidence: float  # ln of the probability of the counts

    def expected_log(self) -> Floats:
        before = np.concatenate([np.zeros((len(self.kept), 1)), np.cumsum(self.passed, axis=1)], axis=1)
        before[:, :-1] += self.kept
        return before

    def divergence(self) -> float:
        return float((self.here * self.kept + self.beyond * self.passed).sum()) - self.evidence

    def mean(self) -> Floats:
        return _broken(self.share)

    def sample(self, rng: np.random.Generator) -> Floats:
        here, beyond = self.here.ravel(), self.beyond.ravel()
        chances = np.exp(_posterior(self.prior, here, beyond)[0]).cumsum(axis=1)
        place = (rng.random((len(here), 1)) > chances).sum(axis=1).clip(max=GRID - 1)
        eta = concentrations(self.prior.c, self.prior.rate)[0][place]
        return _broken(rng.beta(self.prior.sigma + here, eta + beyond).reshape(self.here.shape))


class SticksPrior(Struct, frozen=True, tag=True):
    """Stick-breaking prior with a Gamma(c, rate) hyperprior on eta."""

    sigma: float
    c: float
    rate: float
    # DEPARTS: the paper calls sigma = 1 alone a Dirichlet process; that takes one concentration for all sticks
    shared: bool = False
    sized: bool = True

    def updated(self, counts: Floats, before: RowBelief | None = None) -> Sticks:
        return self.of_sticks(counts[:, :-1], np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:])

    def of_sticks(self, here: Floats, beyond: Floats) -> Sticks:
        """The belief after soft counts [r, j] at every stick but the last, and beyond it."""
        rows = np.flatnonzero((here + beyond).ravel() > 0)
        n, m = (np.append(table.ravel()[rows], 0.0) for table in (here, beyond))  # the last: a stick without counts
        log_q, evidence = _posterior(self, n, m)
        q, eta = np.exp(log_q), concentrations(self.c, self.rate)[0]
        both = digamma(self.sigma + n[:, None] + eta + m[:, None])
        expected = (
            digamma(self.sigma + n) - (q * both).sum(axis=1),
            (q * (digamma(eta + m[:, None]) - both)).sum(axis=1),
            (q * ((self.sigma + n[:, None]) / (self.sigma + n[:, None] + eta + m[:, None]))).sum(axis=1),
        )
        kept, passed, share = (np.full(here.shape, table[-1]) for table in expected)
        for table, values in zip((kept, passed, share), expected, strict=True):
            table.flat[rows] = values[:-1]
        return Sticks(self, here, beyond, kept, passed, share, evidence)


@cache
def concentrations(c: float, rate: float) -> tuple[Floats, Floats]:
    """The values of eta, and the log probability of each: that of the Gamma between the geometric midpoints."""
    most = gammainccinv(c, TAIL)
    eta = np.geomspace(max(gammaincinv(c, TAIL), LEAST * most), most, GRID)
    beyond = np.concatenate([[1.0], gammaincc(c, np.sqrt(eta[1:] * eta[:-1])), [0.0]])
    return np.asarray(eta / rate), np.log(np.maximum(-np.diff(beyond), 1e-300))


def _posterior(prior: SticksPrior, n: Floats, m: Floats) -> tuple[Floats, float]:
    """[s, g]: ln q(eta_g) of every stick, and the log evidence of all counts."""
    eta, log_p = concentrations(prior.c, prior.rate)
    gained = betaln(prior.sigma + n[:, None], eta + m[:, None]) - betaln(prior.sigma, eta)
    if prior.shared:
        total = log_p + gained.sum(axis=0)
        evidence = float(_log_sum(total))
        return np.broadcast_to(total - evidence, gained.shape), evidence
    gained += log_p
    each = _log_sum(gained)
    return gained - each[:, None], float(each.sum())


def _log_sum(logs: Floats) -> Floats:
    """ln of the sum of exp(logs) over the last axis."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])


def _broken(share: Floats) -> Floats:
    """Stick lengths from the shares broken off."""
    left = np.concatenate([np.ones((len(share), 1)), np.cumprod(1 - share, axis=1)], axis=1)
    left[:, :-1] *= share
    return left
