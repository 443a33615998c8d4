"""Periodic EM: planning with controllers whose nodes are in layers. A RECONSTRUCTION.

After Pajarinen & Peltonen (NIPS 2011), from the outline only. Nodes of layer m move only to layer m + 1, those of the
last layer to the first. (1) A deterministic layered policy graph of finite horizon is improved by sweeping the layers
backwards, node by node; (2) it is closed into a period and swept again with discounted values ("Peri"); (3) EM starts
from it, softened ("PeriEM"). The sweeps are in `kernels/periodic_climb.py`, EM in `planners/em`.

Added here: exact acceptance in (2), so that it is monotone; joint kicks between sweeps (`kernels/periodic_climb.py`);
sizes chosen by the search itself.

One step advances ABREAST concurrent climbs of (1) and (2), or EM. With a time limit, a share of the time is reserved
for EM.

A climb sweeps an open plan (finite horizon) a few times, closes it into a period and sweeps until the value stops
rising. Kicks follow: a random joint change, then sweeps; the result is accepted if its value is no lower. A climb ends
after `patience` kicks in a row without a gain.

The first climbs use the sizes in SIZES; later ones alternate between a random plan, of a size drawn by rank, and one of
the best plans with more layers or nodes. A climb is a function of the seed, its number and the best plans before it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Fit, InputError, Row
from decpomdp.core.run import Inputs, Now
from decpomdp.core.sparse import outcome_model
from decpomdp.engines import threads as engine
from decpomdp.kernels.model import OutcomeModel
from decpomdp.kernels.periodic import LayeredPlan, PlanBuffers, survey
from decpomdp.kernels.periodic_climb import kick, sweeps
from decpomdp.planners.common import check_model, per_agent, toy_model
from decpomdp.planners.em.chain import LayeredController, ShiftedModel
from decpomdp.planners.em.method import ABREAST, Climb, Climber, Incumbent
from decpomdp.planners.periodic.plans import (
    buffers_for,
    copied,
    enlarged,
    guide_of,
    random_plan,
    softened,
    team_of,
    trimmed,
)
from decpomdp.planners.periodic.settings import PeriEm, PeriEmTuning

SIZES = ((1, 3), (3, 4), (2, 3), (4, 5), (1, 5), (2, 5), (3, 6), (1, 8), (5, 4), (2, 8), (4, 7), (10, 4))
LARGEST_CHOSEN = 3_000_000  # numbers in the tables of a plan whose size the search chooses
DEEPEST, WIDEST = 16, 12  # layers and nodes of a layer that a plan grows to: a sweep costs the square of the layers
WORK = 5_000  # kicks of a climb in one step, times the places of its plan
ELITES = 3  # best plans from which climbs start

Size = tuple[int, tuple[int, ...]]  # layers, and nodes of a layer per agent
Stop = NDArray[np.int64]  # [1]; not 0: end early
RESTARTS = 24  # climbs if neither their number nor the time is limited
LARGEST = 200_000_000  # numbers in the tables of a plan
LEAST, STRIDE = 1e-9, 1024.0  # of EM, see `planners/em/settings.py`
SOFT_GAIN = 1e-6  # relative: smallest gain over the deterministic team for which a stochastic one is evaluated


class PlanClimb(NamedTuple):
    """The state of a climb. It includes the arrays of the last solution, from which the next solve starts."""

    number: int
    size: Size
    plan: LayeredPlan
    random: np.random.Generator
    v: NDArray[np.float64]  # [m + 1, s, q]
    mark: NDArray[np.bool_]  # [m, s, q]
    fresh: bool  # whether it started from a random plan
    begun: bool = False
    value: float = -np.inf
    idle: int = 0  # kicks without a gain
    kicks: int = 0

    def bits(self) -> np.uint64:
        return np.uint64(self.random.integers(2**63))


class BestPlan(NamedTuple):
    """The best plan of a size."""

    size: Size
    value: float
    plan: LayeredPlan


class PlanSearch:
    """Starts and advances climbs on a problem."""

    def __init__(
        self,
        model: OutcomeModel,
        guide: NDArray[np.int64],  # [s]
        layers: int | None,
        widths: tuple[int, ...] | None,
        seed: int,
        tuning: PeriEmTuning,
    ) -> None:
        self.model, self.guide, self.seed, self.tuning = model, guide, seed, tuning
        self.layers, self.widths = layers, widths
        self.margin = tuning.precision * max(float(np.abs(model.reward).max()), 1e-300) / (1 - model.discount)
        self.sizes = self._sizes()

    def climb(self, number: int, best: Sequence[BestPlan]) -> PlanClimb:
        """The climb with this number; it depends on the best plans so far."""
        if number < len(self.sizes) or not best:
            return self.new_climb(number, self.sizes[number % len(self.sizes)])
        rng = np.random.default_rng([self.seed, number, 1])
        ranked = sorted(best, key=lambda entry: -entry.value)
        if number % 2:
            plan = self._continued(ranked[int(rng.integers(min(ELITES, len(ranked))))].plan, rng)
            return self.new_climb(number, (plan.act.shape[1], tuple(int(w) for w in plan.widths)), plan)
        weights = 0.7 ** np.arange(len(ranked))
        return self.new_climb(number, ranked[int(rng.choice(len(ranked), p=weights / weights.sum()))].size)

    def new_climb(self, number: int, size: Size, begin: LayeredPlan | None = None) -> PlanClimb:
        """A climb from a closed plan, or from a random one."""
        random = np.random.default_rng([self.seed, number])
        plan = random_plan(self.model, *size, random) if begin is None else begin
        buffers = buffers_for(self.model, plan, np.zeros(1, np.int64))
        return PlanClimb(number, size, plan, random, buffers.v, buffers.mark, begin is None)

    def advanced(self, climb: PlanClimb, stop: Stop) -> PlanClimb:
        """The climb after its first sweeps, or after some kicks."""
        buffers = buffers_for(self.model, climb.plan, stop)._replace(v=climb.v, mark=climb.mark)
        if not climb.begun:
            return self._begun(climb, buffers)
        for _ in range(max(1, WORK // buffers.places.size)):
            if stop[0] or self.over(climb):
                break
            climb = self._kicked(climb, buffers)
        return climb

    def over(self, climb: PlanClimb) -> bool:
        return climb.idle >= self.tuning.patience

    def _begun(self, climb: PlanClimb, buffers: PlanBuffers) -> PlanClimb:
        tuning, margin, hope, plan = self.tuning, self.margin, -np.inf, copied(climb.plan)
        if climb.fresh:
            sweeps(self.model, plan, buffers, False, tuning.open_sweeps, 1, hope, margin, climb.bits())
        value = sweeps(self.model, plan, buffers, True, tuning.sweeps, tuning.idle, hope, margin, climb.bits())
        return climb._replace(plan=plan, value=float(value), begun=True)

    def _kicked(self, climb: PlanClimb, buffers: PlanBuffers) -> PlanClimb:
        plan = copied(climb.plan)
        kick(self.model, plan, buffers, self.guide, self.tuning.longest, climb.bits())
        lowest = climb.value - self.margin
        most, bits = self.tuning.sweeps_after, climb.bits()
        value = float(sweeps(self.model, plan, buffers, True, most, 1, lowest, self.margin, bits))
        idle = 0 if value > climb.value + 10 * self.margin else climb.idle + 1
        climb = climb._replace(kicks=climb.kicks + 1, idle=idle)
        if value >= lowest:
            return climb._replace(plan=plan, value=max(value, climb.value))
        survey(self.model, climb.plan, buffers, True)  # the next kick needs buffers.mark
        return climb

    def _continued(self, plan: LayeredPlan, rng: np.random.Generator) -> LayeredPlan:
        """The same plan, or an enlarged one of the same value."""
        times, more = ((1, 0), (1, 1), (2, 0), (3, 0))[int(rng.integers(4))]
        times, more = (1 if self.layers else times), (0 if self.widths else more)
        widths = [int(w) + more for w in plan.widths]
        layers = plan.act.shape[1] * times
        fits = layers <= DEEPEST and max(widths) <= WIDEST and self._numbers(layers, widths) <= LARGEST_CHOSEN
        return enlarged(self.model, plan, times, more, rng) if fits else copied(plan)

    def _sizes(self) -> list[Size]:
        """SIZES with the layers or widths of the settings, without those that are too large; at least one."""
        agents = len(self.model.actions)
        every = [(self.layers or layers, self.widths or (width,) * agents) for layers, width in SIZES]
        fitting = [size for size in dict.fromkeys(every) if self._numbers(*size) <= LARGEST_CHOSEN]
        return fitting or [(self.layers or 1, self.widths or (1,) * agents)]

    def _numbers(self, layers: int, widths: Sequence[int]) -> int:
        joint = int(np.prod([float(w) for w in widths]))
        return layers * joint * (len(self.model.start) + len(self.model.observation_parts))


def with_climb(best: Sequence[BestPlan], climb: PlanClimb) -> list[BestPlan]:
    """The best plan of every size, in the order in which the sizes were tried."""
    values = {entry.size: entry.value for entry in best}
    if not climb.begun or climb.value <= values.get(climb.size, -np.inf):
        return list(best)
    new = BestPlan(climb.size, climb.value, climb.plan)
    if climb.size not in values:
        return [*best, new]
    return [new if entry.size == climb.size else entry for entry in best]


class EmPhase(NamedTuple):
    """The phase of EM."""

    peri: float  # value of the best deterministic team
    stopped: str  # why the deterministic search ended
    climb: Climb


class PeriEmState(NamedTuple):
    """The state between two steps."""

    record: Incumbent
    best: list[BestPlan]
    climbs: list[PlanClimb]  # unfinished
    made: int = 0  # climbs begun
    em: EmPhase | None = None
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class PeriEmMethod:
    """`periem` on a model."""

    state: type = PeriEmState

    def __init__(self, model: DecPOMDP, settings: PeriEm, inputs: Inputs) -> None:
        check_model(model)
        self.model, self.settings, self.inputs = model, settings, inputs
        self.widths = None if settings.width is None else per_agent(model, "width", settings.width)
        _check_size(model, settings.layers or 1, self.widths or (1,))
        self.search: PlanSearch | None = None  # prepared in the first step
        self.shifted: ShiftedModel | None = None  # prepared when EM begins

    def toy(self) -> "PeriEmMethod":
        return toy_for(len(self.model.agents))

    def init(self, now: Now) -> PeriEmState:
        return PeriEmState(Incumbent.first(self.model), [], [])

    def step(self, state: PeriEmState, now: Now) -> tuple[PeriEmState, list[Row]]:
        state, rows = self._with_plans(state, now) if state.em is None else self._with_em(state, state.em, now)
        record = state.record._replace(reported=state.record.reported + len(rows))
        return state._replace(record=record), rows

    def result(self, state: PeriEmState) -> tuple[Fit, Row]:
        """The better team, and the values of both phases."""
        team, row = state.record.result(self.model)
        peri = state.record.best.value if state.record.claimed > -math.inf else None
        periem = None
        if state.em is not None:
            peri, values = state.em.peri, state.em.climb.values
            periem = values[-1] if values else None
        return Fit(team, facts={"peri": peri, "periem": periem, "starts": state.made}), row

    def _with_plans(self, state: PeriEmState, now: Now) -> tuple[PeriEmState, list[Row]]:
        """Advance all climbs; EM begins when none is left, or when its share of the time begins."""
        timed = not math.isinf(now.seconds)
        starts = RESTARTS if self.settings.restarts is None and not timed else self.settings.restarts
        due = timed and bool(state.best) and now.progress > 1 - self.settings.tuning.em_share
        if due or (state.made == starts and not state.climbs):
            why = "time limit" if due else "converged"
            return state._replace(climbs=[], em=EmPhase(state.record.best.value, why, Climb(0))), []
        search = self._search(now)
        new = ABREAST - len(state.climbs) if starts is None else min(ABREAST - len(state.climbs), starts - state.made)
        begun = [*state.climbs, *(search.climb(state.made + k, state.best) for k in range(new))]
        climbs = engine.run(lambda k: search.advanced(begun[k], now.stop), len(begun), self.inputs.threads)
        record, best, rows = state.record, state.best, list[Row]()
        for climb in sorted(climbs, key=lambda climb: -climb.value):
            best, better = with_climb(best, climb), climb.value > record.claimed
            if better:
                record = record.offered(self.model, team_of(self.model, climb.plan), climb.value)
            if better or search.over(climb):
                rows.append(record.row(climb.kicks, "peri"))
        state = state._replace(
            record=record,
            best=best,
            climbs=[climb for climb in climbs if not search.over(climb)],
            made=state.made + new,
            iterations=state.iterations + 1,
        )
        return state, rows

    def _with_em(self, state: PeriEmState, em: EmPhase, now: Now) -> tuple[PeriEmState, list[Row]]:
        if self.shifted is None:
            self.shifted = ShiftedModel.of(self.model)
        iterations = self.settings.tuning.em_iterations
        climber = Climber(self.shifted._replace(stop=now.stop), iterations, LEAST, STRIDE)
        climb = climber.advanced(em.climb, lambda _: self._softened(state.best, now))
        record = state.record.with_climb(self.model, climb, SOFT_GAIN)
        rows = [record.row(len(climb.values) - 1, "periem")] if climb.values else []
        state = state._replace(
            record=record,
            em=em._replace(climb=climb),
            iterations=state.iterations + 1,
            stopped=em.stopped if climber.over(climb) else "",
        )
        return state, rows

    def _softened(self, best: list[BestPlan], now: Now) -> list[LayeredController]:
        """The start of EM: the best plan without unreachable nodes, softened."""
        model, plan = self._search(now).model, max(best, key=lambda entry: entry.value).plan
        buffers = buffers_for(model, plan, now.stop)
        survey(model, plan, buffers, True)
        return softened(self.model, trimmed(plan, buffers.mark), self.settings.tuning.openness)

    def _search(self, now: Now) -> PlanSearch:
        if self.search is None:
            guide = guide_of(self.model, now.check)
            chosen = self.settings
            self.search = PlanSearch(
                outcome_model(self.model), guide, chosen.layers, self.widths, self.inputs.seed, chosen.tuning
            )
        return self.search


def toy_for(agents: int) -> PeriEmMethod:
    """Compiles all kernels for this number of agents."""
    settings = PeriEm(layers=1, width=1, restarts=1, tuning=PeriEmTuning(patience=1, em_iterations=1))
    return _Toy(toy_model(agents), settings, Inputs())


class _Toy(PeriEmMethod):
    """A complete run in one step: all phases are compiled."""

    def step(self, state: PeriEmState, now: Now) -> tuple[PeriEmState, list[Row]]:
        while not state.stopped:
            state, _ = super().step(state, now)
        return state, []


def _check_size(model: DecPOMDP, layers: int, widths: tuple[int, ...]) -> None:
    """Reject plans that do not fit into memory."""
    numbers = (len(model.states) + model.joint_observations) * layers * math.prod(widths)
    if numbers > LARGEST:
        raise InputError(f"layers and width: expected at most {LARGEST} numbers in a plan's tables, got {numbers}")
