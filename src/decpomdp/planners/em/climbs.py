"""One climb of EM, and the best team of all climbs: shared by EM and periodic EM.

A climb has the value of its team from its own exact solve. When that claims an improvement, the evaluator computes the
value that the trace reports.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from decpomdp.core import DecPOMDP, Row, Team
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Cut
from decpomdp.engines import threads as engine
from decpomdp.planners.common import ValuedTeam, first_team, valued
from decpomdp.planners.em.chain import ShiftedModel, Tables, flattened
from decpomdp.planners.em.step import Iterate, first_iterate, next_iterate

ABREAST = 4  # concurrent climbs
STRETCH = 5  # iterations of a climb in one step of the method
GAIN = 1e-9  # relative: a smaller gain is not worth an evaluation
PATIENCE = 10  # iterations over which a gain is measured


class Climb(NamedTuple):
    """EM from one start."""

    number: int
    iterate: Iterate | None = None  # None before the first solve
    values: tuple[float, ...] = ()  # before the first iteration, after it, ...

    @property
    def value(self) -> float:
        return self.values[-1] if self.values else -np.inf

    def after(self, iterate: Iterate) -> "Climb":
        return self._replace(iterate=iterate, values=(*self.values, iterate.value))


class Climber(NamedTuple):
    """Advances climbs on a model."""

    shifted: ShiftedModel
    iterations: int  # most of one climb
    least: float  # relative gain over PATIENCE iterations below which a climb has converged
    stride: float  # the longest

    def advanced(self, climb: Climb, start: Callable[[int], Sequence[Tables]]) -> Climb:
        """The climb after up to STRETCH iterations; an interrupted iteration is dropped."""
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


class Record(NamedTuple):
    """The best team so far."""

    best: ValuedTeam
    claimed: float = -np.inf  # value of the best team by its climb's own solve; -inf: no climb has a team
    reported: int = 0  # rows in the trace

    @classmethod
    def first(cls, model: DecPOMDP) -> "Record":
        return cls(valued(model, first_team(model)))

    def offered(self, model: DecPOMDP, team: Team, claimed: float) -> "Record":
        """With a team whose climb claims an improvement."""
        new = valued(model, team)
        return self._replace(best=new if new.value > self.best.value else self.best, claimed=claimed)

    def with_climb(self, model: DecPOMDP, climb: Climb, gain: float = GAIN) -> "Record":
        """With a climb of EM, whose team is evaluated if it claims more than `gain` (relative)."""
        if climb.iterate is None or climb.value - self.claimed <= gain * abs(climb.value):
            return self
        return self.offered(model, flattened(model, climb.iterate.team), climb.value)

    def row(self, iteration: int, phase: str) -> Row:
        value, nodes = self.best.value, self.best.team.nodes
        return {
            "iteration": iteration,
            "phase": phase,
            "value": value,
            "lower": value,
            "upper": None,
            "nodes": nodes,
        }

    def result(self, model: DecPOMDP) -> tuple[Team, Row]:
        """The best team, minimised, and the last row of the trace."""
        team = simplified(self.best.team)
        best = self.best if team.nodes == self.best.team.nodes else valued(model, team)
        return best.team, self._replace(best=best).row(self.reported, "result")
