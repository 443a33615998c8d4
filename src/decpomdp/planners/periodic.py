"""Periodic EM: planning with controllers whose nodes lie in layers. A RECONSTRUCTION.

After Pajarinen & Peltonen (NIPS 2011), of which only the outline was at hand. Layer m moves only to layer m + 1, the
last to the first. (1) A deterministic layered policy graph of finite horizon is improved by sweeping the layers
backwards, node by node; (2) it is closed into a period and swept again with discounted values ("Peri"); (3) EM goes on
from it, softened ("PeriEM"). The sweeps are in `kernels/periodic_climb.py`, EM in `em_step.py`.

Ours on top: exact acceptance in (2), so that it is monotone; joint kicks between sweeps (`kernels/periodic_kick.py`);
sizes chosen by the search itself (`periodic_search.py`).
"""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from decpomdp.core import DecPOMDP, Fit, InputError
from decpomdp.core.checks import whole
from decpomdp.core.fit import Watch, unwatched
from decpomdp.engines.clock import Clock
from decpomdp.kernels.periodic import Plan, fill_joint, reach
from decpomdp.planners.em import EmClimb, EmRun, check_discount, checked_limit, checked_nodes, finished, rehearse
from decpomdp.planners.em_chain import World
from decpomdp.planners.em_rounds import Rounds
from decpomdp.planners.em_step import LONGEST
from decpomdp.planners.periodic_plan import game_of, guide_of, room_for, softened, team_of, trimmed
from decpomdp.planners.periodic_search import PeriodicClimb, PeriodicSettings, Search

RESTARTS = 24  # climbs when neither their number nor the time is limited
ROOM = 200_000_000  # numbers in the tables of a plan


class PeriodicRun(EmRun):
    """One call of `periem`."""

    def __init__(self, model: DecPOMDP, search: Search, clock: Clock, watch: Watch) -> None:
        super().__init__(clock, watch)
        self.model, self.search = model, search
        self.kicks = 0
        self.peri: float | None = None
        self.periem: float | None = None

    def tell_plan(self, climb: PeriodicClimb) -> None:
        """A row for every better plan and every climb that is over."""
        self.search.tell(climb)
        if climb.value > self.value:
            self.best, self.value, self.peri = team_of(self.model, climb.plan), climb.value, climb.value
            self._plan_row(climb)
        elif climb.over():
            self._plan_row(climb)

    def tell_em(self, climb: EmClimb) -> None:
        """EM's iterations."""
        if climb.values:
            self.periem = climb.values[-1]
        self.tell(climb, "periem")

    def _plan_row(self, climb: PeriodicClimb) -> None:
        layers, widths = climb.size
        self.record(climb.kicks, "peri", climb.value, tuple(layers * int(width) for width in widths))


def periem(
    model: DecPOMDP,
    *,
    layers: int | None = None,
    width: int | Sequence[int] | None = None,
    restarts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
    settings: PeriodicSettings | None = None,
) -> Fit:
    """Plan by periodic sweeps and EM; the better of the two teams.

    `layers`, `width` (nodes of a layer, one number or one per agent): chosen by the search when None. `restarts`:
    climbs; None: RESTARTS, or as many as the time allows. The fit's settings tell both values, "peri" and "periem".
    """
    check_discount(model)
    chosen = settings or PeriodicSettings()
    widths = None if width is None else checked_nodes(model, width, "width")
    limit = checked_limit(time_limit)
    count = RESTARTS if restarts is None and limit is None else restarts
    if count is not None:
        whole("restarts", count, 1, 2**31)
    clock = Clock(limit)
    game = game_of(model)
    size = None if layers is None else whole("layers", layers, 1, 10_000)
    _check_room(len(game.start) + len(game.observation_parts), size or 1, widths or (1,))
    search = Search(game, guide_of(model), size, widths, whole("seed", seed, 0, 2**63 - 1), clock, chosen)
    run = PeriodicRun(model, search, clock, watch)
    stopped = _peri(run, count, threads)
    if stopped != "interrupted" and (top := search.top()) is not None:
        ended = _em(run, top[1], threads)
        stopped = stopped if ended == "converged" else ended
    facts: dict[str, float | int | str | tuple[float, ...] | None] = {"method": "periem", "layers": layers}
    facts |= {"width": widths, "restarts": count, "seed": seed, "time_limit": limit, **asdict(chosen)}
    fit = finished(model, run, stopped, facts)
    peri = fit.trace[-1]["value"] if run.value == run.peri else run.peri  # the evaluator's word where there is one
    return replace(fit, settings=facts | {"peri": peri, "periem": run.periem})


def _peri(run: PeriodicRun, count: int | None, threads: int | None) -> str:
    """The deterministic part; it leaves EM its share of the time."""
    clock, share = run.clock, run.search.settings.em_share

    def prepare() -> None:
        climb = PeriodicClimb(run.search, (1, [1] * len(run.model.agents)), None, [0])
        climb.advance()
        climb.advance()
        rehearse(World.of(run.model))

    limit, clock.limit = clock.limit, None if clock.limit is None else clock.limit * (1 - share)
    try:
        return Rounds(run.search.climb, run.tell_plan, count).run(clock, threads, prepare)
    finally:
        clock.limit = limit


def _em(run: PeriodicRun, plan: Plan, threads: int | None) -> str:
    """EM from the best plan without its unreached nodes, softened."""
    search = run.search
    room = room_for(search.game, plan)
    for m in range(len(room.v)):
        fill_joint(search.game, plan, m, room.joint)
    reach(search.game, plan, room.joint, True, room.mark, room.places)
    begin = softened(run.model, trimmed(plan, room.mark), search.settings.openness)
    climb = EmClimb(World.of(run.model), begin, search.settings.em_iterations, 1e-9, LONGEST, run.clock)
    return Rounds(lambda _: climb, run.tell_em, 1).run(run.clock, threads)


def _check_room(places: int, layers: int, widths: Sequence[int]) -> None:
    """Refuse what would not fit into memory."""
    numbers = places * layers * float(np.prod([float(width) for width in widths]))
    if numbers > ROOM:
        raise InputError(f"layers and width: expected at most {ROOM} numbers in a plan's tables, got {numbers:.0f}")
