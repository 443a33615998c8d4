"""What EM and periodic EM share: one climb of EM, and the best team of all climbs.

A climb knows the value of its team from its own exact solve. The trace reports what the evaluator says of the best
team so far; it is asked when a climb claims a better one.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from decpomdp.core import DecPOMDP, Row, Team
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Cut
from decpomdp.engines import threads as engine
from decpomdp.planners.em.chain import ShiftedModel, Tables, flattened
from decpomdp.planners.em.step import Iterate, first_iterate, next_iterate
from decpomdp.planners.incumbent import Valued, constant, valued

ABREAST = 4  # climbs under way at a time
STRETCH = 5  # iterations between two looks at all climbs
GAIN = 1e-9  # relative: a smaller gain is not worth an evaluation
PATIENCE = 10  # iterations over which a gain is measured


class Climb(NamedTuple):
    """EM from one start, as far as it has come."""

    number: int
    iterate: Iterate | None = None  # None: not begun
    values: tuple[float, ...] = ()  # before the first iteration, after it, ...

    @property
    def value(self) -> float:
        """The value of the team so far, by the climb's own solve."""
        return self.values[-1] if self.values else -np.inf

    def after(self, iterate: Iterate) -> "Climb":
        """One iteration further."""
        return self._replace(iterate=iterate, values=(*self.values, iterate.value))

    def team(self, model: DecPOMDP) -> Team:
        """The team so far."""
        if self.iterate is None:
            raise RuntimeError("the climb has not begun")
        return flattened(model, self.iterate.team)


class Climber(NamedTuple):
    """How climbs are made: the model and when one is over."""

    shifted: ShiftedModel
    iterations: int  # most of one climb
    least: float  # relative gain over PATIENCE iterations below which a climb has converged
    stride: float  # the longest

    def advanced(self, climb: Climb, start: Callable[[int], Sequence[Tables]]) -> Climb:
        """The climb after up to STRETCH iterations; one that is cut short is dropped."""
        with suppress(Cut), engine.serial_products():
            if climb.iterate is None:
                climb = climb.after(first_iterate(self.shifted, start(climb.number)))
            for _ in range(STRETCH):
                if climb.iterate is None or self.over(climb):
                    break
                climb = climb.after(next_iterate(self.shifted, climb.iterate, self.stride))
        return climb

    def converged(self, climb: Climb) -> bool:
        """Whether the last iterations gained too little."""
        if len(climb.values) <= PATIENCE:
            return False
        gain = climb.values[-1] - climb.values[-1 - PATIENCE]
        return gain <= self.least * max(1e-12, abs(climb.value - self.shifted.base))

    def over(self, climb: Climb) -> bool:
        """Whether the climb has converged or used up its iterations."""
        return self.converged(climb) or len(climb.values) > self.iterations


class Report(NamedTuple):
    """A row of the trace."""

    iteration: int
    phase: str
    value: float
    nodes: tuple[int, ...]

    def row(self) -> Row:
        """The row, without its seconds."""
        return {
            "iteration": self.iteration,
            "phase": self.phase,
            "value": self.value,
            "lower": self.value,
            "upper": None,
            "nodes": self.nodes,
        }


class Record(NamedTuple):
    """The best team so far, and the rows of the step under way."""

    best: Valued
    claimed: float = -np.inf  # the value of the best team by its climb's own solve
    rows: tuple[Report, ...] = ()  # of the step under way
    reported: int = 0  # rows in the trace

    @classmethod
    def first(cls, model: DecPOMDP) -> "Record":
        """With the team that always takes the first action."""
        return cls(valued(model, constant(model)))

    @property
    def found(self) -> bool:
        """Whether there is a team of a climb."""
        return self.claimed > -np.inf

    def offered(self, model: DecPOMDP, team: Team, claimed: float) -> "Record":
        """With a team that its climb claims to be better."""
        new = valued(model, team)
        return self._replace(best=new if new.value > self.best.value else self.best, claimed=claimed)

    def with_climb(self, model: DecPOMDP, climb: Climb, phase: str = "em", gain: float = GAIN) -> "Record":
        """With a climb of EM, whose team is evaluated if it claims more than `gain` (relative)."""
        if not climb.values:
            return self  # cut short before it had a team
        better = climb.value - self.claimed > gain * abs(climb.value)
        record = self.offered(model, climb.team(model), climb.value) if better else self
        return record.with_report(len(climb.values) - 1, phase)

    def with_report(self, iteration: int, phase: str) -> "Record":
        """With one more row."""
        report = Report(iteration, phase, self.best.value, self.best.team.nodes)
        return self._replace(rows=(*self.rows, report))

    def flushed(self) -> tuple["Record", list[Row]]:
        """The rows of the step, and the record without them."""
        return self._replace(rows=(), reported=self.reported + len(self.rows)), [report.row() for report in self.rows]

    def closing(self, model: DecPOMDP) -> tuple[Team, Row]:
        """The best team made minimal, and its value by the evaluator as the last row."""
        best, smaller = self.best, simplified(self.best.team)
        if smaller.nodes != best.team.nodes:
            best = valued(model, smaller)
        return best.team, Report(self.reported, "result", best.value, best.team.nodes).row()
