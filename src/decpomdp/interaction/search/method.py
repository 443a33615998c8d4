"""The default method of learning by interaction: a portfolio of starts, then iterated local search.

    islands = the best of the portfolio, large and small
    repeat: hop from an island; accept what a paired test on fresh episodes finds better; replace who falls behind;
            when the best one is stuck, look at all its neighbours

It only ever plays episodes. What is returned at any moment is the best team so far, already folded and within the size
cap. Work is done in rounds of a fixed number of pieces, each with its own random numbers, and decisions are taken
between rounds in a fixed order: the result is a function of the seed and the number of steps, not of the threads.
A time limit cuts by the clock; only then can two runs differ.
"""

from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np

from decpomdp.core import DecPOMDP, InputError, Simulator
from decpomdp.core.fit import Fit, Row, Watch, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.engines.clock import Clock, Finished
from decpomdp.interaction.crew import Crew, Work
from decpomdp.interaction.players import Arena
from decpomdp.interaction.search.islands import Island, Islands, real
from decpomdp.interaction.search.machines import Plan, constant, sizes, team_of
from decpomdp.interaction.search.moves import hop, seed_of
from decpomdp.interaction.search.neighbours import polish, refine
from decpomdp.interaction.search.rehearsal import rehearse
from decpomdp.interaction.search.settings import SearchSettings
from decpomdp.interaction.search.sizes import SCORING, affordable, sizes_for, tiny
from decpomdp.interaction.search.starts import entries
from decpomdp.interaction.search.state import SearchState, go_on, state_of
from decpomdp.interaction.search.trial import PATIENT, Tally, Verdict, eager, trial
from decpomdp.rollouts import as_simulator

POLISHING = 0.5  # of all steps, at most, for looking at the neighbours of the best plan
REFINING = 3  # every so many times it is those of a plan with more memory
SECONDS = 60.0  # when no limit is given at all


def search(
    problem: DecPOMDP | Simulator,
    *,
    time_limit: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    max_nodes: int | None = None,
    horizon: int | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
    settings: SearchSettings | None = None,
    keeper: Keeper = UNKEPT,
) -> Fit:
    """Learn a team by playing `problem` for `time_limit` seconds or `steps` joint steps (a minute if neither is given).

    An interrupt (Ctrl-C) returns the best team so far. `horizon`: length of the episodes, chosen from the discount when
    not given. `watch` is called with every row of the trace and at least about once a second. `keeper` is offered the
    state after every round, and gives back the one to go on from.
    """
    tunables = settings or SearchSettings()
    tunables = tunables if max_nodes is None else replace(tunables, max_nodes=max_nodes)
    simulator = as_simulator(problem)
    _check(simulator, time_limit, steps, horizon)
    limit = SECONDS if time_limit is None and steps is None else time_limit
    crew = Crew(simulator, Clock(limit), steps, seed, threads)
    return Search(crew, simulator, horizon, watch, tunables, keeper).run()


class Attempt(NamedTuple):
    """What became of a hop, or of a fresh start, which has no plan that it began from."""

    plan: Plan | None
    kind: str
    candidate: Plan
    verdict: Verdict | None


class Search:
    """One run: the state that its phases share."""

    def __init__(
        self,
        crew: Crew,
        simulator: Simulator,
        horizon: int | None,
        watch: Watch,
        settings: SearchSettings,
        keeper: Keeper = UNKEPT,
    ) -> None:
        self.crew, self.simulator, self.watch, self.settings, self.keeper = crew, simulator, watch, settings, keeper
        self.horizon = horizon
        self.round = settings.round if crew.arena.concurrent else 1  # one worker need not wait for others
        self.trace: list[Row] = []
        self.phase, self.hops, self.accepted = "begin", 0, 0
        self.shown = False  # whether the problem shows something before the first action
        self.entries, self.found = 0, list[Island]()  # of the portfolio: tried, and what came of them
        self.searched = 0.0  # progress when the portfolio was left
        self.progress = 0.0  # of the search that follows, when the round began
        self.polished = 0  # joint steps that looking at neighbours took
        nothing = Island(constant(simulator), -np.inf, Tally())
        self.islands = Islands(nothing, settings.islands, settings.island_share)
        self.turns: list[int | None] = []  # of the round: which island every hop starts from
        crew.clock.heartbeat = self._heartbeat

    def run(self) -> Fit:
        """Learn until stopped."""
        self.shown = self.simulator.reset(1, self.crew.seed) is not None
        kept = self.keeper.restore(SearchState)
        if kept is not None:
            go_on(self, kept)  # at once: from here on there is something to return
        try:
            stopped = self._learn(kept)
        except KeyboardInterrupt:
            stopped = "interrupted"
        self._row("finished")
        team = team_of(self.islands.best.plan, self.simulator, self.shown)
        limits: Row = {"time_limit": self.crew.clock.limit, "steps": self.crew.limit, "horizon": self.horizon}
        facts: Row = {"method": "search", "seed": self.crew.seed, **limits, **self.settings.row()}
        return Fit(team, tuple(self.trace), stopped, self.crew.clock.seconds(), facts)

    def _learn(self, kept: SearchState | None) -> str:
        try:
            self.crew.go_on(0, 0)  # a rehearsal must not run out of steps
            self._rehearse()
            if kept is None:
                self.size(affordable(self.crew, self.settings, self.horizon))
                self.crew.clock.prepared()
            else:
                go_on(self, kept)  # once more: the rehearsal did not count
            if self.phase != "search":
                self._begin()
            self._improve()
        except Finished:
            return "time limit" if self.crew.clock.over() else "steps"

    def _rehearse(self) -> None:
        """What is not compiled yet would seem slow."""
        if self.crew.clock.limit is not None:
            smallest = tiny(sizes_for(self.settings, self.crew.arena.discount, self.horizon, 0.0))
            with self.crew.clock.hold():
                self.crew.alone(lambda arena: rehearse(arena, smallest, self.shown))

    def size(self, affordable: float) -> None:
        """How large everything may be, given how many joint steps there are."""
        self.affordable = affordable
        self.sizes = sizes_for(self.settings, self.crew.arena.discount, self.horizon, affordable)
        self.round = 1 if self.sizes.poor else self.round

    def _begin(self) -> None:
        """Phase 1: the best few of the portfolio."""
        self.phase = "portfolio"
        pieces = entries(self.crew.arena, self.sizes)
        for begin in range(self.entries, len(pieces), self.round):
            names, works = zip(*pieces[begin : begin + self.round], strict=True)
            plans = self.crew.round(len(works), lambda k, arena, rng, works=works: works[k](arena, rng))  # type: ignore[misc]
            self.found += [self._scored(plan) for plan in plans if plan is not None]
            self.islands.choose(self.found)
            self._row(f"{names[0]} .. {names[-1]}")
            if None in plans:
                raise Finished
            self.entries = begin + len(works)
            if self.crew.progress() > self.settings.portfolio_share:
                break
            self.keeper.offer(lambda: state_of(self))
        self.phase, self.searched, self.found = "search", self.crew.progress(), []

    def _improve(self) -> NoReturn:
        """Phase 2: hops from the islands, and fresh starts."""
        while True:
            self.keeper.offer(lambda: state_of(self))
            self.progress = min(1.0, (self.crew.progress() - self.searched) / max(1e-9, 1 - self.searched))
            if self._stuck():
                self._look_around()
            else:
                self.turns = self.islands.turns(self.round, self.progress)
                self._all(self._attempt)

    def _all(self, work: Work[Attempt]) -> None:
        """A round, and what comes of it."""
        results = self.crew.round(self.round, work)
        for number, result in zip(self.turns, results, strict=True):
            if result is not None:
                self._consider(number, result)
        if None in results:
            raise Finished
        self._crown()

    def _crown(self) -> None:
        """Whoever seems better than the best plan must beat it: scores are of few episodes, and luck decides them."""
        rival = self.islands.rival
        if rival is not None:
            stages = eager(self.sizes.stages, self.progress)
            seed = seed_of(np.random.default_rng([self.crew.seed, self.crew.rounds, self.round]))
            best = self.islands.best
            verdict = self.crew.alone(lambda arena: trial(arena, best.plan, rival.plan, stages, seed))
            self.islands.met(verdict)

    def _look_around(self) -> None:
        """A round for the neighbours of the best plan."""
        self.turns, before, steps = [0] * self.round, self.islands.best, self.crew.steps
        self._all(self._polish)
        self.polished += self.crew.steps - steps
        if self.islands.best.plan is before.plan:
            self.islands.all[0] = self.islands.best._replace(looked=before.looked + 1)

    def _stuck(self) -> bool:
        """Whether it is time for the neighbours of the best plan; chance that cannot be repeated hides their gains."""
        enough = self.sizes.contest >= self.sizes.stages.first * self.sizes.testing
        spared = self.polished <= POLISHING * self.crew.steps
        return enough and spared and self.crew.arena.repeatable and self.islands.best.stuck

    def _polish(self, k: int, arena: Arena, rng: np.random.Generator) -> Attempt:
        plan, share = self.islands.best.plan, (k, self.round)
        if self.islands.best.looked % REFINING < REFINING - 1:
            kind, candidate = "polish", polish(arena, plan, self.sizes, rng, share)
        else:
            kind, candidate = "refine", refine(arena, plan, self.sizes, rng)
        stages = self.sizes.stages._replace(hope=PATIENT)
        return Attempt(plan, kind, candidate, trial(arena, plan, candidate, stages, seed_of(rng)))

    def _attempt(self, k: int, arena: Arena, rng: np.random.Generator) -> Attempt:
        number = self.turns[k]
        if number is None:
            pieces = entries(arena, self.sizes)
            name, work = pieces[int(rng.integers(len(pieces)))]
            return Attempt(None, f"fresh {name}", work(arena, rng), None)
        plan = self.islands.all[number].plan
        kind, candidate = hop(arena, plan, self.sizes.at(self.progress), rng, self.progress)
        stages = eager(self.sizes.stages, self.progress)
        return Attempt(plan, kind, candidate, trial(arena, plan, candidate, stages, seed_of(rng)))

    def _consider(self, number: int | None, attempt: Attempt) -> None:
        self.hops += 1
        if number is None or attempt.verdict is None:
            self.islands.add(self._scored(attempt.candidate))
            return
        island, verdict = self.islands.all[number], attempt.verdict
        if island.plan is not attempt.plan:  # the second gain of a round was measured without the first
            return
        self.islands.all[number] = island.tried(verdict)
        if verdict.accepted:
            self.accepted += 1
            idle = 0 if real(verdict) else island.idle + 1
            self.islands.all[number] = Island(attempt.candidate, island.score + verdict.gain, verdict.new, idle)
            # scored as all islands are; the line before stands if the steps run out on the way
            self.islands.all[number] = self._scored(attempt.candidate)._replace(idle=idle)
            self._row(attempt.kind)

    def _scored(self, plan: Plan) -> Island:
        """Always on the same episodes, so that islands compare."""
        episodes, horizon = SCORING * self.sizes.stages.first, self.sizes.testing
        returns = self.crew.alone(lambda arena: arena.returns(plan, episodes, horizon, self.crew.seed))
        return Island(plan, float(returns.mean()), Tally.of(returns))

    def _describe(self, event: str) -> Row:
        best = self.islands.best
        return {
            "seconds": round(self.crew.clock.seconds(), 3),
            "steps": self.crew.steps,
            "phase": self.phase,
            "event": event,
            "value": best.tally.mean,
            "error": best.tally.error,
            "nodes": "+".join(str(size) for size in sizes(best.plan)),
            "hops": self.hops,
            "accepted": self.accepted,
        }

    def _row(self, event: str) -> None:
        row = self._describe(event)
        self.trace.append(row)
        self.crew.clock.shown()
        self.watch(row)

    def _heartbeat(self) -> None:
        self.watch(self._describe("working"))


def _check(simulator: Simulator, time_limit: float | None, steps: int | None, horizon: int | None) -> None:
    for name, value, least in (("time_limit", time_limit, 0), ("steps", steps, 1), ("horizon", horizon, 1)):
        if value is not None and not value >= least:
            raise InputError(f"{name}: expected a number of at least {least}, got {value}")
    if simulator.discount >= 1 and horizon is None:
        raise InputError("horizon: expected a number of steps, because the discount is 1; got none")
