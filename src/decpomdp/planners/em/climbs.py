"""What EM and periodic EM share: one climb of EM, and a run with its best team and its trace.

A climb knows the value of its team from its own exact solve. What is reported is what the evaluator says of the best
team so far, asked whenever a climb promises a better one.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from decpomdp.core import DecPOMDP, Fit, Row, Team, Watch
from decpomdp.core.minimal import simplified
from decpomdp.engines import threads as engine
from decpomdp.engines.clock import Finished
from decpomdp.planners.em.chain import Tables, World, flattened
from decpomdp.planners.em.step import EmState, begun, iterated
from decpomdp.planners.incumbent import Incumbent
from decpomdp.planners.stopping import PlanClock

STRETCH = 5  # iterations between two looks at all climbs
GAIN = 1e-9  # relative: less than this is no better team
PATIENCE = 10  # iterations over which a gain is measured


class EmClimb:
    """EM from one start. A gain below `least` (relative) over PATIENCE iterations ends it."""

    def __init__(
        self, world: World, begin: Sequence[Tables], iterations: int, least: float, longest: float, clock: PlanClock
    ) -> None:
        self.world, self.begin, self.clock = world, begin, clock
        self.iterations, self.least, self.longest = iterations, least, longest
        self.state: EmState | None = None
        self.values: list[float] = []  # before the first iteration, after it, ...
        self.converged = False

    def advance(self) -> bool:
        """Up to STRETCH iterations; one that the clock cuts short is dropped."""
        try:
            with engine.serial_products():
                if self.state is None:
                    self._take(begun(self.world, self.begin))
                for _ in range(STRETCH):
                    if self.clock.over() or self.over():
                        break
                    self._take(iterated(self.world, self._now(), self.longest))
        except Finished:
            pass
        return self.over()

    def over(self) -> bool:
        """Whether it has converged or used up its iterations."""
        if len(self.values) > PATIENCE:
            gain = self.values[-1] - self.values[-1 - PATIENCE]
            self.converged = gain <= self.least * max(1e-12, abs(self.values[-1] - self.world.base))
        return self.converged or len(self.values) > self.iterations

    def promise(self) -> float:
        """The value of the team so far, by the climb's own solve."""
        return self.values[-1] if self.values else -np.inf

    def team(self) -> Team:
        """The team so far."""
        return flattened(self.world.model, self._now().team)

    def _take(self, state: EmState) -> None:
        self.state = state
        self.values.append(state.value)

    def _now(self) -> EmState:
        if self.state is None:
            raise RuntimeError("the climb has not begun")
        return self.state


class EmRun:
    """One call of `em` or `periem`: the best team so far and the trace."""

    def __init__(self, model: DecPOMDP, clock: PlanClock, watch: Watch) -> None:
        self.model, self.clock, self.watch = model, clock, watch
        self.incumbent = Incumbent(model)
        self.promised = -np.inf  # what a climb said of the best team it had
        self.cut = False  # a climb ended without converging
        self.trace: list[Row] = []
        self.latest = (0, "begin")  # iteration and phase
        clock.heartbeat = lambda: watch(self._row())

    def guarded(self, work: Callable[[], str]) -> str:
        """Why `work` ended; an interrupt ends it."""
        try:
            return work()
        except Finished:
            return self.clock.why()
        except KeyboardInterrupt:
            self.clock.interrupt()
            return "interrupted"

    def tell(self, climb: EmClimb, phase: str = "em", gain: float = GAIN) -> None:
        """Ask the evaluator about a climb that promises more than `gain` (relative); a row of the trace."""
        self.cut |= climb.over() and not climb.converged
        if not climb.values:
            return  # cut short before it had a team
        if climb.promise() - self.promised > gain * abs(climb.promise()):
            self.incumbent.offer(climb.team())
            self.promised = climb.promise()
        self.record(len(climb.values) - 1, phase)

    def record(self, iteration: int, phase: str) -> None:
        """A row of the trace."""
        self.latest = (iteration, phase)
        self.trace.append(self._row())
        self.clock.shown()
        self.watch(self.trace[-1])

    def say(self, phase: str) -> None:
        """News that is no row of the trace."""
        self.clock.shown()
        self.watch({**self._row(), "phase": phase})

    def _row(self) -> Row:
        best = self.incumbent.best
        return {
            "seconds": round(self.clock.seconds(), 3),
            "iteration": self.latest[0],
            "phase": self.latest[1],
            "value": best.value,
            "lower": best.value,
            "upper": None,
            "nodes": best.team.nodes,
        }

    def finished(self, stopped: str, settings: Row) -> Fit:
        """The fit: the best team made minimal, and its value by the evaluator as the last row."""
        incumbent = self.incumbent

        def shrink() -> str:
            smaller = simplified(incumbent.team)
            if smaller.nodes != incumbent.team.nodes:
                incumbent.best = incumbent.valued(smaller)
            return stopped

        why = self.guarded(shrink)
        with suppress(KeyboardInterrupt):  # it is over anyway
            self.record(len(self.trace), "result")
        return Fit(incumbent.team, tuple(self.trace), why, self.clock.seconds(), settings)
