"""Learning from recorded episodes: sweeps until nothing changes any more, other sizes every fifth sweep.

    a sweep         count, update, evaluate (`sweep`): the next posterior
    every fifth     the best of it and of a queue of proposals (`proposals`), each swept on its own first
    the end         the bound hardly rises, or has not recovered for some sweeps after a fall

One step of the driver is one sweep: of the fit, of the current proposal, or of a restarted fit. Only the fit's own
sweeps are rows of the trace. Likelihoods, weights and counts of a posterior (`Evaluated`) are a cache of the method
object: after a resume they are computed again, with equal results.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from decpomdp.core import Agent, Episodes, InputError, Row, Team
from decpomdp.core.errors import LearningWarning
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Inputs, Now
from decpomdp.filtering.layout import lay_out
from decpomdp.learners import trace
from decpomdp.learners.behaviour import with_denominators
from decpomdp.learners.posterior import AgentPosterior, BayesFit, Counts, TeamPosterior
from decpomdp.learners.proposals import AFRESH, DROP, MERGE, RESIZE, Key, Proposal, other_sizes, proposals
from decpomdp.learners.settings import Sbpr
from decpomdp.learners.start import beginning
from decpomdp.learners.sweep import DOUBLE, SINGLE, Evaluated, Imprecise, Task, count, evaluate, renewed, update
from decpomdp.learners.weighing import steps_of

RESIZE_EVERY = 5  # sweeps between proposals of another size
TRIAL_SWEEPS = 10  # of a proposal of another size before it is compared
PATIENCE = 10  # sweeps without a higher bound until convergence, if it may fall
ROUNDING = 1e-9  # share of the bound by which it may fall through rounding


class Scored(NamedTuple):
    """A posterior and its bound."""

    posterior: tuple[AgentPosterior, ...]
    bound: float
    double: bool  # the precision in which it was evaluated


class FitState(NamedTuple):
    """A fit between two sweeps: of its own, of a proposal, or of a restarted fit."""

    now: Scored
    double: bool  # the precision from here on
    outer: bool = True  # False: a restart within another fit
    stopped: str = ""
    sweep: int = 0  # the next one; 0: `now` is not evaluated yet
    best: Scored | None = None  # None: `now`
    before: float = -math.inf  # the bound when the sweep under way began
    since: int = 0  # sweeps since the best one
    falls: tuple[trace.Fall, ...] = ()
    tried: tuple[Key, ...] = ()  # proposals of kinds that are tried once
    # the current sweep, while it goes through its proposals
    ahead: Scored | None = None  # the best so far; None: the sweep has not begun
    ending: bool | None = None  # whether the fit is about to end; None: not known yet
    queued: int = 0  # finished proposals
    trial: Scored | None = None  # the current proposal
    trial_sweeps: int = 0
    afresh: "FitState | None" = None  # the current restart

    steps: int = 0  # nothing is played

    @property
    def iterations(self) -> int:
        """Sweeps made."""
        return max(0, self.sweep - 1)


@dataclass(slots=True)
class Cached:
    """Cached results of a posterior."""

    evaluated: Evaluated
    counts: list[Counts] | None = None
    queue: list[Proposal] | None = None


class SbprMethod:
    """Dec-SBPR and its special cases, from episodes alone."""

    state: type = FitState

    def __init__(self, episodes: Episodes | Sequence[Episodes], settings: Sbpr, inputs: Inputs) -> None:
        if inputs.begin is not None and settings.start != "best":
            raise InputError(f"start: expected none with a team to begin with, got {settings.start!r}")
        self.settings, self.inputs, self.prior = settings, inputs, settings.chosen_prior
        self.data, self._log_behaviour = with_denominators(episodes, inputs.behaviours, settings.estimate_behaviour)
        self.evidence = float(self.data.count) if settings.evidence is None else settings.evidence
        self.steady = settings.cap is None and not settings.normalise  # else the objective depends on the team
        self._cache: dict[int, Cached] = {}  # by the id of a posterior of the state

    def toy(self) -> "SbprMethod":
        """Two short episodes."""
        return toy_method(self.settings, self.inputs.threads)

    def init(self, now: Now) -> FitState:
        """The first posterior."""
        begin: Team | str = self.settings.start if self.inputs.begin is None else self.inputs.begin
        first = beginning(self.data, self.prior, begin, self.settings.nodes, self.inputs.seed)
        double = self.settings.precision == "double"
        return FitState(Scored(first, -math.inf, double), double)

    def step(self, state: FitState, now: Now) -> tuple[FitState, Row | None]:
        """One sweep; a row if it is one of the fit's own."""
        with self._blas.limit(limits=1, user_api="blas"):  # episodes are what is filtered in parallel
            after = self._advanced(state)
            row = self._row(after) if after.sweep > state.sweep else None
        live = {id(posterior) for posterior in _posteriors(after)}
        self._cache = {key: cached for key, cached in self._cache.items() if key in live}
        return after, row

    def result(self, state: FitState) -> tuple[BayesFit, Row | None]:
        """The posterior of the highest bound; an unfinished sweep closes the trace if it was ahead."""
        best, row = state.best or state.now, None
        if state.sweep > 0:
            with self._blas.limit(limits=1, user_api="blas"):
                afresh = state.afresh and (state.afresh.best or state.afresh.now)
                ahead = max((each for each in (best, state.ahead, afresh) if each), key=lambda each: each.bound)
                if ahead.bound > best.bound:
                    state, best = self._kept(state, ahead), ahead
                    row = self._row(state)
                trace.warn_of_falls(state.falls, self.steady, self.evidence)
                trace.warn_of_collapse(self._task, self._cached(best).evaluated)
        posterior = TeamPosterior(best.posterior, self.data.discount, self.data.name, self.settings.threshold)
        # DEPARTS: the paper's result is the mean alone, without the likeliest choices
        mean = posterior.mean()
        facts = {"evidence": self.evidence, "truncation": self.settings.nodes}
        return BayesFit(simplified(mean), facts=facts, posterior=posterior, decided=simplified(mean.decided())), row

    def _advanced(self, fit: FitState) -> FitState:
        """One sweep: of the fit, or of its current proposal."""
        try:
            if fit.sweep == 0:
                return self._kept(fit, self._scored(fit, fit.now.posterior))
            if fit.afresh is not None:
                other = self._advanced(fit.afresh)
                return self._compared(fit, other.best or other.now) if other.stopped else fit._replace(afresh=other)
            if fit.trial is not None:
                trial = self._swept(fit, fit.trial)
                done = fit.trial_sweeps + 1
                return (
                    self._compared(fit, trial) if done == TRIAL_SWEEPS else fit._replace(trial=trial, trial_sweeps=done)
                )
            if fit.ahead is not None:
                return self._proposed(fit, fit.ahead)
            ahead = self._swept(fit, fit.now)
            resize = self.settings.resize and fit.sweep % RESIZE_EVERY == 0
            return fit._replace(ahead=ahead) if resize else self._kept(fit, ahead)
        except Imprecise:
            warnings.warn(
                "single precision is not enough for these data: double from here", LearningWarning, stacklevel=2
            )
            again = _cleared(fit)._replace(double=True, best=fit.best or fit.now)
            return again._replace(now=self._scored(again, fit.now.posterior))

    def _swept(self, fit: FitState, scored: Scored) -> Scored:
        """Count, update, evaluate."""
        return self._scored(fit, update(self._cached(scored).evaluated, self._counted(fit, scored)))

    def _proposed(self, fit: FitState, ahead: Scored) -> FitState:
        """Begin the next proposal of the queue; without one the sweep is over."""
        queue = self._queue(fit)
        while fit.queued < len(queue):
            proposal = queue[fit.queued]
            if proposal.kind in (MERGE, AFRESH) and fit.ending is None:
                fit = fit._replace(ending=ahead.bound - fit.now.bound <= self._least)
            if self._wanted(fit, proposal):
                return self._begun(fit, proposal)
            fit = fit._replace(queued=fit.queued + 1)
        return self._kept(fit, ahead)

    def _wanted(self, fit: FitState, proposal: Proposal) -> bool:
        if proposal.kind == DROP:
            return True
        late = proposal.kind == AFRESH and fit.sweep >= self.settings.sweeps // 2
        return proposal.key not in fit.tried and (proposal.kind == RESIZE or bool(fit.ending) or late)

    def _begun(self, fit: FitState, proposal: Proposal) -> FitState:
        if proposal.kind == DROP:
            return self._compared(fit, self._renewed(fit, proposal))
        fit = fit._replace(tried=(*fit.tried, proposal.key))
        if proposal.kind != AFRESH:
            return fit._replace(trial=self._renewed(fit, proposal))
        first = beginning(self.data, self.prior, "best", proposal.key[1][0])
        return fit._replace(afresh=FitState(Scored(first, -math.inf, fit.double), fit.double, outer=False))

    def _renewed(self, fit: FitState, proposal: Proposal) -> Scored:
        return self._scored(fit, renewed(self._cached(fit.now).evaluated, proposal.counts))

    def _compared(self, fit: FitState, other: Scored) -> FitState:
        """A proposal is done: the one of the higher bound is ahead, the first of equals."""
        ahead = other if fit.ahead is None or other.bound > fit.ahead.bound else fit.ahead
        return fit._replace(ahead=ahead, queued=fit.queued + 1, trial=None, trial_sweeps=0, afresh=None)

    def _kept(self, fit: FitState, new: Scored) -> FitState:
        """End a sweep and continue from `new`; it is also the best so far, unless the bound fell."""
        after = _cleared(fit)._replace(now=new, sweep=fit.sweep + 1, best=None, before=new.bound, since=0)
        if fit.sweep == 0:
            return after
        last, rounding = fit.best or fit.now, self._rounding(fit.double)
        if not new.bound >= last.bound - rounding * max(1.0, abs(last.bound)):
            falls = (*fit.falls, (fit.sweep, last.bound, new.bound))
            after = after._replace(best=last, since=fit.since + 1, falls=falls)
        settled = after.since >= PATIENCE or 0 <= new.bound - fit.before + rounding <= self._least
        if fit.sweep % RESIZE_EVERY == 0 and settled:
            return after._replace(stopped="converged")
        return after._replace(stopped="iterations") if fit.sweep >= self.settings.sweeps else after

    def _row(self, fit: FitState) -> Row:
        return trace.row_of(self._task, self._cached(fit.now).evaluated, fit.sweep - 1, self.settings.threshold)

    @property
    def _least(self) -> float:
        """The rise of the bound below which the fit has converged."""
        return self.settings.tolerance * max(1.0, self.evidence)

    def _rounding(self, double: bool) -> float:
        """Share of the bound by which it may fall through rounding; in single precision it grows with the steps."""
        return ROUNDING if double else 4 * float(np.finfo(SINGLE).eps) * len(self._task.steps.largest_gain)

    # ---- computed from the data once, and again after a resume ----

    @cached_property
    def _task(self) -> Task:
        settings, inputs = self.settings, self.inputs
        steps = steps_of(self.data, self._log_behaviour, settings.floor)
        layout = lay_out(self.data, settings.nodes, inputs.engine)
        return Task(layout, steps, self.evidence, settings.cap, settings.normalise, inputs.threads)

    @cached_property
    def _blas(self) -> Any:
        return ThreadpoolController()

    def _precise(self, double: bool) -> Task:
        return replace(self._task, precision=DOUBLE if double else SINGLE)

    def _scored(self, fit: FitState, posterior: tuple[AgentPosterior, ...]) -> Scored:
        """Evaluate a new posterior."""
        cached = self._cache[id(posterior)] = Cached(evaluate(self._precise(fit.double), posterior))
        return Scored(posterior, cached.evaluated.bound, fit.double)

    def _cached(self, scored: Scored) -> Cached:
        key = id(scored.posterior)
        if key not in self._cache:
            self._cache[key] = Cached(evaluate(self._precise(scored.double), scored.posterior))
        return self._cache[key]

    def _counted(self, fit: FitState, scored: Scored) -> list[Counts]:
        cached = self._cached(scored)
        if cached.counts is None:
            cached.counts = count(self._precise(fit.double), cached.evaluated)
        return cached.counts

    def _queue(self, fit: FitState) -> list[Proposal]:
        cached = self._cached(fit.now)
        if cached.queue is None:
            posterior, threshold, counts = fit.now.posterior, self.settings.threshold, self._counted(fit, fit.now)
            others = self.steady and self.inputs.begin is None  # an initial team is not replaced by other fits
            sizes = other_sizes(posterior, counts, threshold, others) if fit.outer else []
            cached.queue = proposals(posterior, counts, threshold, self.steady, sizes)
        return cached.queue


def toy_method(settings: Sbpr, threads: int | None) -> SbprMethod:
    """The method on two short episodes of one agent."""
    agent = Agent("x", ("a", "b"), ("o",))
    seen, did, rewards = np.array([[-1], [0], [-1], [0]]), np.array([[0], [1], [0], [1]]), np.array([0.0, 1, 0, 1])
    data = Episodes((agent,), np.array([0, 2, 4]), seen, did, np.full((4, 1), 0.5), rewards, 0.9)
    return SbprMethod(data, Sbpr(prior=settings.prior, precision=settings.precision), Inputs(threads=threads))


def _cleared(fit: FitState) -> FitState:
    """Without the current sweep."""
    return fit._replace(ahead=None, ending=None, queued=0, trial=None, trial_sweeps=0, afresh=None)


def _posteriors(fit: FitState) -> list[tuple[AgentPosterior, ...]]:
    """The posteriors that later steps need."""
    inner = _posteriors(fit.afresh) if fit.afresh else []
    return [scored.posterior for scored in (fit.now, fit.ahead, fit.trial) if scored] + inner
