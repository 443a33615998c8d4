"""The Bellman equation v = B v of a chain: solved, and the answer proved.

B is linear and a contraction by c, the largest sum of a row of its linear part: the discount, but for the rounding that
is left in rows of probabilities. So whatever v was found, |B v - v*| <= c max |B v - v| / (1 - c). Three ways,
each taken where the one before does not suffice: a Krylov method (BiCGSTAB) on the matrix-free backup; plain backups,
which always converge, slowly where the discount is near 1; and the Krylov method with factors of the matrix, exact ones
of a small matrix and incomplete ones of a large sparse one. Long cycles defeat the first (their eigenvalues lie on a
circle), and are nothing to the last.

A chain holds rewards divided by a power of two, which changes no digit and keeps the squares of very large and very
small ones within floating point. Values and errors here are in that unit.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from decpomdp.evaluation.allowance import Allowance

Floats = NDArray[np.float64]

EPS = float(np.finfo(float).eps)
ROUNDING = 1e-11  # of the largest reward: the precision asked for
CORRECTIONS = 4  # Krylov solves, each on what the last one left over
POLISHES = 5000  # plain backups after them, at most
VISIBLE = 1e-8  # of the largest value: an error that is worth more work
SMALL = 3000  # pairs whose matrix may be factored as it is
LARGE = 20_000_000  # positive entries of a matrix that may be factored incompletely
FILL = 10  # how much more entries incomplete factors may have
DROP = 1e-5  # what they leave out


class Chain(Protocol):
    """What a team makes of a model."""

    shape: tuple[int, int]
    expected: Floats  # rewards, divided by 2 to the `power`
    power: int
    allowance: Allowance

    @property
    def discount(self) -> float:
        """That of the model."""

    def backup(self, v: Floats, rewards: Floats | None) -> Floats:
        """What follows v, with these rewards; None: none."""

    def linear(self, largest: int) -> Any:
        """The backup without rewards as a sparse matrix, or None if it is not at hand for so many pairs."""


def solve(chain: Chain) -> tuple[Floats, float]:
    """The fixed point of the backup, and a bound on its error."""
    rewards = chain.expected
    wanted = ROUNDING * max(float(np.abs(rewards).max()), 1e-300)
    v, residual = _corrected(chain, rewards, np.zeros(chain.shape), wanted, None)
    error = _bound(chain, residual)
    if error > 10 * rounding(chain, v) and (residual > wanted or error > VISIBLE * float(np.abs(v).max())):
        factors = _factors(chain)
        if factors is not None:
            v, residual = _corrected(chain, rewards, v, wanted, factors)
    return v, _bound(chain, residual)


def rounding(chain: Chain, v: Floats) -> float:
    """How far v, and what it is at the start, may be off where the equation holds to the last digit."""
    allowed, size = chain.allowance, float(np.abs(v).max())
    each = (8 * EPS + off(chain) + allowed.rows) * max(size, allowed.gross) + allowed.lost
    return each * _ahead(chain) + allowed.start * size if each else 0.0


def off(chain: Chain) -> float:
    """How far a row of the chain's probabilities, times the discount, may be from summing to the discount."""
    return float(np.abs(_sums(chain) - chain.discount).max())


def _sums(chain: Chain) -> Floats:
    return chain.backup(np.ones(chain.shape), None)


def _ahead(chain: Chain) -> float:
    """1 / (1 - c): what an error in every step adds up to."""
    contraction = max(chain.discount, float(_sums(chain).max()))
    return 1 / (1 - contraction) if contraction < 1 else np.inf


def _bound(chain: Chain, residual: float) -> float:
    """How far v may be off if B v is so far from v."""
    return residual * (_ahead(chain) - 1) if residual else 0.0


def power_of(size: float) -> int:
    """The power of two just above a number."""
    return int(np.frexp(size)[1])


def _corrected(
    chain: Chain, rewards: Floats, v: Floats, wanted: float, factors: Callable[[Floats], Floats] | None
) -> tuple[Floats, float]:
    """A better v: Krylov solves and then plain backups; the best of both, and its residual."""
    following, residual = v, np.inf
    for correct in [True] * CORRECTIONS + [False] * POLISHES:
        following = chain.backup(v, rewards)
        gap = following - v
        last, residual = residual, float(np.abs(gap).max())
        if residual <= wanted or (not correct and residual >= last):  # as good as asked for, or as rounding allows
            break
        v = v + _correction(chain, gap, 0.1 * wanted, factors) if correct else following
    return following, residual


def _correction(chain: Chain, gap: Floats, wanted: float, factors: Callable[[Floats], Floats] | None) -> Floats:
    """d with v + d = B(v + d), given gap = B v - v: a linear equation in the backup's linear part."""
    from scipy.sparse.linalg import LinearOperator, bicgstab

    def left(flat: Floats) -> Floats:
        return flat - chain.backup(flat.reshape(chain.shape), None).ravel()

    size = (gap.size, gap.size)
    near = None if factors is None else LinearOperator(size, matvec=factors, dtype=np.float64)
    operator = LinearOperator(size, matvec=left, dtype=np.float64)
    flat, _ = bicgstab(operator, gap.ravel(), rtol=1e-12, atol=wanted, maxiter=300, M=near)
    solved = flat.reshape(chain.shape)
    after = gap + chain.backup(solved, None) - solved
    better = bool(np.all(np.isfinite(solved))) and np.abs(after).max() < np.abs(gap).max()
    return solved if better else gap  # v + gap is the plain backup


def _factors(chain: Chain) -> Callable[[Floats], Floats] | None:
    """A quick way to about solve (1 - linear part) d = gap; None if the matrix is too large."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spilu, splu

    linear = chain.linear(SMALL)
    if linear is None or linear.nnz > LARGE:
        return None
    matrix = csc_array(eye_array(linear.shape[0]) - linear)
    try:
        found = splu(matrix) if linear.shape[0] <= SMALL else spilu(matrix, drop_tol=DROP, fill_factor=FILL)
    except (RuntimeError, MemoryError):  # singular to rounding: plain backups have to do
        return None
    solve_with: Callable[[Floats], Floats] = found.solve
    return solve_with
