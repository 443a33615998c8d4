"""Periodic EM: planning with controllers whose nodes lie in layers. A RECONSTRUCTION.

After Pajarinen & Peltonen (NIPS 2011), of which only the outline was at hand. Layer m moves only to layer m + 1, the
last to the first. (1) A deterministic layered policy graph of finite horizon is improved by sweeping the layers
backwards, node by node; (2) it is closed into a period and swept again with discounted values ("Peri"); (3) EM starts
from it, softened ("PeriEM"). The sweeps are in `kernels/periodic_climb.py`, EM in `planners/em`.

Added here: exact acceptance in (2), so that it is monotone; joint kicks between sweeps (`kernels/periodic_climb.py`);
sizes chosen by the search itself (`search.py`).

One step advances ABREAST concurrent climbs of (1) and (2), or EM. With a time limit EM begins when only its share of
the time is left.
"""

import math
from typing import NamedTuple

from decpomdp.core import DecPOMDP, Fit, InputError, Row
from decpomdp.core.run import Inputs, Now
from decpomdp.core.sparse import discounted_model
from decpomdp.engines import threads as engine
from decpomdp.kernels.periodic import PlanBuffers
from decpomdp.planners.common import check_model, per_agent, toy_model
from decpomdp.planners.em.chain import LayeredController, ShiftedModel
from decpomdp.planners.em.climbs import ABREAST, Climb, Climber, Incumbent
from decpomdp.planners.periodic.plans import buffers_for, guide_of, softened, team_of, trimmed
from decpomdp.planners.periodic.search import BestPlan, PlanClimb, PlanSearch, mark_reached, with_climb
from decpomdp.planners.periodic.settings import PeriEm, PeriEmTuning

RESTARTS = 24  # climbs if neither their number nor the time is limited
LARGEST = 200_000_000  # numbers in the tables of a plan
LEAST, STRIDE = 1e-9, 1024.0  # of EM, see `planners/em/settings.py`
SOFT_GAIN = 1e-6  # relative: smallest gain over the deterministic team for which a stochastic one is evaluated


class EmPhase(NamedTuple):
    """The phase of EM."""

    peri: float  # value of the best deterministic team
    stopped: str  # why the deterministic search ended
    climb: Climb


class PeriEmState(NamedTuple):
    """The state between two steps."""

    record: Incumbent
    best: list[BestPlan]
    climbs: list[PlanClimb]  # not over
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
        self.buffers_of: dict[int, PlanBuffers] = {}  # buffers of the climbs

    def toy(self) -> "PeriEmMethod":
        tuning = PeriEmTuning(patience=1, em_iterations=1)
        settings = PeriEm(layers=1, width=1, restarts=1, tuning=tuning)
        return _Toy(toy_model(len(self.model.agents)), settings, Inputs())

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
        """Advance all climbs; when none is left or the share of EM has come, EM begins."""
        timed = not math.isinf(now.seconds)
        starts = RESTARTS if self.settings.restarts is None and not timed else self.settings.restarts
        due = timed and bool(state.best) and now.progress > 1 - self.settings.tuning.em_share
        if due or (state.made == starts and not state.climbs):
            why = "time limit" if due else "converged"
            return state._replace(climbs=[], em=EmPhase(state.record.best.value, why, Climb(0))), []
        search = self._search(now)
        new = ABREAST - len(state.climbs) if starts is None else min(ABREAST - len(state.climbs), starts - state.made)
        begun = [*state.climbs, *(search.climb(state.made + k, state.best) for k in range(new))]
        buffers_of = [self._buffers(search, climb) for climb in begun]
        self.buffers_of = {climb.number: buffers for climb, buffers in zip(begun, buffers_of, strict=True)}
        climbs = engine.run(
            lambda k: search.advanced(begun[k], buffers_of[k], now.stop), len(begun), self.inputs.threads
        )
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
        climber = Climber(self.shifted._replace(check=now.check), iterations, LEAST, STRIDE)
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
        buffers = buffers_for(model, plan)
        mark_reached(model, plan, buffers)
        return softened(self.model, trimmed(plan, buffers.mark), self.settings.tuning.openness)

    def _search(self, now: Now) -> PlanSearch:
        if self.search is None:
            guide = guide_of(self.model, now.check)
            chosen = self.settings
            self.search = PlanSearch(
                discounted_model(self.model), guide, chosen.layers, self.widths, self.inputs.seed, chosen.tuning
            )
        return self.search

    def _buffers(self, search: PlanSearch, climb: PlanClimb) -> PlanBuffers:
        buffers = self.buffers_of.get(climb.number)
        return buffers if buffers is not None and buffers.v is climb.v else search.buffers(climb)


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
