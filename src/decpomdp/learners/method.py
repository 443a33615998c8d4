"""The loop around the sweep: sweep, now and then try other sizes, until nothing changes any more."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from decpomdp.core import Row, Watch
from decpomdp.core.errors import LearningWarning
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.filtering.buffers import Precision
from decpomdp.learners import trace
from decpomdp.learners.fit_state import FitState, SweepsState, Within, go_on, state_of
from decpomdp.learners.posterior import AgentPosterior, Counts
from decpomdp.learners.settings import LearnSettings
from decpomdp.learners.sizing import larger, merged, merged_singly, other_sizes, smaller
from decpomdp.learners.sweep import DOUBLE, SINGLE, Evaluated, Imprecise, Task, count, evaluate, renewed, update

RESIZE_EVERY = 5  # sweeps between proposals of another size
GROWTH_SWEEPS = 10  # that a controller of another size is given before it is judged
PATIENCE = 10  # sweeps without a higher bound after which there is no hope, when it may fall
ROUNDING = 1e-9  # a bound may fall by this share of itself without being suspected

Posterior = tuple[AgentPosterior, ...]


class Loop:
    """Sweeps until nothing changes any more."""

    def __init__(
        self,
        task: Task,
        options: LearnSettings,
        afresh: Callable[[int], Posterior] | None,  # a beginning of so many nodes; None: there is but one
        restarts: bool,  # whether it may take the place of several nodes; of a single one it always may
        began: float,
        limit: float | None,
        watch: Watch,
        keeper: Keeper = UNKEPT,
    ) -> None:
        self.task, self.options, self.watch, self.keeper = task, options, watch, keeper
        self.afresh, self.restarts = afresh, restarts
        self.rounding = _rounding(task)
        self.steady = options.cap is None and not options.normalise  # otherwise the objective moves with the team
        self.began, self.limit = began, limit
        self.trace: list[Row] = []
        self.offered: set[tuple[str, tuple[int, ...]]] = set()  # other sizes that were tried
        self.now: Evaluated
        self.best: Evaluated | None = None
        self.ahead: Evaluated | None = None  # the best of what the sweep under way has tried
        self.ending: bool | None = None  # whether it is the last one, as far as it knows
        self.fresh: SweepsState | None = None  # a fit of another size to go on with
        self.since = 0  # sweeps since the best one
        self.falls: list[trace.Fall] = []

    def run(self, first: Posterior) -> str:
        """Why it stopped; the result is `best`."""
        try:
            return self._climb(first)
        except KeyboardInterrupt:
            if self.best is None:
                raise  # nothing is known yet
            if self.ahead is not None and self.ahead.bound > self.best.bound:
                self._keep(self.ahead)
            return "interrupted"

    def _climb(self, first: Posterior) -> str:
        kept = self.keeper.restore(FitState)
        if kept is None:
            self._keep(evaluate(self.task, first))
        else:
            go_on(self, kept, first)
        for sweep in range(len(self.trace), self.options.sweeps + 1):
            if self.ahead is None:  # otherwise a kill cut this sweep off, and nothing has changed since
                self._offer()
            before = self.now
            self._keep(self._sweep(sweep))
            self.ahead = self.ending = None
            if self._late():
                return "time limit"
            if sweep % RESIZE_EVERY == 0 and self._settled(before):
                return "converged"
        return "iterations"

    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.began

    def elapsed(self, seconds: float) -> None:
        """As if it had begun so long ago."""
        self.began = time.monotonic() - seconds

    def use(self, precision: Precision) -> None:
        """From here on."""
        self.task = replace(self.task, precision=precision)
        self.rounding = _rounding(self.task)

    def _offer(self) -> None:
        self.keeper.offer(partial(state_of, self))

    def _keep(self, found: Evaluated) -> None:
        """Go on from `found`; it is also the best so far, unless the bound fell."""
        last, self.now = self.best, found
        if last is None or found.bound >= last.bound - self.rounding * max(1.0, abs(last.bound)):
            self.best, self.since = found, 0
        else:
            self.since += 1
            self.falls.append((len(self.trace), last.bound, found.bound))
        self.trace.append(trace.row_of(self.task, found, len(self.trace), self.began, self.options.threshold))
        self.watch(self.trace[-1])

    def _sweep(self, sweep: int) -> Evaluated:
        try:
            return self._swept(sweep)
        except Imprecise:
            warnings.warn("single precision does not suffice for these data: double from here", LearningWarning, 2)
            self.use(DOUBLE)
            self.now, self.ahead, self.ending = evaluate(self.task, self.now.posterior), None, None
            return self._swept(sweep)

    def _swept(self, sweep: int) -> Evaluated:
        """The next posterior; now and then the best of it and of other sizes. After a kill, what was tried is known."""
        counts = count(self.task, self.now)
        if sweep % RESIZE_EVERY != 0 or not self.options.resize:
            return evaluate(self.task, update(self.now, counts))
        ahead = evaluate(self.task, update(self.now, counts)) if self.ahead is None else self.ahead
        if self.ending is None:
            ahead = self._better(ahead, self._resized(counts))
            self.ending = ahead.bound - self.now.bound <= self._least()
        if self.ending:
            ahead = self._better(ahead, self._merged_singly(counts))
        if self.ending or sweep >= self.options.sweeps // 2:
            ahead = self._better(ahead, self._begun_afresh(counts))
        return ahead

    def _better(self, found: Evaluated, others: Iterator[Evaluated]) -> Evaluated:
        """The one of the highest bound, the first of equals; one other at a time is kept in memory."""
        self.ahead = found
        for other in others:
            found = self.ahead = other if other.bound > found.bound else found
        return found

    def _resized(self, counts: list[Counts]) -> Iterator[Evaluated]:
        """Other sizes and orders, evaluated; where nodes in use come or go after some sweeps, once for all sizes."""
        threshold, posterior = self.options.threshold, self.now.posterior
        for proposal in smaller(posterior, counts, threshold):
            yield evaluate(self.task, renewed(self.now, proposal))
        others = larger(posterior, counts, threshold)
        if self.steady:  # what is no bound cannot say whether less memory is worth its loss
            others += merged(posterior, counts, threshold)
        for proposal in others:
            yield from self._tried("", proposal)

    def _merged_singly(self, counts: list[Counts]) -> Iterator[Evaluated]:
        """One agent with one node less: where one has too many and another just enough, all at once cannot shrink."""
        if self.steady:
            for way, proposal in merged_singly(self.now.posterior, counts, self.options.threshold):
                yield from self._tried(way, proposal)

    def _tried(self, way: str, proposal: list[Counts]) -> Iterator[Evaluated]:
        """The proposal after some sweeps; nothing if these sizes were tried this way before."""
        sizes = tuple(c.nodes for c in proposal)
        if (way, sizes) not in self.offered and not self._late():
            self.offered.add((way, sizes))
            changed = evaluate(self.task, renewed(self.now, proposal))
            for _ in range(GROWTH_SWEEPS):
                if not self._late():
                    changed = evaluate(self.task, update(changed, count(self.task, changed)))
            yield changed
            self._offer()

    def _begun_afresh(self, counts: list[Counts]) -> Iterator[Evaluated]:
        """Fits that begin with few nodes, and with one more than there are: once for each size, before the fit ends.

        What began with many nodes may have settled where each does a little of everything, and no merge leads out of
        that. What a controller never does has no counts, so splitting it cannot bring that back: a single node that
        always takes one action would stay alone whatever the data say.
        """
        others, afresh = self.steady and self.restarts, self.afresh
        for nodes in other_sizes(self.now.posterior, counts, self.options.threshold, others):
            if afresh is None or ("afresh", (nodes,)) in self.offered:
                continue
            if self.fresh is not None or not self._late():  # what was begun before a kill is not lost
                fit = Loop(self.task, self.options, None, False, self.began, self.limit, self._still, Within(self))
                try:
                    fit._climb(afresh(nodes))
                finally:  # what an interrupt leaves of it may be the best of all
                    if fit.best is not None and (self.ahead is None or fit.best.bound > self.ahead.bound):
                        self.ahead = fit.best
                self.offered.add(("afresh", (nodes,)))
                yield fit.now if fit.best is None else fit.best
                self._offer()

    def _still(self, row: Row) -> None:
        """A sign of life."""
        self.watch(self.trace[-1])

    def _late(self) -> bool:
        return self.limit is not None and self.seconds() > self.limit

    def _settled(self, before: Evaluated) -> bool:
        """Whether ln V hardly rises any more; if it falls, whether it has not come back for some sweeps."""
        rise = self.now.bound - before.bound
        return self.since >= PATIENCE or 0 <= rise + self.rounding <= self._least()

    def _least(self) -> float:
        return self.options.tolerance * max(1.0, self.task.evidence)


def _rounding(task: Task) -> float:
    """Share of the bound by which it may fall: in single precision every step of an episode adds its own rounding."""
    longest = len(task.steps.largest_gain)
    return ROUNDING if task.precision == DOUBLE else 4 * float(np.finfo(SINGLE).eps) * longest
