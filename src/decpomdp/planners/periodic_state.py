"""What periodic EM needs to go on after a kill: the best plans, the climbs under way, and EM if it has begun.

Values are solved from the last answer, so a climb is kept with its tables: else the last digits would be others.
"""

import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.periodic import Plan
from decpomdp.planners.em_rounds import Rounds
from decpomdp.planners.em.climbs import EmRun
from decpomdp.planners.em_state import KeptClimb, KeptRun, kept_run, run_again
from decpomdp.planners.periodic.search import PeriodicClimb, Search


class KeptPeriodicClimb(NamedTuple):
    """A climb that is under way."""

    number: int
    size: tuple[int, tuple[int, ...]]
    plan: Plan
    random: str  # state of the generator
    fresh: bool
    begun: bool
    value: float
    idle: int
    kicks: int
    v: NDArray[np.float64]  # [m, s, q]
    f: NDArray[np.float64]  # [m, s, q]
    mark: NDArray[np.bool_]  # [m, s, q]


class KeptBest(NamedTuple):
    """The best plan of a size."""

    size: tuple[int, tuple[int, ...]]
    value: float
    plan: Plan


class KeptEm(NamedTuple):
    """EM has begun."""

    peri: float | None  # what the plans were worth
    stopped: str  # why their search ended
    climb: KeptClimb


class PeriodicState(NamedTuple):
    """Between two stretches."""

    run: KeptRun
    best: list[KeptBest]
    made: int
    climbs: list[KeptPeriodicClimb]
    em: KeptEm | None


def state_of(run: EmRun, search: Search, rounds: Rounds[PeriodicClimb] | None, em: KeptEm | None) -> PeriodicState:
    """The state now."""
    best = [KeptBest(size, value, plan) for size, (value, plan) in search.best.items()]
    made, under_way = (0, {}) if rounds is None else (rounds.made, rounds.under_way)
    return PeriodicState(kept_run(run), best, made, [_kept(k, climb) for k, climb in under_way.items()], em)


def go_on(run: EmRun, search: Search, rounds: Rounds[PeriodicClimb], kept: PeriodicState) -> None:
    """As if everything up to then had been done just now."""
    run_again(run, kept.run)
    search.best = {one.size: (one.value, one.plan) for one in kept.best}
    rounds.made = kept.made
    rounds.under_way = {old.number: _again(search, old) for old in kept.climbs}


def _kept(number: int, climb: PeriodicClimb) -> KeptPeriodicClimb:
    return KeptPeriodicClimb(
        number=number,
        size=(climb.size[0], tuple(climb.size[1])),
        plan=climb.plan,
        random=json.dumps(climb.rng.bit_generator.state),
        fresh=climb.fresh,
        begun=climb.begun,
        value=climb.value,
        idle=climb.idle,
        kicks=climb.kicks,
        v=climb.room.v,
        f=climb.room.f,
        mark=climb.room.mark,
    )


def _again(search: Search, kept: KeptPeriodicClimb) -> PeriodicClimb:
    climb = PeriodicClimb(search, kept.size, kept.plan, [0])
    climb.rng.bit_generator.state = json.loads(kept.random)
    climb.fresh, climb.begun, climb.value = kept.fresh, kept.begun, kept.value
    climb.idle, climb.kicks = kept.idle, kept.kicks
    climb.room = climb.room._replace(v=kept.v, f=kept.f, mark=kept.mark)
    return climb
