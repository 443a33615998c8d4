"""EM for planning with a known model: Kumar & Zilberstein (UAI 2010), for any number of agents.

Stochastic controllers of a fixed size are improved by expectation maximisation on the exact model, from random starts
or from a given team. F and V are solved exactly, each from its last answer; the exact value never falls. The step and
the climbs are in `climbs.py`, the equations in `chain.py`.

ABREAST climbs run concurrently. One step advances each by STRETCH iterations, on threads; rows of the trace are in the
order of the climbs' values, and new climbs replace those that are over. Neither the number of threads nor their speed
changes the result.
"""

import math
from typing import NamedTuple

import numpy as np

from decpomdp.core import DecPOMDP, Fit, Row, Team, checks
from decpomdp.core.run import Inputs, Now
from decpomdp.engines import threads as engine
from decpomdp.planners.common import check_model, per_agent, toy_model
from decpomdp.planners.em.chain import LayeredController, ShiftedModel, one_layer
from decpomdp.planners.em.climbs import ABREAST, Climb, Climber, Incumbent
from decpomdp.planners.em.settings import Em

RESTARTS = 10  # climbs if neither their number nor the time is limited


class EmState(NamedTuple):
    """The state between two steps."""

    record: Incumbent
    climbs: list[Climb]  # not over
    made: int = 0  # climbs begun
    cut: bool = False  # whether a climb ended without converging
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class EmMethod:
    """`em` on a model."""

    state = EmState

    def __init__(self, model: DecPOMDP, settings: Em, inputs: Inputs) -> None:
        check_model(model)
        if inputs.begin is not None:
            checks.of_kind("begin", inputs.begin, Team).check_fits(model)
        self.model, self.settings, self.inputs = model, settings, inputs
        self.nodes = per_agent(model, "nodes", settings.nodes)
        self.shifted: ShiftedModel | None = None  # prepared in the first step

    def toy(self) -> "EmMethod":
        return EmMethod(toy_model(len(self.model.agents)), Em(nodes=1, iterations_per_start=1, restarts=1), Inputs())

    def init(self, now: Now) -> EmState:
        return EmState(Incumbent.first(self.model), [])

    def step(self, state: EmState, now: Now) -> tuple[EmState, list[Row]]:
        """Advance all climbs; a row for each."""
        starts = self._starts(now)
        state, rows = self._advanced(state, starts, now)
        done = not state.climbs and state.made == starts
        return state._replace(stopped=("iterations" if state.cut else "converged") if done else ""), rows

    def result(self, state: EmState) -> tuple[Fit, Row]:
        team, row = state.record.result(self.model)
        return Fit(team, facts={"starts": state.made}), row

    def _starts(self, now: Now) -> int | None:
        """The number of climbs; None: as many as the time limit allows."""
        if self.inputs.begin is not None:
            return 1
        return RESTARTS if self.settings.restarts is None and math.isinf(now.seconds) else self.settings.restarts

    def _advanced(self, state: EmState, starts: int | None, now: Now) -> tuple[EmState, list[Row]]:
        climber = self._climber(now)
        new = ABREAST - len(state.climbs) if starts is None else min(ABREAST - len(state.climbs), starts - state.made)
        made = state.made + new
        begun = [*state.climbs, *(Climb(number) for number in range(state.made, made))]
        climbs = engine.run(lambda k: climber.advanced(begun[k], self._start), len(begun), self.inputs.threads)
        record, rows = state.record, list[Row]()
        for climb in sorted(climbs, key=lambda climb: -climb.value):
            if climb.values:  # else cut before its first solve
                record = record.with_climb(self.model, climb)
                rows.append(record.row(len(climb.values) - 1, "em"))
        state = state._replace(
            record=record._replace(reported=record.reported + len(rows)),
            climbs=[climb for climb in climbs if not climber.over(climb)],
            made=made,
            cut=state.cut or any(climber.over(climb) and not climber.converged(climb) for climb in climbs),
            iterations=state.iterations + 1,
        )
        return state, rows

    def _climber(self, now: Now) -> Climber:
        if self.shifted is None:
            self.shifted = ShiftedModel.of(self.model)
        chosen = self.settings
        return Climber(self.shifted._replace(check=now.check), chosen.iterations_per_start, chosen.least, chosen.stride)

    def _start(self, number: int) -> list[LayeredController]:
        if self.inputs.begin is not None:
            return one_layer(self.inputs.begin)
        return random_team(self.model, self.nodes, np.random.default_rng([self.inputs.seed, number]))


def random_team(model: DecPOMDP, nodes: tuple[int, ...], rng: np.random.Generator) -> list[LayeredController]:
    """Every row drawn uniformly from all distributions."""
    return [
        LayeredController(
            rng.dirichlet(np.ones(z)),
            rng.dirichlet(np.ones(len(agent.actions)), size=(1, z)),
            rng.dirichlet(np.ones(z), size=(1, z, len(agent.actions), len(agent.observations))),
        )
        for z, agent in zip(nodes, model.agents, strict=True)
    ]
