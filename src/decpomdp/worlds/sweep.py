"""Sweeps of a latent world over its records.

    expect   rows --filter--> log likelihoods, expected counts
    EM       rows = posterior mean, weak fixed priors: initialisation
    VB       rows = exp E ln, priors chosen by evidence and fixed for a *phase* of a few sweeps:

        bound = sum of log likelihoods - KL of the rows from their priors + charge,   which never falls within a phase

Work is cut into fixed chunks of episodes: the result does not depend on the number of threads.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.run import Cut
from decpomdp.engines import threads as engine
from decpomdp.kernels.world_filter import Rows, filter_chunk
from decpomdp.worlds.data import Records
from decpomdp.worlds.parts import factored
from decpomdp.worlds.posterior import FixedPriors, Floats, Posterior, Tables, posterior_of

BEAM, FINE_BEAM = 1e-5, 1e-8  # of the filter: in sweeps, and for held-out likelihoods
CHUNK, CHUNKS = 8000, 4  # rows of a chunk, at least; chunks, at most
PHASE = 4  # sweeps with the same priors
OCCUPIED = 0.5  # expected visits below which a state is dropped
FEW = 16  # states up to which sweeps are cheap, and the tolerance is in nats, not in nats per step
NATS = 0.1  # gain of a sweep at which sweeps stop, with few states
FASTER, FASTEST = 1.2, 8.0  # growth of the rate of EM with every sweep, and the largest
NOT_BELOW = 0.1  # smallest ratio of an over-relaxed probability to that of EM

NEVER: NDArray[np.int64] = np.zeros(1, np.int64)  # a stop flag that is not set


class Sweeps:
    """Expectation steps on one set of records; raises `Cut` if the flag `stop` is set."""

    def __init__(self, records: Records, threads: int | None = None, stop: NDArray[np.int64] = NEVER) -> None:
        self.records, self.threads, self.stop = records, threads, stop
        count = int(np.clip(len(records.log.inputs) // CHUNK, 1, min(CHUNKS, records.episodes)))
        cuts = np.searchsorted(records.log.offsets, np.linspace(0, len(records.log.inputs), count + 1))
        self.cuts = np.unique(cuts)  # [chunk + 1] episodes

    def logs(self, tables: Tables, beam: float = FINE_BEAM) -> Floats:
        """[k]: log likelihood of every episode."""
        return self._filtered(tables, beam, False)[0]

    def expected(self, tables: Tables, beam: float = BEAM) -> tuple[float, Tables]:
        """Log likelihood and expected counts."""
        logs, counts, _ = self._filtered(tables, beam, True)
        return float(logs.sum()), self._tables(counts)._replace(tuples=tables.tuples)

    def confusion(self, tables: Tables) -> NDArray[np.float64]:
        """[z, z]: entropy that is lost if two states are merged; above and below the diagonal."""
        return self._filtered(tables, BEAM, True, pairs=True)[2]

    def _filtered(
        self, tables: Tables, beam: float, counting: bool, pairs: bool = False
    ) -> tuple[Floats, list[Rows], Floats]:
        if self.stop[0]:
            raise Cut
        world, log, states = tables.rows(), self.records.log, tables.states
        logs = np.zeros(self.records.episodes)

        def chunk(number: int) -> tuple[Rows, Floats]:
            counts = Rows(*(np.zeros(table.shape if counting else (1,) * table.ndim) for table in world))
            entropy = np.zeros((states, states) if pairs else (0, 0))
            first, last = self.cuts[number], self.cuts[number + 1]
            filter_chunk(log, first, last, world, beam, counting, counts, entropy, logs)
            return counts, entropy

        pieces = len(self.cuts) - 1
        done = [chunk(0)] if pieces == 1 else engine.run(chunk, pieces, self.threads)
        return logs, [counts for counts, _ in done], sum(entropy for _, entropy in done)  # type: ignore[return-value]

    def _tables(self, chunks: list[Rows]) -> Tables:
        start, move, see, pay = (sum(parts[1:], start=parts[0]) for parts in zip(*chunks, strict=True))
        see = np.ascontiguousarray(see.transpose(0, 2, 1))
        groups = np.split(see, np.cumsum(self.records.groups)[:-1], axis=-1)
        pay = np.ascontiguousarray(pay.transpose(0, 2, 1))
        return Tables(start, move, tuple(np.ascontiguousarray(group) for group in groups), pay)

    # ---- runs of sweeps ----

    def em(
        self, tables: Tables, prior: FixedPriors, sweeps: int, tolerance: float, prune: bool = True, tied: bool = False
    ) -> Tables:
        """Expected counts after at most `sweeps` sweeps of EM with fixed priors (bases follow the counts).

        Steps are over-relaxed: rows move `rate` times as far as EM moves them. The rate grows until the likelihood
        falls; then the last step is replaced by that of EM.
        """
        before, rate, plain = -np.inf, 1.0, tables
        counts = tables
        for sweep in range(sweeps):
            log, expected = self.expected(tables)
            if log < before and rate > 1:
                before, rate, tables = -np.inf, 1.0, plain
                continue
            counts = occupied(expected) if prune and sweep > 2 else expected
            plain = self.mean(counts, prior, tied)
            if sweep > 6 and abs(log - before) < self._least(tolerance, counts.states):
                break
            before, rate = log, min(rate * FASTER, FASTEST)
            tables = further(tables, plain, rate) if plain.states == tables.states else plain
        return counts

    def mean(self, counts: Tables, prior: FixedPriors, tied: bool = False) -> Tables:
        """The posterior mean; `tied`: its states are tuples whose parts move independently (`parts.py`)."""
        mean = posterior_of(self.records, counts, prior).mean()
        if not tied or counts.tuples is None:
            return mean
        start, move = factored(counts.start, counts.move, self.records.parts[:-1], counts.tuples)
        return mean._replace(start=start, move=move)

    def vb(self, counts: Tables, sweeps: int, tolerance: float, beam: float = BEAM) -> Posterior:
        """The posterior of the highest bound within so many sweeps."""
        return max(self.vb_sweeps(counts, sweeps, tolerance, beam), key=lambda one: one.bound)

    def vb_sweeps(self, counts: Tables, sweeps: int, tolerance: float, beam: float = BEAM) -> Iterator[Posterior]:
        """The posterior of every sweep with its bound; those of a phase have the same prior."""
        now, phase = posterior_of(self.records, occupied(counts), threads=self.threads), 0
        before = entered = -np.inf  # bounds of the last sweep, and of the last sweep of the previous phase
        for _ in range(sweeps):
            log, counts = self.expected(now.weights(), beam)
            now = now._replace(bound=log - now.divergence() + now.charge)
            yield now
            least, phase = self._least(tolerance, now.states), phase + 1
            if phase < PHASE and (phase == 1 or now.bound - before >= least):
                now, before = now._replace(counts=counts), now.bound
                continue
            if now.bound - entered < least:
                break
            entered, phase = now.bound, 0
            now = posterior_of(self.records, occupied(counts), threads=self.threads)

    def _least(self, tolerance: float, states: int) -> float:
        """The gain in nats below which sweeps stop."""
        return min(NATS, tolerance * self.records.steps) if states <= FEW else tolerance * self.records.steps


def further(before: Tables, after: Tables, rate: float) -> Tables:
    """Over-relaxed rows: `rate` times the step from `before` to `after`, but not close to zero."""

    def row(one: Floats, other: Floats) -> Floats:
        moved = np.maximum(one + rate * (other - one), NOT_BELOW * other)
        return moved / moved.sum(-1, keepdims=True)

    return before.mapped(row, after)


def occupied(counts: Tables) -> Tables:
    """Without states that have few visits."""
    keep = counts.pay.sum((0, 2)) > OCCUPIED
    return counts if keep.all() or not keep.any() else counts.kept(keep)
