"""The default method of learning by interaction: a portfolio of starts, then iterated local search.

    islands = the best three of the portfolio
    repeat: from every island, hop; accept what a paired test on fresh episodes finds better; after a while keep the best

It only ever plays episodes. What is returned at any moment is the best team so far, already folded and within the size
cap. Work is done in rounds of a fixed number of pieces, each with its own random numbers, and decisions are taken
between rounds in a fixed order: the result is a function of the seed and the number of steps, not of the threads.
A time limit cuts by the clock; only then can two runs differ.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from decpomdp.core import DecPOMDP, InputError, Simulator
from decpomdp.core.fit import Fit, Row, Watch, unwatched
from decpomdp.engines import threads as engine
from decpomdp.interaction.arena import Arena, arena_of
from decpomdp.interaction.ascent import ascend
from decpomdp.interaction.clock import Clock, Finished
from decpomdp.interaction.hops import hop
from decpomdp.interaction.machine import Plan, constant, sizes, team_of
from decpomdp.interaction.portfolio import entries
from decpomdp.interaction.scale import Sizes, sizes_for
from decpomdp.interaction.settings import SearchSettings
from decpomdp.interaction.trial import Verdict, trial
from decpomdp.rollouts import as_simulator

Result = TypeVar("Result")
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
) -> Fit:
    """Learn a team by playing `problem` for `time_limit` seconds or `steps` joint steps (a minute if neither is given).

    An interrupt (Ctrl-C) returns the best team so far. `horizon`: length of the episodes, chosen from the discount when
    not given. `watch` is called with every row of the trace and at least about once a second.
    """
    chosen = settings or SearchSettings()
    chosen = chosen if max_nodes is None else replace(chosen, max_nodes=max_nodes)
    simulator = as_simulator(problem)
    _check(simulator, time_limit, steps, horizon)
    limit = SECONDS if time_limit is None and steps is None else time_limit
    return Search(simulator, limit, steps, seed, horizon, threads, watch, chosen).run()


@dataclass(slots=True)
class Island:
    """A plan that is being improved, and what is known of its value."""

    plan: Plan
    value: float
    error: float


class Search:
    """One run."""

    def __init__(
        self,
        simulator: Simulator,
        limit: float | None,
        steps: int | None,
        seed: int,
        horizon: int | None,
        threads: int | None,
        watch: Watch,
        settings: SearchSettings,
    ) -> None:
        self.simulator, self.limit, self.seed, self.horizon = simulator, steps, seed, horizon
        self.watch, self.settings = watch, settings
        self.clock = Clock(limit, self._heartbeat)
        self.arena = arena_of(simulator, self.clock)
        self.threads = threads if self.arena.concurrent else 1
        self.workers: list[Arena] = []
        self.trace: list[Row] = []
        self.phase, self.steps, self.hops, self.accepted, self.rounds = "begin", 0, 0, 0, 0
        self.islands = [Island(constant(simulator), float("nan"), float("nan"))]

    def run(self) -> Fit:
        """Learn until stopped."""
        stopped = "interrupted"
        try:
            self._begin()
        except Finished:
            stopped = "time limit" if self.clock.over() else "steps"
        except KeyboardInterrupt:
            pass
        self._row("finished")
        team = team_of(self.islands[0].plan, self.simulator, self.shown)
        return Fit(team, tuple(self.trace), stopped, self.clock.seconds(), self._facts())

    def _begin(self) -> None:
        self.shown = False
        self.shown = self.simulator.reset(1, self.seed) is not None
        self.sizes = sizes_for(self.settings, self.arena.discount, self.horizon, self._affordable())
        self._portfolio()
        self._improve()

    def _affordable(self) -> float:
        """Joint steps that the limits allow, from a measurement of the speed when it is time that is limited."""
        if self.clock.limit is None:
            return float(self.limit or np.inf)
        probe = sizes_for(self.settings, self.arena.discount, self.horizon, 0.0)
        effort = probe.short._replace(updates=2)
        speed = 0.0
        for _ in range(2):  # the first time includes compilation
            worker, before = self._worker(), self.clock.seconds()
            ascend(worker, constant(self.arena), effort, 0, free=True)
            speed = worker.steps / max(1e-6, self.clock.seconds() - before)
            self._collect()
        count = engine.default_threads() if self.threads is None else self.threads
        return min(float(self.limit or np.inf), speed * count * self.clock.limit)

    def _portfolio(self) -> None:
        """Phase 1."""
        self.phase = "portfolio"
        pieces = entries(self.arena, self.sizes)
        found: list[Island] = []
        size = self.settings.round
        for begin in range(0, len(pieces), size):
            part = pieces[begin : begin + size]
            plans = self._round(len(part), lambda k, arena, rng, part=part: part[k][1](arena, rng))  # type: ignore[misc]
            found += [self._scored(plan) for plan in plans if plan is not None]
            if found:
                found.sort(key=lambda island: -island.value)
                self.islands = distinct(found)[: self.settings.islands]
            self._row(f"{part[0][0]} .. {part[-1][0]}")
            if None in plans:
                raise Finished

    def _scored(self, plan: Plan) -> Island:
        arena = self._worker()
        returns = arena.returns(plan, 4 * self.sizes.stages.first, self.sizes.testing, self.seed)
        self._collect()
        return Island(plan, float(returns.mean()), float(returns.std() / np.sqrt(len(returns))))

    def _improve(self) -> None:
        """Phase 2."""
        self.phase = "search"
        while True:
            if len(self.islands) > 1 and self._progress() > self.settings.island_share:
                self.islands = [max(self.islands, key=lambda island: island.value)]
            results = self._round(self.settings.round, self._attempt)
            for k, result in enumerate(results):
                if result is not None:
                    self._consider(k % len(self.islands), *result)
            self.islands.sort(key=lambda island: -island.value)
            if None in results:
                raise Finished

    def _attempt(self, k: int, arena: Arena, rng: np.random.Generator) -> tuple[Plan, str, Plan, Verdict]:
        plan = self.islands[k % len(self.islands)].plan
        kind, candidate = hop(arena, plan, self.sizes, rng)
        return plan, kind, candidate, trial(arena, plan, candidate, self.sizes.stages, int(rng.integers(1 << 62)))

    def _consider(self, number: int, tested: Plan, kind: str, candidate: Plan, verdict: Verdict) -> None:
        self.hops += 1
        island = self.islands[number]
        if (
            verdict.accepted and island.plan is tested
        ):  # only the first gain of a round: the next was measured without it
            self.accepted += 1
            self.islands[number] = Island(candidate, verdict.value, verdict.spread)
            self._row(kind)

    def _round(self, pieces: int, work: Callable[[int, Arena, np.random.Generator], Result]) -> list[Result | None]:
        """work(0), ..., each with its own worker and random numbers; None where the time or the steps ran out."""
        left = np.inf if self.limit is None else max(0, self.limit - self.steps) / pieces
        self.workers = [self.arena.fork(left) for _ in range(pieces)]
        self.rounds += 1

        def piece(k: int) -> Result | None:
            try:
                return work(k, self.workers[k], np.random.default_rng([self.seed, self.rounds, k]))
            except Finished:
                return None

        results = engine.run(piece, pieces, self.threads)
        self._collect()
        return results

    def _worker(self) -> Arena:
        left = np.inf if self.limit is None else self.limit - self.steps
        self.workers = [self.arena.fork(left)]
        return self.workers[0]

    def _collect(self) -> None:
        self.steps += sum(worker.steps for worker in self.workers)
        self.workers = []

    def _progress(self) -> float:
        """Share of the limits that is used up."""
        by_steps = 0.0 if self.limit is None else self.steps / self.limit
        return max(by_steps, self.clock.share())

    def _describe(self, event: str) -> Row:
        best = self.islands[0]
        return {
            "seconds": round(self.clock.seconds(), 3),
            "steps": self.steps + sum(worker.steps for worker in self.workers),
            "phase": self.phase,
            "event": event,
            "value": best.value,
            "error": best.error,
            "nodes": "+".join(str(size) for size in sizes(best.plan)),
            "hops": self.hops,
            "accepted": self.accepted,
        }

    def _row(self, event: str) -> None:
        row = self._describe(event)
        self.trace.append(row)
        self.clock.shown()
        self.watch(row)

    def _heartbeat(self) -> None:
        self.watch(self._describe("working"))

    def _facts(self) -> Row:
        return {
            "method": "search",
            "seed": self.seed,
            "time_limit": self.clock.limit,
            "steps": self.limit,
            **self.settings.row(),
        }


def distinct(islands: list[Island]) -> list[Island]:
    """Without those that have the same value to the last digit: on the same episodes that means the same play."""
    kept: dict[float, Island] = {}
    for island in islands:
        kept.setdefault(island.value, island)
    return list(kept.values())


def _check(simulator: Simulator, time_limit: float | None, steps: int | None, horizon: int | None) -> None:
    for name, value, least in (("time_limit", time_limit, 0), ("steps", steps, 1), ("horizon", horizon, 1)):
        if value is not None and not value >= least:
            raise InputError(f"{name}: expected a number of at least {least}, got {value}")
    if simulator.discount >= 1 and horizon is None:
        raise InputError("horizon: expected a number of steps, because the discount is 1; got none")
