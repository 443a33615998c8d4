"""Rows of a latent world: priors k * base that borrow from other rows, evidence, and divergences.

A table c[v, z, j] has one row for every input v and state z. The prior of a row is k * base, and its base is made of
*other* rows only (a base that contained the row would count it twice). `docs/formulas.md` has the model.
"""

from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import helper, kernel

OVERALL, STATE, PARTS, PRODUCT, INPUT, BOTH, SEEN, OWN, FACTORED = range(9)  # kinds of bases, see `_base`
PRESENT = 0.3  # expected visits from which a row counts as present
TINY, FLOOR = 1e-2, 1e-9  # counts and priors below these are left out of sums
ZERO = 0.015  # exp E ln of a Dirichlet parameter below this is less than 1e-28 and set to 0


class Pools(NamedTuple):
    """A table of counts and its sums, of which bases are made."""

    counts: NDArray[np.float64]  # [v, z, j]
    visits: NDArray[np.float64]  # [v, z]
    overall: NDArray[np.float64]  # [j] sums to one
    by_state: NDArray[np.float64]  # [z, j] sum over v
    by_input: NDArray[np.float64]  # [v, j] sum over z
    by_part: NDArray[np.float64]  # [a, z, j] sum over the v that have part a; [0, 0, 0] if no base needs it
    parts: NDArray[np.int64]  # [v, n] every agent's part of the input
    seen: NDArray[np.float64]  # [v, j] uniform on what occurred with v; sums to one
    factored: NDArray[np.float64]  # [v, z, j] base of every row if states are tuples; [0, 0, 0] if they are not
    smoothing: float  # counts of `overall` in every base


@kernel
def add_by_part(counts: NDArray[np.float64], parts: NDArray[np.int64], by_part: NDArray[np.float64]) -> None:
    """by_part[a, z, j] += the rows of all inputs that have part a."""
    for v in range(counts.shape[0]):
        for n in range(parts.shape[1]):
            for z in range(counts.shape[1]):
                for j in range(counts.shape[2]):
                    by_part[parts[v, n], z, j] += counts[v, z, j]


@helper
def digamma(x: float) -> float:
    """Recurrence up to 6, then the asymptotic series."""
    result = 0.0
    while x < 6.0:
        result -= 1.0 / x
        x += 1.0
    f = 1.0 / (x * x)
    return result + log(x) - 0.5 / x - f * (1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f / 132))))


@helper
def _base(kind: int, own: int, v: int, z: int, pools: Pools, base: NDArray[np.float64]) -> None:
    """Fill a base: where a row's prior expects its counts.

    OVERALL: all rows. STATE: same state, other inputs. INPUT: same input, other states. BOTH: their product.
    OWN: same state, inputs with the same part of agent `own`. PARTS and PRODUCT: mean and product of these over agents.
    SEEN: uniform on what occurred with the input. FACTORED: given, with one factor per agent.
    """
    symbols, agents, h = len(base), pools.parts.shape[1], pools.smoothing
    row, overall = pools.counts[v, z], pools.overall
    if kind == OVERALL:
        for j in range(symbols):
            base[j] = overall[j]
    elif kind == SEEN:
        for j in range(symbols):
            base[j] = pools.seen[v, j]
    elif kind == FACTORED:
        for j in range(symbols):
            base[j] = pools.factored[v, z, j]
    elif kind == INPUT:
        _without(pools.by_input[v], row, h, overall, base)
    elif kind == STATE:
        _without(pools.by_state[z], row, h, overall, base)
    elif kind == BOTH:
        other = np.empty(symbols)
        _without(pools.by_input[v], row, h, overall, base)
        _without(pools.by_state[z], row, h, overall, other)
        for j in range(symbols):
            base[j] *= other[j] / overall[j]
        _normalise(base)
    else:
        pooled, one = np.empty(symbols), np.empty(symbols)
        _without(pools.by_state[z], row, h, overall, pooled)
        if kind == OWN:
            _without(pools.by_part[pools.parts[v, own], z], row, h, pooled, base)
        else:
            for j in range(symbols):
                base[j] = pooled[j] if kind == PRODUCT else 0.0
            for n in range(agents):
                _without(pools.by_part[pools.parts[v, n], z], row, h, pooled if kind == PRODUCT else overall, one)
                for j in range(symbols):
                    base[j] = base[j] * one[j] / pooled[j] if kind == PRODUCT else base[j] + one[j] / agents
            _normalise(base)


@helper
def _without(pool: NDArray, row: NDArray, h: float, towards: NDArray, base: NDArray) -> None:
    """The pool without the row itself, plus h counts of `towards`; normalised."""
    for j in range(len(base)):
        base[j] = max(pool[j] - row[j], 0.0) + h * towards[j]
    _normalise(base)


@helper
def _normalise(base: NDArray) -> None:
    total = 0.0
    for j in range(len(base)):
        total += base[j]
    for j in range(len(base)):
        base[j] /= total


@kernel
def row_evidence(
    pools: Pools,
    own: int,
    kinds: NDArray[np.int64],
    strengths: NDArray[np.float64],
    first: int,
    last: int,
    evidence: NDArray[np.float64],  # [v, z, kind * strength] filled for the inputs first, ..., last - 1
) -> None:
    """Dirichlet-multinomial log evidence of every row under every prior; 0 for rows that are not present."""
    base = np.empty(pools.counts.shape[2])
    for v in range(first, last):
        for z in range(pools.counts.shape[1]):
            row, visits = pools.counts[v, z], pools.visits[v, z]
            if visits < PRESENT:
                continue
            for b in range(len(kinds)):
                _base(kinds[b], own, v, z, pools, base)
                for q in range(len(strengths)):
                    k = strengths[q]
                    value = lgamma(k) - lgamma(visits + k)
                    for j in range(len(base)):
                        if row[j] > TINY:
                            a = max(k * base[j], FLOOR)
                            value += lgamma(row[j] + a) - lgamma(a)
                    evidence[v, z, b * len(strengths) + q] = value


@kernel
def row_priors(
    pools: Pools,
    own: int,
    kinds: NDArray[np.int64],
    strengths: NDArray[np.float64],
    chosen: NDArray[np.int64],  # [v, z] kind * strength
    priors: NDArray[np.float64],  # [v, z, j] filled
) -> None:
    """The prior of every row."""
    for v in range(priors.shape[0]):
        for z in range(priors.shape[1]):
            _base(kinds[chosen[v, z] // len(strengths)], own, v, z, pools, priors[v, z])
            for j in range(priors.shape[2]):
                priors[v, z, j] *= strengths[chosen[v, z] % len(strengths)]


@kernel
def shared_tables(
    pools: Pools,
    own: int,
    kinds: NDArray[np.int64],
    strengths: int,
    chosen: NDArray[np.int64],  # [v, z]
    priors: NDArray[np.float64],  # [v, z, j]
    by_state: NDArray[np.float64],  # [z, j] added to
    by_input: NDArray[np.float64],  # [v, j] added to
    by_part: NDArray[np.float64],  # [a, z, j] added to
) -> None:
    """Expected tables (Chinese restaurant) that rows send to the bases they share."""
    agents = pools.parts.shape[1]
    for v in range(priors.shape[0]):
        for z in range(priors.shape[1]):
            kind = kinds[chosen[v, z] // strengths]
            if pools.visits[v, z] < PRESENT or kind in (OVERALL, SEEN):
                continue
            for j in range(priors.shape[2]):
                count = pools.counts[v, z, j]
                if count > TINY:
                    a = max(priors[v, z, j], FLOOR)
                    tables = min(a * (digamma(count + a) - digamma(a)), count)
                    if kind == STATE:
                        by_state[z, j] += tables
                    elif kind == INPUT:
                        by_input[v, j] += tables
                    elif kind == BOTH:
                        by_state[z, j] += 0.5 * tables
                        by_input[v, j] += 0.5 * tables
                    elif kind == OWN:
                        by_part[pools.parts[v, own], z, j] += tables
                    else:
                        for n in range(agents):
                            by_part[pools.parts[v, n], z, j] += tables / agents


@kernel
def expected_rows(counts: NDArray[np.float64], priors: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out[row, j] = exp E ln of Dirichlet rows with parameters counts + priors."""
    for row in range(counts.shape[0]):
        total = 0.0
        for j in range(counts.shape[1]):
            total += counts[row, j] + priors[row, j]
        scale = digamma(max(total, 1e-8))
        for j in range(counts.shape[1]):
            a = counts[row, j] + priors[row, j]
            out[row, j] = exp(digamma(a) - scale) if a > ZERO else 0.0


@kernel
def divergence(counts: NDArray[np.float64], priors: NDArray[np.float64]) -> float:
    """Sum over rows of KL(Dirichlet(counts + priors) | Dirichlet(priors))."""
    result = 0.0
    for row in range(counts.shape[0]):
        n, k = 0.0, 0.0
        for j in range(counts.shape[1]):
            n += counts[row, j]
            k += max(priors[row, j], FLOOR)
        if n == 0.0:
            continue
        scale = digamma(n + k)
        result += lgamma(n + k) - lgamma(k)
        for j in range(counts.shape[1]):
            if counts[row, j] > 0.0:
                a = max(priors[row, j], FLOOR)
                x = counts[row, j] + a
                result += lgamma(a) - lgamma(x) + counts[row, j] * (digamma(x) - scale)
    return result


@helper
def _same_row(one: NDArray, other: NDArray, prior: NDArray) -> float:
    """Change of the log evidence when two rows of counts with the same prior become one."""
    n, m, k, gain = 0.0, 0.0, 0.0, 0.0
    for j in range(len(one)):
        n += one[j]
        m += other[j]
        k += prior[j]
    if n <= TINY or m <= TINY:
        return 0.0
    for j in range(len(one)):
        x, y, a = one[j], other[j], prior[j]
        if x > TINY and y > TINY:
            gain += lgamma(x + y + a) + lgamma(a) - lgamma(x + a) - lgamma(y + a)
    return gain + lgamma(n + k) + lgamma(m + k) - lgamma(n + m + k) - lgamma(k)


@helper
def _same_column(x: float, y: float, a: float) -> float:
    """Change of the log evidence of one row when two of its entries become one."""
    if x <= TINY and y <= TINY:
        return 0.0
    return lgamma(x + y + 2 * a) - lgamma(2 * a) - lgamma(x + a) - lgamma(y + a) + 2 * lgamma(a)


@kernel
def merge_gains(
    start: NDArray[np.float64],  # [z]
    move: NDArray[np.float64],  # [a, z, z1] counts by part of the input
    see: NDArray[np.float64],  # [b, z, y] counts by part of the input and group
    pay: NDArray[np.float64],  # [v, z, r]
    pay_prior: NDArray[np.float64],  # [v, r]
    see_prior: float,  # of every entry
    least_overlap: float,
    gains: NDArray[np.float64],  # [z, z] filled above the diagonal; minus infinity where observations differ
) -> None:
    """Change of the log evidence of the counts when two states become one."""
    states = len(start)
    a = 1.0 / states
    flat_move, flat_see = np.full(states, a), np.full(see.shape[2], see_prior)
    for i in range(states):
        for j in range(i + 1, states):
            common, most = 0.0, 1e-9
            for b in range(see.shape[0]):
                n, m, shared = 1e-9, 1e-9, 0.0
                for y in range(see.shape[2]):
                    n += see[b, i, y]
                    m += see[b, j, y]
                for y in range(see.shape[2]):
                    shared += min(see[b, i, y] / n, see[b, j, y] / m)
                common += shared * min(n, m)
                most += min(n, m)
            if common < least_overlap * most:
                gains[i, j] = -np.inf
                continue
            gain = _same_column(start[i], start[j], a)
            for b in range(see.shape[0]):
                gain += _same_row(see[b, i], see[b, j], flat_see)
            for v in range(pay.shape[0]):
                gain += _same_row(pay[v, i], pay[v, j], pay_prior[v])
            for p in range(move.shape[0]):
                gain += _same_row(move[p, i], move[p, j], flat_move)
                for s in range(states):
                    gain += _same_column(move[p, s, i], move[p, s, j], a)
            gains[i, j] = gain
