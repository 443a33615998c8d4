"""Weighted constraint problems: choose a value of every variable; maximise the sum of tables over their variables.

Every table j has one variable of each agent, scope[j, n]; its column u belongs to the choices parts[u, n]. The sum
of table maxima bounds the best total. `share_out` tightens that bound by moving payoff between tables and variables
without changing any total (dual block descent, "MPLP": Globerson & Jaakkola 2007); `search` is depth-first branch and
bound on the remaining tables. allowed[v, c] says which choices a variable has.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel


@kernel
def share_out(
    tables: NDArray, single: NDArray, scope: NDArray, parts: NDArray, sizes: NDArray, sweeps: int, enough: float
) -> None:
    """Move payoff from tables[j, u] to single[v, c] in place, until a sweep lowers the bound by at most `enough`."""
    agents = scope.shape[1]
    best = np.empty((agents, single.shape[1]))
    last = np.inf
    for _ in range(sweeps):
        for j in range(len(tables)):
            best[:] = -np.inf
            for u in range(tables.shape[1]):
                total = tables[j, u]
                for n in range(agents):
                    total += single[scope[j, n], parts[u, n]]
                tables[j, u] = total
                for n in range(agents):
                    best[n, parts[u, n]] = max(best[n, parts[u, n]], total)
            for n in range(agents):
                for c in range(sizes[n]):
                    single[scope[j, n], c] = best[n, c] / agents
            for u in range(tables.shape[1]):
                for n in range(agents):
                    tables[j, u] -= best[n, parts[u, n]] / agents
        bound = 0.0
        for j in range(len(tables)):
            bound += tables[j].max()
        for v in range(len(single)):
            bound += single[v].max()
        if last - bound <= enough:
            break
        last = bound


@kernel
def total(tables: NDArray, scope: NDArray, strides: NDArray, choice: NDArray) -> float:
    """The payoff of one choice per variable."""
    result = 0.0
    for j in range(len(tables)):
        u = 0
        for n in range(scope.shape[1]):
            u += strides[n] * choice[scope[j, n]]
        result += tables[j, u]
    return result


@kernel
def climb(
    tables: NDArray,
    scope: NDArray,
    strides: NDArray,
    starts: NDArray,  # [v + 1] first entry of each variable in `listed`
    listed: NDArray,  # tables of every variable
    owner: NDArray,  # [v] agent
    allowed: NDArray,
    choice: NDArray,
) -> None:
    """Change one variable at a time to its best choice, in place, until none changes."""
    worth = np.empty(allowed.shape[1])
    changed = True
    while changed:
        changed = False
        for v in range(len(owner)):
            worth[:] = 0.0
            n = owner[v]
            for i in range(starts[v], starts[v + 1]):
                j = listed[i]
                u = -strides[n] * choice[v]
                for m in range(scope.shape[1]):
                    u += strides[m] * choice[scope[j, m]]
                for c in range(allowed.shape[1]):
                    if allowed[v, c]:
                        worth[c] += tables[j, u + strides[n] * c]
            best = choice[v]
            for c in range(allowed.shape[1]):
                if allowed[v, c] and worth[c] > worth[best] + 1e-12 * abs(worth[best]):
                    best = c
            if best != choice[v]:
                choice[v] = best
                changed = True


@kernel
def table_best(table: NDArray, variables: NDArray, parts: NDArray, allowed: NDArray, fixed: NDArray) -> float:
    """The largest entry of one table among the fixed and the allowed choices."""
    best = -np.inf
    for u in range(len(table)):
        if table[u] > best:
            fits = True
            for n in range(len(variables)):
                v = variables[n]
                c = parts[u, n]
                fits = fits and allowed[v, c] and (fixed[v] < 0 or fixed[v] == c)
            if fits:
                best = table[u]
    return best


@kernel
def bound_of(tables: NDArray, single: NDArray, scope: NDArray, parts: NDArray, allowed: NDArray) -> float:
    """No total with allowed choices exceeds this."""
    free = np.full(len(single), -1, np.int64)
    result = 0.0
    for j in range(len(tables)):
        result += table_best(tables[j], scope[j], parts, allowed, free)
    for v in range(len(single)):
        best = -np.inf
        for c in range(single.shape[1]):
            if allowed[v, c]:
                best = max(best, single[v, c])
        result += best
    return result


@kernel
def search(
    tables: NDArray,  # [j, u] after share_out
    single: NDArray,  # [v, c]
    scope: NDArray,  # [j, n]
    parts: NDArray,  # [u, n]
    starts: NDArray,
    listed: NDArray,
    order: NDArray,  # [v] variables in the order of branching
    allowed: NDArray,  # [v, c]
    floor: float,  # totals up to this are ignored
    limit: int,  # nodes to visit at most
    choice: NDArray,  # [v] out: the best choices
) -> tuple[float, float, int]:
    """The best total above `floor`, a bound on all totals, and the number of nodes visited.

    With fewer nodes than `limit` the bound is max(best, floor): the search was exhaustive.
    """
    count, size = single.shape
    fixed = np.full(count, -1, np.int64)
    at = np.empty((count + 1, len(tables)))  # [depth, j] largest remaining entry of every table
    for j in range(len(tables)):
        at[0, j] = table_best(tables[j], scope[j], parts, allowed, fixed)
    bounds = np.empty(count + 1)
    bounds[0] = bound_of(tables, single, scope, parts, allowed)
    alone = np.empty(count)  # [v] best single payoff
    rank = np.empty((count, size), np.int64)
    for v in range(count):
        sorted_choices = np.argsort(-single[v])
        alone[v] = -np.inf
        for c in range(size):
            rank[v, c] = sorted_choices[c]
            if allowed[v, c]:
                alone[v] = max(alone[v], single[v, c])
    tried = np.zeros(count + 1, np.int64)
    best, depth, nodes = floor, 0, 0
    open_bound = -np.inf  # of branches that were cut off by the limit
    improved = False
    while depth >= 0:
        v = order[depth] if depth < count else -1
        if v < 0 or tried[depth] == size:
            if v >= 0:
                fixed[v] = -1
            depth -= 1
            continue
        c = rank[v, tried[depth]]
        tried[depth] += 1
        if not allowed[v, c]:
            continue
        nodes += 1
        fixed[v] = c
        bound = bounds[depth] - alone[v] + single[v, c]
        for j in range(len(tables)):
            at[depth + 1, j] = at[depth, j]
        for i in range(starts[v], starts[v + 1]):
            j = listed[i]
            at[depth + 1, j] = table_best(tables[j], scope[j], parts, allowed, fixed)
            bound += at[depth + 1, j] - at[depth, j]
        if bound <= best:
            continue
        if nodes > limit:
            open_bound = max(open_bound, bound)
            continue
        if depth + 1 == count:
            best, improved = bound, True
            for w in range(count):
                choice[w] = fixed[w]
            continue
        depth += 1
        bounds[depth] = bound
        tried[depth] = 0
    return (best if improved else -np.inf), max(best, open_bound), nodes
