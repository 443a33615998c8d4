"""Periodic EM: planning with controllers whose nodes lie in layers. A RECONSTRUCTION.

After Pajarinen & Peltonen (NIPS 2011), of which only the outline was at hand. Layer m moves only to layer m + 1, the
last to the first. (1) A deterministic layered policy graph of finite horizon is improved by sweeping the layers
backwards, node by node; (2) it is closed into a period and swept again with discounted values ("Peri"); (3) EM goes on
from it, softened ("PeriEM"). The sweeps are in `kernels/periodic_climb.py`, EM in `em_step.py`.

Ours on top: exact acceptance in (2), so that it is monotone; joint kicks between sweeps (`kernels/periodic_climb.py`);
sizes chosen by the search itself (`periodic_search.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from decpomdp.core import DecPOMDP, Fit, InputError, Watch, checks, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.sparse import outcome_model
from decpomdp.kernels.periodic import Plan, fill_joint, reach
from decpomdp.planners.arguments import checked, endless, sizes
from decpomdp.planners.em.method import rehearse
from decpomdp.planners.em.chain import World
from decpomdp.planners.em_rounds import Rounds
from decpomdp.planners.em.climbs import EmClimb, EmRun
from decpomdp.planners.em_state import climb_again, kept_climb, run_again
from decpomdp.planners.em.step import LONGEST
from decpomdp.planners.periodic.plans import guide_of, room_for, softened, team_of, trimmed
from decpomdp.planners.periodic.search import PeriodicClimb, PeriodicSettings, Search
from decpomdp.planners.periodic_state import KeptEm, PeriodicState, go_on, state_of
from decpomdp.planners.stopping import PlanClock, RehearsalClock
from decpomdp.planners.tiny import tiny

RESTARTS = 24  # climbs when neither their number nor the time is limited
ROOM = 200_000_000  # numbers in the tables of a plan
SPEED = 1_000_000  # numbers that the evaluator takes in a second, about: states times joint nodes times joint actions
LATE = 0.1  # of the time limit may be used beyond it to find out what EM's own team is worth
SOFT_GAIN = 1e-6  # relative: what a stochastic team must promise beyond the deterministic one to be looked at


class PeriodicRun(EmRun):
    """One call of `periem`."""

    def __init__(self, model: DecPOMDP, clock: PlanClock, watch: Watch, keeper: Keeper) -> None:
        super().__init__(model, clock, watch)
        self.keeper = keeper
        self.em: KeptEm | None = None  # EM to go on with
        self.search: Search | None = None
        self.softened: EmClimb | None = None  # EM's climb
        self.periem: float | None = None  # the value of its team

    def tell_plan(self, climb: PeriodicClimb) -> None:
        """A row for every better plan and every climb that is over."""
        better = climb.value > self.promised
        if better:
            self.incumbent.offer(team_of(self.model, climb.plan))
            self.promised = climb.value
        if better or climb.over():
            self.record(climb.kicks, "peri")

    def tell_em(self, climb: EmClimb) -> None:
        """EM's iterations."""
        self.softened = climb
        self.tell(climb, "periem", SOFT_GAIN)

    def value_of_em(self) -> float | None:
        """What the evaluator says of EM's own team; None when there is none, or not enough time to ask."""
        climb, limit = self.softened, self.clock.limit
        if climb is None or not climb.values:
            return None
        team = climb.team()
        numbers = len(self.model.states) * math.prod(team.nodes) * self.model.joint_actions
        if limit is not None and numbers > SPEED * max(1.0, LATE * limit):
            return None
        return self.incumbent.valued(team).value


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
    keeper: Keeper = UNKEPT,
) -> Fit:
    """Plan by periodic sweeps and EM; the better of the two teams.

    `layers`, `width` (nodes of a layer, one number or one per agent): chosen by the search when None. `restarts`:
    climbs; None: RESTARTS, or as many as the time allows. The fit's settings tell both values, "peri" and "periem"
    (None where there was no time to find out). `keeper` is offered the state between stretches of the climbs, and gives
    back the one to go on from.
    """
    clock = checked(model, seed, time_limit, threads, watch)
    endless(model)
    chosen = PeriodicSettings() if settings is None else checks.of_kind("settings", settings, PeriodicSettings)
    widths = None if width is None else sizes(model, width, "width")
    depth = None if layers is None else checks.whole("layers", layers, 1, 10_000)
    count = RESTARTS if restarts is None and clock.limit is None else restarts
    if count is not None:
        checks.whole("restarts", count, 1, 2**31)
    _check_room(len(model.states) + model.joint_observations, depth or 1, widths or (1,))
    run = PeriodicRun(model, clock, watch, keeper)
    kept = keeper.restore(PeriodicState)
    if kept is not None:
        run.em = kept.em
        run_again(run, kept.run)  # at once: from here on there is something to return
    stopped = run.guarded(lambda: _peri(run, (depth, widths), count, seed, chosen, kept))
    peri = run.incumbent.value if run.incumbent.found else None
    peri = peri if run.em is None else run.em.peri
    if stopped != "interrupted":
        ended = run.guarded(lambda: _em(run, peri, stopped))
        stopped = stopped if ended == "converged" else ended
    facts: dict[str, float | int | str | tuple[float, ...] | None] = {"method": "periem", "layers": layers}
    facts |= {"width": widths, "restarts": count, "seed": seed, "time_limit": clock.limit, **asdict(chosen)}
    return replace(run.finished(stopped, facts), settings=facts | {"peri": peri, "periem": run.periem})


def _peri(
    run: PeriodicRun,
    size: tuple[int | None, Sequence[int] | None],
    count: int | None,
    seed: int,
    settings: PeriodicSettings,
    kept: PeriodicState | None,
) -> str:
    """The deterministic part; it leaves EM its share of the time."""
    clock = run.clock
    clock.check()
    run.search = search = Search(
        outcome_model(run.model), guide_of(run.model, clock.check), *size, seed, clock, settings
    )

    def prepare() -> None:
        small, still = tiny(len(run.model.agents)), RehearsalClock()
        game, guide = outcome_model(small), guide_of(small, still.check)
        climb = PeriodicClimb(
            Search(game, guide, *size, seed, still, settings), (1, [1] * len(small.agents)), None, [0]
        )
        climb.advance()
        climb.advance()
        rehearse(World.of(small))

    def tell(climb: PeriodicClimb) -> None:
        search.tell(climb)
        run.tell_plan(climb)

    clock.rehearse(prepare, run.say)
    rounds = Rounds(search.climb, tell, count, lambda: run.keeper.offer(lambda: state_of(run, search, rounds, None)))
    if kept is not None:
        go_on(run, search, rounds, kept)
    if run.em is not None:
        return run.em.stopped
    with clock.part(1 - settings.em_share):
        return rounds.run(clock)


def _em(run: PeriodicRun, peri: float | None, stopped: str) -> str:
    """EM from the best plan without its unreached nodes, softened."""
    search = run.search
    top = None if search is None else search.top()
    if search is None or top is None or run.clock.over():
        return "converged"  # there is nothing to go on from, or no time
    plan: Plan = top[1]
    room = room_for(search.game, plan)
    for m in range(len(room.v)):
        fill_joint(search.game, plan, m, room.joint)
    reach(search.game, plan, room.joint, True, room.mark, room.places)
    begin = softened(run.model, trimmed(plan, room.mark), search.settings.openness)
    world = World.of(run.model, run.clock.check)
    climb = EmClimb(world, begin, search.settings.em_iterations, 1e-9, LONGEST, run.clock)
    if run.em is not None:
        climb_again(climb, run.em.climb)

    def state() -> PeriodicState:
        return state_of(run, search, None, KeptEm(peri, stopped, kept_climb(0, climb)))

    ended = Rounds(lambda _: climb, run.tell_em, 1, lambda: run.keeper.offer(state)).run(run.clock)
    if ended != "interrupted":
        run.periem = run.value_of_em()
    return ended


def _check_room(places: int, layers: int, widths: Sequence[int]) -> None:
    """Refuse what would not fit into memory."""
    numbers = places * layers * float(np.prod([float(width) for width in widths]))
    if numbers > ROOM:
        raise InputError(f"layers and width: expected at most {ROOM} numbers in a plan's tables, got {numbers:.0f}")
