"""What EM needs to go on after a kill: the climbs that are under way, and the record of the run.

Where a climb began follows from the seed and its number; what it has come to is kept.
"""

from typing import NamedTuple

from decpomdp.core import Team
from decpomdp.core.keeping import KeptRow, kept_rows
from decpomdp.planners.em_rounds import Rounds
from decpomdp.planners.em.climbs import EmClimb, EmRun
from decpomdp.planners.em.step import EmState
from decpomdp.planners.incumbent import Valued


class KeptRun(NamedTuple):
    """The best team so far and the trace."""

    team: Team
    value: float
    found: bool
    promised: float
    cut: bool
    latest: tuple[int, str]
    seconds: float
    ready: float
    trace: list[KeptRow]


class KeptClimb(NamedTuple):
    """A climb that is under way."""

    number: int
    state: EmState | None
    values: list[float]
    converged: bool


class EmPlanState(NamedTuple):
    """Between two stretches of all climbs."""

    run: KeptRun
    made: int
    climbs: list[KeptClimb]


def state_of(run: EmRun, rounds: Rounds[EmClimb]) -> EmPlanState:
    """The state now."""
    climbs = [kept_climb(number, climb) for number, climb in rounds.under_way.items()]
    return EmPlanState(kept_run(run), rounds.made, climbs)


def go_on(run: EmRun, rounds: Rounds[EmClimb], kept: EmPlanState) -> None:
    """As if everything up to then had been done just now."""
    run_again(run, kept.run)
    rounds.made = kept.made
    rounds.under_way = {old.number: climb_again(rounds.make(old.number), old) for old in kept.climbs}


def kept_run(run: EmRun) -> KeptRun:
    """What a run has found and told."""
    clock, best = run.clock, run.incumbent.best
    return KeptRun(
        team=best.team,
        value=best.value,
        found=run.incumbent.found,
        promised=run.promised,
        cut=run.cut,
        latest=run.latest,
        seconds=clock.seconds(),
        ready=clock.ready - clock.begin,
        trace=kept_rows(run.trace),
    )


def run_again(run: EmRun, kept: KeptRun) -> None:
    """As if it had been found and told just now."""
    run.incumbent.best, run.incumbent.found = Valued(kept.team, kept.value), kept.found
    run.promised, run.cut, run.latest, run.trace = kept.promised, kept.cut, kept.latest, list(kept.trace)
    run.clock.go_on(kept.seconds, kept.ready)


def kept_climb(number: int, climb: EmClimb) -> KeptClimb:
    """How far a climb has come."""
    return KeptClimb(number, climb.state, climb.values, climb.converged)


def climb_again(climb: EmClimb, kept: KeptClimb) -> EmClimb:
    """A climb from the same beginning that has come as far."""
    climb.state, climb.values, climb.converged = kept.state, kept.values, kept.converged
    return climb
