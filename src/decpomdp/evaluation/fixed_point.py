"""The fixed point x = B x of a linear contraction: the one solver of exact evaluation, EM and PBVI.

B x = b + L x, where L contracts by c, its largest row sum: the discount, apart from rounding in rows of probabilities.
The first iterations are corrections, each a Krylov solve (BiCGSTAB, matrix-free) of (1 - L) d = B x - x; then come
plain iterations x <- B x, which always converge, but slowly if the discount is near 1. For any x,

  |B x - x*| <= c max |B x - x| / (1 - c).

`solve` applies this to the Bellman equation of a chain and bounds the error of the result. If the iterations did not
converge, it tries again with factors of the matrix as preconditioner: exact factors of a small matrix, incomplete ones
of a large sparse matrix. Krylov methods without preconditioner fail for long cycles, whose eigenvalues lie on a circle.

A chain has rewards divided by a power of two, which changes no digit, because the Krylov method's test for a breakdown
is absolute. Its values and errors are in that unit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Team

Floats = NDArray[np.float64]
Apply = Callable[[Floats, bool], Floats]  # (x, True): B x; (x, False): L x
Solve = Callable[[Floats], Floats]  # about (1 - L)^-1, of flat vectors

EPS = float(np.finfo(float).eps)
ROUNDING = 1e-11  # requested precision, relative to the largest reward
VISIBLE = 1e-8  # error, relative to the largest value, above which there is a second attempt
SMALL = 3000  # pairs whose matrix may be factored exactly
LARGE = 20_000_000  # positive entries of a matrix that may be factored incompletely
FILL = 10  # factor by which incomplete factors may have more entries
DROP = 1e-5  # relative size of entries that they leave out


class Scheme(NamedTuple):
    """Parameters of the iteration. All schemes find the same fixed point; the last digits depend on every field."""

    corrections: int  # Krylov solves, each on the residual of the last one
    passes: int  # plain iterations after them, at most
    patience: int  # passes after which a residual that does not fall ends the iteration
    krylov_steps: int  # of one solve, at most
    rtol: float  # of one solve, relative to the residual,
    atol: float  # and as a share of the precision asked for
    from_image: bool = False  # correct B x (the right-hand side is L (B x - x)) instead of x
    increments: bool = False  # plain iterations add B x - x to x instead of using B x
    rescaled: bool = False  # Krylov solves in units of a power of two near the residual: it may have any size


EXACT = Scheme(corrections=4, passes=5000, patience=4, krylov_steps=300, rtol=1e-12, atol=0.1)


def fixed_point(
    apply: Apply, x: Floats, wanted: float, scheme: Scheme, factors: Solve | None = None
) -> tuple[Floats, float]:
    """B x of the last x, and max |B x - x|: at most `wanted`, or as small as rounding and the passes allow."""
    image, residual = x, np.inf
    for step in range(scheme.corrections + scheme.passes):
        image = apply(x, True)
        gap = image - x
        last, residual = residual, float(np.abs(gap).max())
        if residual <= wanted or (step >= scheme.patience and residual >= last):
            break
        if step < scheme.corrections:
            correct = _corrected_image if scheme.from_image else _corrected
            x = correct(apply, x, image, scheme, scheme.atol * wanted, factors)
        else:
            x = x + gap if scheme.increments else image
    return image, residual


def _corrected(apply: Apply, x: Floats, image: Floats, scheme: Scheme, atol: float, factors: Solve | None) -> Floats:
    """x + d with (1 - L) d = B x - x; x + (B x - x) where the Krylov method did not converge."""
    gap = image - x
    d = _krylov(apply, gap, scheme, atol, factors)
    better = bool(np.all(np.isfinite(d))) and np.abs(gap + apply(d, False) - d).max() < np.abs(gap).max()
    return x + (d if better else gap)


def _corrected_image(
    apply: Apply, x: Floats, image: Floats, scheme: Scheme, atol: float, factors: Solve | None
) -> Floats:
    """B x + d with (1 - L) d = L (B x - x); B x where the Krylov method did not converge."""
    gap = image - x
    d = _krylov(apply, apply(gap, False), scheme, atol, factors)
    candidate = image + d
    better = bool(np.all(np.isfinite(d))) and np.abs(apply(candidate, True) - candidate).max() < np.abs(gap).max()
    return candidate if better else image


def _krylov(apply: Apply, right: Floats, scheme: Scheme, atol: float, factors: Solve | None) -> Floats:
    """About (1 - L)^-1 right; any numbers, infinite ones included, where the method breaks down."""
    from scipy.sparse.linalg import LinearOperator, bicgstab

    def left(flat: Floats) -> Floats:
        return flat - apply(flat.reshape(right.shape), False).ravel()

    size = (right.size, right.size)
    operator = LinearOperator(size, matvec=left, dtype=np.float64)
    near = None if factors is None else LinearOperator(size, matvec=factors, dtype=np.float64)
    power = power_of(float(np.abs(right).max())) if scheme.rescaled else 0
    target, within = np.ldexp(right, -power).ravel(), float(np.ldexp(atol, -power))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        flat, _ = bicgstab(operator, target, rtol=scheme.rtol, atol=within, maxiter=scheme.krylov_steps, M=near)
        return np.ldexp(flat.reshape(right.shape), power)


def power_of(size: float) -> int:
    """The power of two just above a number."""
    return int(np.frexp(size)[1])


@dataclass(frozen=True, slots=True)
class Allowance:
    """Errors in the numbers of a chain, before anything is added up.

    A row of probabilities may be off by rounding (see `core.checks`); the true row is the row divided by its sum. Where
    several rows are multiplied, their errors may cancel in the sum, so each counts. Rewards that nearly cancel lose
    digits relative to their own size, not to that of their sum.
    """

    start: float  # total distance from 1 of the sums of the rows that say where the chain starts
    rows: float  # the same for all rows of actions, transitions and observations
    gross: float  # the largest expected absolute reward, in the unit of the chain


def allowance(model: DecPOMDP, team: Team, gross: float) -> Allowance:
    """The allowance for the tables of a model and a team."""
    start = _largest_row_error(model.start) + sum(_largest_row_error(c.initial) for c in team.controllers)
    rows = _largest_row_error(model.transition) + _largest_row_error(model.observation)
    rows += sum(_largest_row_error(c.action) + _largest_row_error(c.transition) for c in team.controllers)
    return Allowance(start, rows, gross)


def _largest_row_error(table: Floats) -> float:
    return float(np.abs(table.sum(axis=-1) - 1).max())


class MarkovChain(Protocol):
    """The Markov chain of a team on a model."""

    model: DecPOMDP
    shape: tuple[int, int]
    expected: Floats  # rewards, divided by 2 to the `power`
    power: int
    allowance: Allowance

    @property
    def discount(self) -> float:
        """The model's discount."""

    def backup(self, v: Floats, rewards: Floats | None) -> Floats:
        """B v with these rewards; None: L v."""

    def linear(self, largest: int) -> Any:
        """L as a sparse matrix, or None if it is too costly for a chain of more than `largest` pairs."""

    def at_start(self, v: Floats) -> float:
        """Expectation of v at the start, in the model's own unit."""


def solve(chain: MarkovChain, check: Callable[[], None] | None = None) -> tuple[Floats, float]:
    """The fixed point of the backup, and a bound on its error; `check` is called before every backup."""

    def apply(v: Floats, affine: bool) -> Floats:
        if check is not None:
            check()
        return chain.backup(v, chain.expected if affine else None)

    wanted = ROUNDING * max(float(np.abs(chain.expected).max()), 1e-300)
    v, residual = fixed_point(apply, np.zeros(chain.shape), wanted, EXACT)
    error = _bound(chain, residual)
    if error > 10 * rounding(chain, v) and (residual > wanted or error > VISIBLE * float(np.abs(v).max())):
        factors = _factors(chain)
        if factors is not None:
            v, residual = fixed_point(apply, v, wanted, EXACT, factors)
    return v, _bound(chain, residual)


def rounding(chain: MarkovChain, v: Floats) -> float:
    """Error by rounding of v and of its expectation at the start, if the equation holds to the last digit."""
    allowed, size = chain.allowance, float(np.abs(v).max())
    each = (8 * EPS + row_sum_error(chain) + allowed.rows) * max(size, allowed.gross)
    return each * _effective_horizon(chain) + allowed.start * size if each else 0.0


def row_sum_error(chain: MarkovChain) -> float:
    """Largest difference between the sum of a row of the chain, times the discount, and the discount."""
    return float(np.abs(_sums(chain) - chain.discount).max())


def _sums(chain: MarkovChain) -> Floats:
    return chain.backup(np.ones(chain.shape), None)


def _effective_horizon(chain: MarkovChain) -> float:
    """1 / (1 - c)."""
    contraction = max(chain.discount, float(_sums(chain).max()))
    return 1 / (1 - contraction) if contraction < 1 else np.inf


def _bound(chain: MarkovChain, residual: float) -> float:
    """The error of B v, given max |B v - v|."""
    return residual * (_effective_horizon(chain) - 1) if residual else 0.0


def _factors(chain: MarkovChain) -> Solve | None:
    """An approximate solver of (1 - L) d = gap; None if the matrix is too large."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spilu, splu

    linear = chain.linear(SMALL)
    if linear is None or linear.nnz > LARGE:
        return None
    matrix = csc_array(eye_array(linear.shape[0]) - linear)
    try:
        lu = splu(matrix) if linear.shape[0] <= SMALL else spilu(matrix, drop_tol=DROP, fill_factor=FILL)
    except (RuntimeError, MemoryError):  # singular to rounding
        return None
    solve_with: Solve = lu.solve
    return solve_with
