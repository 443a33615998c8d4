"""What PBVI needs to go on after a kill: the belief set with its upper values, the vectors, and the best graph."""

import json
from typing import TYPE_CHECKING, NamedTuple

from decpomdp.core import Team
from decpomdp.core.keeping import KeptRow, kept_rows
from decpomdp.planners.incumbent import Valued
from decpomdp.planners.pbvi.beliefs import Floats, Whole
from decpomdp.planners.pbvi.bounds import Bounds

if TYPE_CHECKING:
    from decpomdp.planners.pbvi.method import Pbvi


class KeptBounds(NamedTuple):
    """Both bounds."""

    offsets: Whole
    states: Whole
    weights: Floats
    depth: Whole
    value: Floats
    corner: Floats
    informed: Floats
    vectors: Floats
    actions: Whole
    used: int  # of the vectors


class PbviState(NamedTuple):
    """Between two iterations."""

    bounds: KeptBounds
    random: str  # state of the generator
    team: Team
    value: float
    found: bool
    upper: float
    iteration: int
    still: int
    seconds: float
    ready: float
    trace: list[KeptRow]


def state_of(run: "Pbvi") -> PbviState:
    """The state now."""
    best, clock = run.incumbent.best, run.clock
    return PbviState(
        bounds=_kept(run.bounds),
        random=json.dumps(run.growth.rng.bit_generator.state),
        team=best.team,
        value=best.value,
        found=run.incumbent.found,
        upper=run.upper,
        iteration=run.iteration,
        still=run.still,
        seconds=clock.seconds(),
        ready=clock.ready - clock.begin,
        trace=kept_rows(run.trace),
    )


def go_on(run: "Pbvi", kept: PbviState) -> None:
    """As if everything up to then had been done just now."""
    _again(run.bounds, kept.bounds)
    run.growth.rng.bit_generator.state = json.loads(kept.random)
    record_again(run, kept)
    run.take_stock()


def record_again(run: "Pbvi", kept: PbviState) -> None:
    """What there is to return and to tell."""
    run.incumbent.best, run.incumbent.found = Valued(kept.team, kept.value), kept.found
    run.upper, run.iteration, run.still, run.trace = kept.upper, kept.iteration, kept.still, list(kept.trace)
    run.clock.go_on(kept.seconds, kept.ready)


def _kept(bounds: Bounds) -> KeptBounds:
    belief = bounds.set
    return KeptBounds(
        offsets=belief.offsets,
        states=belief.states,
        weights=belief.weights,
        depth=belief.depth,
        value=bounds.value,
        corner=bounds.corner,
        informed=bounds.informed,
        vectors=bounds.vectors,
        actions=bounds.actions,
        used=bounds.count,
    )


def _again(bounds: Bounds, kept: KeptBounds) -> None:
    bounds.set.fill(kept.offsets, kept.states, kept.weights, kept.depth)
    bounds.value, bounds.corner, bounds.informed = kept.value, kept.corner, kept.informed
    bounds.vectors, bounds.actions, bounds.count = kept.vectors, kept.actions, kept.used
    bounds.hang(len(kept.value))
