"""What MCEM needs to go on after a kill."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Team
from decpomdp.core.keeping import KeptRow, kept_rows
from decpomdp.interaction.mcem_counts import Tables
from decpomdp.interaction.sbpr_play import GroundState, Tested

if TYPE_CHECKING:
    from decpomdp.interaction.mcem import Mcem


class Climb(NamedTuple):
    """EM from one start, under way."""

    number: int  # of its next iteration
    tables: list[Tables]
    visits: list[NDArray[np.float64]]


class McemState(NamedTuple):
    """Between two iterations."""

    ground: GroundState
    best: tuple[Team, float, float]  # with its value and error
    replayed: list[Team]
    start: int
    failures: int
    climb: Climb
    range: tuple[float, float]
    iteration: int
    trace: list[KeptRow]


def state_of(run: "Mcem", climb: Climb) -> McemState:
    """The state before the next iteration of a climb."""
    return McemState(
        ground=run.ground.state(),
        best=(run.best.team, run.best.value, run.best.error),
        replayed=run.replayed,
        start=run.start,
        failures=run.failures,
        climb=climb,
        range=run.range,
        iteration=run.iteration,
        trace=kept_rows(run.trace),
    )


def go_on(run: "Mcem", kept: McemState) -> None:
    """As if everything up to then had been done just now; the climb is left to the caller."""
    run.ground.go_on(kept.ground)
    run.best, run.replayed = Tested(*kept.best), kept.replayed
    run.start, run.failures, run.iteration = kept.start, kept.failures, kept.iteration
    run.range, run.trace = kept.range, list(kept.trace)
