"""Learning from recorded episodes: several short fits to some episodes, then sweeps over all of them.

    starts      each is fitted to at most SOME episodes; every agent keeps those with its highest bounds
    merges      two nodes of an agent are merged if its bound rises
    reopening   a part of every choice is opened and swept again; then merges again, while the bound of an agent rises.
                Merges and reopening from the best start of every agent, the second best, ...; the highest bound wins
    sweeps      from there, with a part of every choice open, over all episodes, until the bound stops rising
    judging     the value of the team, estimated from the episodes (`judging`)
    cloning     only if that estimate is below the behaviour's: starts, merges and sweeps with equal utilities

One step of the driver is a short fit, or some sweeps over all episodes, each a row of the trace. Starts are chosen
for each agent separately, because at alpha = 0 the bound is a sum over agents. Likelihoods and weights of a posterior
(`Evaluated`) are cached in the method object: after a resume they are recomputed, with equal results.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from decpomdp.core import Agent, Episodes, InputError, Row, Team, concatenate
from decpomdp.core.errors import LearningWarning
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Inputs, Now
from decpomdp.filtering.filter import lay_out
from decpomdp.learners import trace
from decpomdp.learners.behaviour import batches_of, with_denominators
from decpomdp.learners.judging import WORSE, Judged, judge
from decpomdp.learners.posterior import AgentPosterior, BayesFit, TeamPosterior, occupied_nodes, updated
from decpomdp.learners.rows import Floats
from decpomdp.learners.settings import Sbpr
from decpomdp.learners.start import SOFTNESS, beginning, softened
from decpomdp.learners.sweep import (
    DOUBLE,
    SINGLE,
    Evaluated,
    Imprecise,
    Task,
    agent_bounds,
    count,
    evaluate,
    update,
)
from decpomdp.learners.weighing import Steps, by_reward, by_utility, utilities

FIT, CLONED = 0, 1  # parts of a run
STARTING, MERGING, REOPENING, WHOLE = range(4)  # phases of a part
CLOCK = 1  # the start in which agents count their steps
SOME = 300  # episodes for the starts, at most
LIMITS = {STARTING: 60, MERGING: 10, REOPENING: 60}  # sweeps of a start, a merge, a reopening
CLOSE = 1e-4  # rise of the bound per episode with which a start ends
ORDER_EVERY = 5  # sweeps
SWEEPS, STEPS = 10, 200_000  # limits of one step of the driver: sweeps over all episodes, and episode steps in them
MERGES = 4  # failed merges of an agent after which no more are tried
OPEN, REOPENED = 0.3, 5  # share of every choice that is opened again; rounds of it, at most
TRIED = 4  # starts of every agent that are improved by merges and reopening
RARE = 1e-3  # share of visits below which nodes of the starts are dropped
FEWEST = 20  # episodes for judging, at least
ROUNDING = 1e-9  # fall of the bound that is rounding, relative to the bound


class Scored(NamedTuple):
    """A posterior and its bound."""

    posterior: tuple[AgentPosterior, ...]
    bound: float = -math.inf


class Started(NamedTuple):
    """The best start of an agent."""

    bound: float
    posterior: AgentPosterior


class FitState(NamedTuple):
    """A fit between two sweeps."""

    now: Scored
    double: bool  # the precision of the following sweeps
    part: int = FIT
    phase: int = STARTING
    start: int = 0  # the current start
    later: tuple[int, ...] = ()  # the starts after it
    sweep: int = 0  # the next one; 0: `now` is not evaluated yet
    ranked: tuple[tuple[Started, ...], ...] = ()  # per agent: its best starts
    rank: int = 0  # of the starts that are being improved
    chosen: tuple[Started, ...] = ()  # per agent: its best result from them
    best: tuple[Started, ...] = ()  # per agent: from better ranks
    failed: tuple[int, ...] = ()  # per agent: merges or rounds since its last success
    rounds: int = 0  # of reopening
    falls: tuple[trace.Fall, ...] = ()
    ended: str = ""  # why the fit ended, while it is being judged
    fit: Scored | None = None  # the finished fit
    judged: Judged | None = None
    iterations: int = 0  # sweeps over all episodes
    carrying: float | None = None  # effective number of episodes, of the last of them
    stopped: str = ""

    steps: int = 0  # nothing is played


class SbprMethod:
    """Dec-SBPR and its special cases, from episodes alone."""

    state: type = FitState

    def __init__(self, episodes: Episodes | Sequence[Episodes], settings: Sbpr, inputs: Inputs) -> None:
        if inputs.begin is not None and settings.start != "best":
            raise InputError(f"start: expected none with a team to begin with, got {settings.start!r}")
        self.settings, self.inputs = settings, inputs
        self.data, self._log_behaviour = self._read(episodes)
        self.prior = settings.prior_for(self.data.count)
        self.starts = 0 if inputs.begin is not None or settings.starts == 1 else settings.starts
        self.sweeps = int(np.clip(STEPS // self.data.steps, 1, SWEEPS))  # over all episodes, in one step
        self._tasks: dict[tuple[int, bool], Task] = {}
        self._cache: tuple[tuple[AgentPosterior, ...], Evaluated] | None = None

    def _read(self, episodes: Episodes | Sequence[Episodes]) -> tuple[Episodes, Floats | None]:
        """All episodes, and [r] the log probability of the behaviour's actions so far; None at alpha = 0."""
        estimate, behaviours = self.settings.estimate_behaviour, self.inputs.behaviours
        if self.settings.alpha > 0:
            return with_denominators(episodes, behaviours, estimate)
        if estimate or behaviours is not None:
            name = "estimate_behaviour" if estimate else "behaviours"
            raise InputError(f"{name}: expected none with alpha 0, which needs no behaviour probabilities")
        return concatenate(batches_of(episodes)), None

    def toy(self) -> "SbprMethod":
        """Two short episodes."""
        return toy_method(self.settings, self.inputs.threads)

    def init(self, now: Now) -> FitState:
        """The first posterior."""
        return self._part(FitState(Scored(()), self.settings.precision == "double"), FIT, tuple(range(self.starts)))

    def step(self, state: FitState, now: Now) -> tuple[FitState, list[Row]]:
        """A short fit, or some sweeps over all episodes; a row for every sweep of the fit over all episodes."""
        rows = list[Row]()
        left = self.sweeps
        with self._blas.limit(limits=1, user_api="blas"):  # threads are used for episodes instead
            while True:
                task = self._task(state)
                try:
                    scored, evaluated = self._swept(state, task)
                except Imprecise:
                    warnings.warn(
                        "single precision is not enough for these data: continuing in double precision",
                        LearningWarning,
                        stacklevel=2,
                    )
                    return state._replace(double=True), rows
                after = self._after(state, scored, task)
                if state.phase == WHOLE:
                    left -= 1
                    if state.part == FIT:
                        rows.append(trace.row_of(task, evaluated, state.sweep, self.settings.threshold))
                        after = after._replace(carrying=evaluated.weighed.sample_size)
                if after.sweep == 0 or after.stopped or left == 0 or now.stop[0]:  # sweep 0: a fit has ended
                    return after, rows
                state = after

    def result(self, state: FitState) -> tuple[BayesFit, None]:
        """The likeliest choices of the posterior, or the mean of the cloned behaviour if its estimate is higher."""
        posterior = self._posterior(state.fit or self._best(state))
        facts: dict[str, Any] = {"evidence": self.evidence, "episodes": self.data.count, "carrying": state.carrying}
        cloned = state.stopped and state.judged is not None and state.judged.verdict == WORSE
        if state.judged is not None:
            facts |= {"horizon": int(self.data.lengths.max()), **state.judged.facts()}
        if cloned:
            posterior = self._posterior(state.now)
        # DEPARTS: the paper's result is the mean
        team = posterior.mean() if cloned or self.settings.utility == "equal" else posterior.mean().decided()
        trace.warn_of_falls(state.falls)
        if state.carrying is not None:
            trace.warn_of_collapse(state.carrying, self.data.count)
        return BayesFit(simplified(team), facts=facts, posterior=posterior), None

    # ---- one step ----

    def _swept(self, state: FitState, task: Task) -> tuple[Scored, Evaluated]:
        """Count, update, evaluate; in sweep 0 evaluate only."""
        posterior = state.now.posterior
        if state.sweep > 0:
            before = self._evaluated(task, posterior)
            posterior = update(before, count(task, before))
            if state.sweep % ORDER_EVERY == 0:
                posterior = tuple(agent.ordered() for agent in posterior)
        evaluated = self._evaluated(task, posterior)
        return Scored(posterior, evaluated.bound), evaluated

    def _after(self, state: FitState, new: Scored, task: Task) -> FitState:
        """The state after a sweep; after the last one, that of the next start or part."""
        starting = state.phase != WHOLE
        before, rounding = state.now.bound, self._rounding(task) * max(1.0, abs(state.now.bound))
        if state.sweep > 0 and not new.bound >= before - rounding:
            state = state._replace(falls=(*state.falls, (state.sweep, before, new.bound)))
        least = max(1.0, task.evidence) * (CLOSE if starting else self.settings.tolerance)
        settled = state.sweep > 0 and new.bound - before <= least
        last = state.sweep >= (LIMITS.get(state.phase, self.settings.sweeps))
        counted = state.part == FIT and not starting
        after = state._replace(now=new, sweep=state.sweep + 1, iterations=state.sweep if counted else state.iterations)
        if not (settled or last):
            return after
        if starting:
            return self._next(self._compared(after))
        return self._finished(after, "converged" if settled else "sweeps")

    def _compared(self, state: FitState) -> FitState:
        """Each agent keeps the start, merge or reopening with its highest bound, the first of equals."""
        bounds = agent_bounds(self._task(state), state.now.posterior)
        new = tuple(Started(*pair) for pair in zip(bounds, state.now.posterior, strict=True))
        if state.phase == STARTING:
            kept = zip(state.ranked or [()] * len(new), new, strict=True)
            ranked = tuple(tuple(sorted((*old, one), key=lambda each: -each.bound)[:TRIED]) for old, one in kept)
            return state._replace(ranked=ranked, chosen=tuple(best for best, *_ in ranked))
        each = zip(state.failed, state.chosen, new, strict=True)
        failed = tuple(0 if one.bound > best.bound else count + 1 for count, best, one in each)
        return state._replace(chosen=_better(state.chosen, new), failed=failed)

    def _next(self, state: FitState) -> FitState:
        """The next start; then merges and reopening from the best starts; then the sweeps over all episodes."""
        none = (0,) * len(state.chosen)
        if state.phase == STARTING:
            if state.later:
                return self._begun(state._replace(start=state.later[0], later=state.later[1:]))
            state = state._replace(phase=MERGING, failed=none)
        if state.phase == REOPENING:
            if all(state.failed):
                return self._tried(state)
            state = state._replace(phase=MERGING, failed=none)
        pairs = zip(state.chosen, state.failed, strict=True) if self.prior.nodes is None else ()
        left = [best.posterior.merges()[failed:MERGES] if failed < MERGES else [] for best, failed in pairs]
        if any(left):
            each = zip(state.chosen, left, strict=True)
            first = tuple(merges[0] if merges else best.posterior for best, merges in each)
            return state._replace(now=Scored(first), sweep=0)
        if state.rounds == REOPENED:
            return self._tried(state)
        first = tuple(_reopened(best.posterior, OPEN) for best in state.chosen)
        return state._replace(phase=REOPENING, now=Scored(first), sweep=0, rounds=state.rounds + 1, failed=none)

    def _tried(self, state: FitState) -> FitState:
        """Merges from the next best start of every agent; after the last one the sweeps over all episodes."""
        best = _better(state.best, state.chosen) if state.best else state.chosen
        rank = state.rank + 1
        if rank == len(state.ranked[0]):
            return self._begun(state._replace(phase=WHOLE, chosen=best))
        chosen, failed = tuple(starts[rank] for starts in state.ranked), (0,) * len(best)
        return self._next(state._replace(phase=MERGING, best=best, rank=rank, chosen=chosen, rounds=0, failed=failed))

    def _part(self, state: FitState, part: int, starts: tuple[int, ...]) -> FitState:
        """Begin a part of the run."""
        phase, first = (STARTING, starts[0]) if starts else (WHOLE, 0)
        cleared = state._replace(part=part, phase=phase, start=first, later=starts[1:], ranked=(), rank=0, best=())
        return self._begun(cleared._replace(chosen=(), failed=(), rounds=0))

    def _begun(self, state: FitState) -> FitState:
        """The first posterior of a start, or of the sweeps over all episodes."""
        if state.phase == WHOLE and state.chosen:
            first = tuple(_reopened(each.posterior) for each in state.chosen)
        else:
            first = self._start(state)
        return state._replace(now=Scored(first), sweep=0)

    def _start(self, state: FitState) -> tuple[AgentPosterior, ...]:
        seed = self.inputs.seed + state.start
        begin: Team | str = {0: self.settings.start, CLOCK: "clock"}.get(state.start, "random")
        return beginning(self._episodes(state), self.prior, self.inputs.begin or begin, self.settings.nodes, seed)

    def _finished(self, state: FitState, why: str) -> FitState:
        """The end of a part."""
        if state.part == FIT:
            state = state._replace(fit=state.now, ended=why)
            if not self._judging:
                return state._replace(stopped=why)
            judged = judge(self.data, self._posterior(state.now).mean().decided())
            state = state._replace(judged=judged)
            if judged.verdict == WORSE:
                return self._part(state, CLONED, tuple(range(self.starts)))
        return state._replace(stopped=state.ended)

    @staticmethod
    def begun(state: FitState) -> bool:
        """Whether the team has changed since the start."""
        return state.fit is not None or bool(state.chosen) or state.sweep > 1

    def _best(self, state: FitState) -> Scored:
        """The best result of an unfinished fit."""
        if state.chosen and state.phase != WHOLE:
            return Scored(tuple(each.posterior for each in state.chosen))
        return state.now

    def _posterior(self, scored: Scored) -> TeamPosterior:
        return TeamPosterior(scored.posterior, self.data.discount, self.data.name, self.settings.threshold)

    # ---- computed from the data once, and again after a resume ----

    @property
    def evidence(self) -> float:
        """The number of episodes that the data count as."""
        return float(self.data.count) if self.settings.evidence is None else self.settings.evidence

    @property
    def _judging(self) -> bool:
        return self.settings.judge and self.data.count >= FEWEST and self.inputs.begin is None

    def _numbers(self, state: FitState) -> NDArray[np.int64] | None:
        """The numbers of the episodes that are fitted; None: all."""
        if state.phase == WHOLE or self.data.count <= SOME:
            return None
        rng = np.random.default_rng(self.inputs.seed + state.part)
        return np.sort(rng.choice(self.data.count, SOME, replace=False))

    def _episodes(self, state: FitState) -> Episodes:
        numbers = self._numbers(state)
        return self.data if numbers is None else self.data.chosen(numbers)

    def _log_behaviour_of(self, numbers: NDArray[np.int64] | None) -> Any:
        if self._log_behaviour is None or numbers is None:
            return self._log_behaviour
        offsets = self.data.offsets
        return np.concatenate([self._log_behaviour[offsets[k] : offsets[k + 1]] for k in numbers])

    def _evidence(self, state: FitState) -> float:
        numbers = self._numbers(state)
        return self.evidence * (1.0 if numbers is None else len(numbers) / self.data.count)

    def _task(self, state: FitState) -> Task:
        """The data of the current sweep."""
        starting = state.phase != WHOLE
        key = (state.part, starting)
        if key not in self._tasks:
            data, numbers = self._episodes(state), self._numbers(state)
            steps = self._steps(data, self._log_behaviour_of(numbers), state.part)
            engine = self.inputs.engine if numbers is None and not starting else None  # starts are small
            layout = lay_out(data, self.settings.nodes, engine)
            power = 0.0 if starting or state.part == CLONED else self.settings.alpha
            self._tasks = {old: task for old, task in self._tasks.items() if old == (FIT, False)}
            self._tasks[key] = Task(layout, steps, self._evidence(state), power, self.inputs.threads)
        return replace(self._tasks[key], precision=DOUBLE if state.double else SINGLE)

    def _steps(self, data: Episodes, log_behaviour: Any, part: int) -> Steps:
        if part == CLONED or self.settings.utility == "equal":
            return by_utility(data, None, np.ones(data.count))
        if self.settings.utility == "reward":
            return by_reward(data, np.zeros(data.steps) if log_behaviour is None else log_behaviour)
        return by_utility(data, log_behaviour, utilities(data.returns()))

    @cached_property
    def _blas(self) -> Any:
        return ThreadpoolController()

    def _rounding(self, task: Task) -> float:
        """Fall of the bound that is rounding, relative to the bound; in single precision it grows with the steps."""
        single = task.precision == SINGLE
        return 4 * float(np.finfo(SINGLE).eps) * float(self.data.lengths.max()) if single else ROUNDING

    def _evaluated(self, task: Task, posterior: tuple[AgentPosterior, ...]) -> Evaluated:
        if (
            self._cache is None
            or self._cache[0] is not posterior
            or self._cache[1].tables[0].act.dtype != task.precision
        ):
            self._cache = (posterior, evaluate(task, posterior))
        return self._cache[1]


def toy_method(settings: Sbpr, threads: int | None) -> SbprMethod:
    """The method on two short episodes of one agent."""
    agent = Agent("x", ("a", "b"), ("o",))
    seen, did, rewards = np.array([[-1], [0], [-1], [0]]), np.array([[0], [1], [0], [1]]), np.array([0.0, 1, 0, 1])
    data = Episodes((agent,), np.array([0, 2, 4]), seen, did, np.full((4, 1), 0.5), rewards, 0.9)
    return SbprMethod(data, Sbpr(prior=settings.prior, precision=settings.precision), Inputs(threads=threads))


def _better(first: tuple[Started, ...], second: tuple[Started, ...]) -> tuple[Started, ...]:
    """Per agent the one with the higher bound, the first of equals."""
    return tuple(two if two.bound > one.bound else one for one, two in zip(first, second, strict=True))


def _reopened(agent: AgentPosterior, share: float = SOFTNESS) -> AgentPosterior:
    """A posterior to sweep again: without rare nodes, and with a `share` of every choice open.

    A move without counts has almost no probability, so sweeps never return to moves that were lost while the nodes
    were still alike.
    """
    counts = agent.counts
    if agent.priors.move.sized:
        counts = counts.chosen(occupied_nodes(agent.occupancy(), RARE))
    return updated(agent.agent, agent.priors, softened(counts, share))
