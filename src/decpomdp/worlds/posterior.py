"""A posterior over latent worlds: Dirichlet rows whose priors are estimated from other rows (empirical Bayes).

Tables have one row for every input v and state z. The prior of a row is k * base. The pair (base, k) is chosen by the
Dirichlet-multinomial evidence, for each row or jointly for the rows of an input, a state, an agent or the table; the
probabilities of the choices are estimated too. The bound contains the costs of the choices and of shared bases of
rewards and observations (docs/formulas.md).
"""

from collections.abc import Callable
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.engines import threads as engine
from decpomdp.kernels import world_rows as kernels
from decpomdp.kernels.world_filter import Rows
from decpomdp.kernels.world_rows import BOTH, FACTORED, INPUT, OVERALL, OWN, PARTS, PRESENT, PRODUCT, SEEN, STATE, Pools
from decpomdp.worlds import parts
from decpomdp.worlds.data import Form, Records

Floats = NDArray[np.float64]
STRENGTHS = np.array(
    [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5]
)  # k; large ones for rows that equal their base
MOVE, SEE, SEE_JOINT = (OVERALL, STATE, PARTS, PRODUCT), (OVERALL, STATE, OWN), (OVERALL, STATE, PARTS)  # their bases
PAY = {False: (INPUT, STATE, BOTH, SEEN), True: (INPUT, STATE, BOTH)}  # by `Form.memory`
UNPAID = 5  # the choice of reward rows that are not `PRESENT`: INPUT with strength 30
SMOOTHING = {"move": 0.5, "see": 0.3, "pay": 0.5}  # counts of the overall row in every base
PIECES, SMALL = 8, 20_000  # of the inputs, for the threads; numbers below which one thread is faster


class Tables(NamedTuple):
    """Counts, priors or probabilities of a world."""

    start: Floats  # [z]
    move: Floats  # [v, z, z1]
    see: tuple[Floats, ...]  # of every group: [v + 1, z1, y]
    pay: Floats  # [v, z, r]
    tuples: NDArray[np.int64] | None = None  # [z, n] if states are tuples of the agents' own states (`parts.py`)

    @property
    def states(self) -> int:
        return len(self.start)

    def mapped(self, row: Callable[..., Floats], *others: "Tables") -> "Tables":
        """`row` of every table, together with those of `others`."""
        return Tables(
            row(self.start, *(other.start for other in others)),
            row(self.move, *(other.move for other in others)),
            tuple(row(*group) for group in zip(self.see, *(other.see for other in others), strict=True)),
            row(self.pay, *(other.pay for other in others)),
            self.tuples,
        )

    def kept(self, keep: NDArray[np.bool_]) -> "Tables":
        """Only the states with `keep`; rows are not normalised."""
        move = np.ascontiguousarray(self.move[:, keep][:, :, keep])
        see = tuple(group[:, keep] for group in self.see)
        tuples = None if self.tuples is None else self.tuples[keep]
        return Tables(self.start[keep], move, see, self.pay[:, keep], tuples)

    def rows(self) -> Rows:
        """Laid out for the filter."""
        see = np.concatenate(self.see, axis=-1)
        turned = (np.ascontiguousarray(table.transpose(0, 2, 1)) for table in (see, self.pay))
        return Rows(np.ascontiguousarray(self.start), np.ascontiguousarray(self.move), *turned)


class Posterior(NamedTuple):
    """Counts and priors of the rows; the bound belongs to both."""

    form: Form
    counts: Tables
    prior: Tables
    charge: float  # term of the bound for choices and shared bases
    bound: float = -np.inf  # of the log evidence, in nats
    steps: int = 0  # of the data
    trusted: bool = False  # in steps that are rare in the data (`calibration.py`)

    @property
    def states(self) -> int:
        return self.counts.states

    def mean(self) -> Tables:
        """Posterior mean."""
        return self.counts.mapped(lambda c, p: (c + p) / (c + p).sum(-1, keepdims=True), self.prior)

    def weights(self) -> Tables:
        """exp E ln of the rows; they sum to less than one."""
        return self.counts.mapped(_expected, self.prior)

    def draw(self, rng: np.random.Generator) -> Tables:
        """One world."""

        def row(c: Floats, p: Floats) -> Floats:
            drawn = rng.standard_gamma(np.maximum(c + p, 1e-10)) + 1e-200
            return drawn / drawn.sum(-1, keepdims=True)

        return self.counts.mapped(row, self.prior)

    def divergence(self) -> float:
        """KL of all rows from their priors."""
        pairs = [(self.counts.start[None], self.prior.start[None])]
        pairs += [(self.counts.move, self.prior.move), (self.counts.pay, self.prior.pay)]
        pairs += list(zip(self.counts.see, self.prior.see, strict=True))
        return sum(kernels.divergence(_flat(c), _flat(p)) for c, p in pairs)


def _flat(table: Floats) -> Floats:
    return np.ascontiguousarray(table).reshape(-1, table.shape[-1])


def _expected(counts: Floats, prior: Floats) -> Floats:
    out = np.empty_like(_flat(counts))
    kernels.expected_rows(_flat(counts), _flat(prior), out)
    return out.reshape(counts.shape)


class FixedPriors(NamedTuple):
    """A base and a strength for all rows of each table: priors of the initialisation."""

    move: tuple[int, float]
    see: tuple[int, float]
    pay: tuple[int, float]


def weak_prior(form: Form) -> FixedPriors:
    """Weak enough to let states differ; with memory the many inputs need a shared base."""
    if form.memory:
        return FixedPriors((PRODUCT, 3.0), (PARTS if form.joint else OWN, 100.0), (INPUT, 0.3))
    return FixedPriors((OVERALL, 1.0), (STATE, 1.0), (SEEN, 0.3))


def strong_prior(records: Records, states: int) -> FixedPriors:
    """One base for all inputs, as strong as a tenth of the data: for few states and many joint actions."""
    k = max(1.0, 0.1 * records.steps / (records.inputs * states))
    return FixedPriors((OVERALL, k), (OVERALL, k), (SEEN, 0.3))


def posterior_of(
    records: Records, counts: Tables, fixed: FixedPriors | None = None, threads: int | None = None
) -> Posterior:
    """The posterior of these counts; priors are chosen by evidence unless they are `fixed`."""
    states = counts.states
    everyone = len(records.parts[0])
    own = [n if n < everyone and not records.form.joint else 0 for n in range(len(counts.see))]
    see_kinds = SEE_JOINT if records.form.joint else SEE
    move_kinds = MOVE if counts.tuples is None else (*MOVE, FACTORED)
    move = [_Table(_pools(records, counts.move, "move", counts.tuples), 0, move_kinds)]
    see = [_Table(_pools(records, c, "see"), own[g], see_kinds) for g, c in enumerate(counts.see)]
    pay = [_Table(_pools(records, counts.pay, "pay"), 0, PAY[records.form.memory])]
    priors, charge = list[list[Floats]](), 0.0
    for tables, choice, shared in ((move, "move", False), (see, "see", True), (pay, "pay", True)):
        if fixed is not None:
            kind, k = getattr(fixed, choice)
            priors.append([table.fixed(kind, k) for table in tables])
            continue
        evidence = np.stack([table.evidence(threads) for table in tables])  # [g, v, z, m]
        present = np.stack([table.pools.visits >= PRESENT for table in tables])
        chosen, gain = choose(evidence, present)
        if choice == "pay":
            chosen[~present] = UNPAID
        own_priors = [table.prior(pick) for table, pick in zip(tables, chosen, strict=True)]
        priors.append(own_priors)
        charge += gain
        if shared:
            charge -= sum(t.shared(c, p) for t, c, p in zip(tables, chosen, own_priors, strict=True))
    prior = Tables(np.full(states, 1.0 / states), priors[0][0], tuple(priors[1]), priors[2][0])
    return Posterior(records.form, counts, prior, charge, steps=records.steps)


def _pools(records: Records, counts: Floats, table: str, tuples: NDArray[np.int64] | None = None) -> Pools:
    overall = counts.sum((0, 1)) + 0.5
    overall /= overall.sum()
    inputs = len(counts)
    known = np.ascontiguousarray(records.parts[:inputs])
    by_part = np.zeros((0, 0, 0))
    if table != "pay":
        by_part = np.zeros((int(records.parts.max()) + 1, *counts.shape[1:]))
        kernels.add_by_part(np.ascontiguousarray(counts), known, by_part)
    seen = records.paid if table == "pay" else np.zeros((1, 1))
    counts = np.ascontiguousarray(counts)
    factored = np.zeros((0, 0, 0)) if tuples is None else parts.base(counts, known, tuples)
    return Pools(
        counts, counts.sum(-1), overall, counts.sum(0), counts.sum(1), by_part, known, seen, factored, SMOOTHING[table]
    )  # fmt: skip


class _Table(NamedTuple):
    """One table with the bases that its rows may choose."""

    pools: Pools
    own: int
    kinds: tuple[int, ...]

    def evidence(self, threads: int | None) -> Floats:
        """[v, z, m]: log evidence of every row under every (base, strength)."""
        shape, kinds = self.pools.counts.shape, np.array(self.kinds)
        out = np.zeros((*shape[:2], len(kinds) * len(STRENGTHS)))
        if out.size <= SMALL:
            kernels.row_evidence(self.pools, self.own, kinds, STRENGTHS, 0, shape[0], out)
            return out
        cuts = np.linspace(0, shape[0], min(PIECES, shape[0]) + 1).astype(int)

        def piece(p: int) -> None:
            kernels.row_evidence(self.pools, self.own, kinds, STRENGTHS, cuts[p], cuts[p + 1], out)

        engine.run(piece, len(cuts) - 1, threads)
        return out

    def prior(self, chosen: NDArray[np.int64]) -> Floats:
        out = np.empty(self.pools.counts.shape)
        kernels.row_priors(self.pools, self.own, np.array(self.kinds), STRENGTHS, chosen, out)
        return out

    def fixed(self, kind: int, k: float) -> Floats:
        out = np.empty(self.pools.counts.shape)
        none = np.zeros(out.shape[:2], np.int64)
        kernels.row_priors(self.pools, self.own, np.array([kind]), np.array([k]), none, out)
        return out

    def shared(self, chosen: NDArray[np.int64], prior: Floats) -> float:
        """KL of the shared bases from the overall row, given the tables that rows send to them."""
        pools = self.pools
        sums = [np.zeros_like(pools.by_state), np.zeros_like(pools.by_input), np.zeros_like(pools.by_part)]
        kernels.shared_tables(pools, self.own, np.array(self.kinds), len(STRENGTHS), chosen, prior, *sums)
        base = pools.smoothing * pools.overall
        return sum(
            kernels.divergence(_flat(each), np.ascontiguousarray(np.broadcast_to(base, _flat(each).shape)))
            for each in sums
            if each.size
        )


def choose(evidence: Floats, present: NDArray[np.bool_]) -> tuple[NDArray[np.int64], float]:
    """[g, v, z]: the choice of every row, and the gain of the bound by mixing over choices instead of fixing them.

    A choice is made for each row, or jointly over all groups, inputs or states (or several of these). The best of these
    ways is used; the log of their number is subtracted.
    """
    groups, inputs, states, count = evidence.shape
    axes = [axis for axis in range(3) if evidence.shape[axis] > 1]
    ways = list(chain.from_iterable(combinations(axes, size) for size in range(len(axes) + 1)))
    best, result = -np.inf, (np.zeros((groups, inputs, states), np.int64), 0.0)
    for way in ways:
        together = evidence.sum(way, keepdims=True) if way else evidence
        there = present.any(way, keepdims=True) if way else present
        if not there.any():
            break
        rows = together[there]  # [row, m]
        weights = np.full(count, 1.0 / count)
        for _ in range(4):
            share = rows + np.log(weights)
            share = np.exp(share - share.max(1, keepdims=True))
            share /= share.sum(1, keepdims=True)
            weights = (share.sum(0) + 0.5 / count) / (share.sum() + 0.5)
        scores = rows + np.log(weights)
        top = scores.max(1)
        mixed = float((top + np.log(np.exp(scores - top[:, None]).sum(1))).sum())
        if mixed > best:
            best = mixed
            chosen = (together + np.log(weights)).argmax(-1)
            fixed = float(np.take_along_axis(rows, chosen[there][:, None], 1).sum())
            result = np.broadcast_to(chosen, present.shape).copy(), mixed - fixed - float(np.log(len(ways)))
    return result
