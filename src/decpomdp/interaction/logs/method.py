"""`logs`: run all methods that apply to recorded episodes, and choose one of their teams (`choice.py`).

    sbpr      Dec-SBPR, evaluated on the same episodes (`learners/judging.py`)
    clone     the behaviour as a team: the lower limit
    world     worlds are fitted and planned in (`interaction/world/`); worlds drawn from their posteriors evaluate the
              plans and the teams of the other parts

The state holds the states of the parts, and one step is a step of a part. Dec-SBPR and the clone get a share of the
time; without a limit all parts have a fixed size.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Episodes, Fit, Row, Team
from decpomdp.core.errors import LearningWarning
from decpomdp.core.run import Inputs, Method, NamedToy, Now
from decpomdp.interaction.logs.choice import (
    CLONE,
    NAMES,
    SBPR,
    TOO_SHORT,
    WORLD,
    InWorlds,
    preferred,
    reason,
    trust,
    trust_without_worlds,
    verdict_of,
    why,
)
from decpomdp.interaction.logs.dependence import dependent
from decpomdp.interaction.logs.settings import Logs
from decpomdp.interaction.world.method import WorldMethod, WorldState
from decpomdp.interaction.world.result import WorldFit, visits_outside
from decpomdp.interaction.world.settings import World
from decpomdp.learners.judging import BETTER, UNPROVEN, WORSE
from decpomdp.learners.method import FitState, SbprMethod
from decpomdp.learners.posterior import BayesFit
from decpomdp.learners.settings import Sbpr

SHARES = {"sbpr": 0.25, "clone": 0.3}  # of the time, at which these parts end
FEWEST = 20  # episodes for a world
LARGEST = 2e6  # joint actions times joint observations of a world
SUPPORT = 1 / 3  # share of the recorded steps that agree with the proven team, at least; random logs: at most 1 / 4
STRAYING = 0.25  # share of its steps in rare situations from which a plan does not replace a proven team
INITIAL = "initial"  # the choice if nothing was learned
STOPPED = "the run was stopped before teams were planned"


class LogsState(NamedTuple):
    """The states of the parts."""

    sbpr: FitState
    clone: FitState | None = None  # None: not started, or Dec-SBPR's own clone is used
    world: WorldState | None = None
    phase: str = SBPR
    began: float = 0.0  # progress at the start of the worlds
    iterations: int = 0  # of the worlds
    stopped: str = ""

    steps: int = 0  # nothing is played


@dataclass(frozen=True, slots=True)
class LogsFit(BayesFit):
    """A team of Dec-SBPR, with the world in which it was evaluated."""

    world: DecPOMDP | None = None


class LogsMethod:
    """Runs `logs` on episodes."""

    state: type = LogsState

    def __init__(self, episodes: Episodes | Sequence[Episodes], settings: Logs, inputs: Inputs) -> None:
        self.settings, self.inputs = settings, inputs
        self.sbpr = SbprMethod(episodes, Sbpr(), inputs)
        self.episodes = self.sbpr.data
        own = Inputs(inputs.seed, inputs.threads)
        self.clone = SbprMethod(self.episodes, Sbpr(utility="equal", judge=False), own)
        self.obstacle = obstacle(self.episodes)
        if not self.obstacle:
            self.world = WorldMethod(self.episodes, World(max_states=settings.max_states), own)

    def toy(self) -> list[Method | NamedToy]:
        """Toy problems of the parts."""
        return [self.sbpr.toy(), *([] if self.obstacle else self.world.toy())]

    def init(self, now: Now) -> LogsState:
        return LogsState(self.sbpr.init(now))

    def step(self, state: LogsState, now: Now) -> tuple[LogsState, Row | list[Row] | None]:
        """A step of the current part."""
        return {SBPR: self._sbpr, CLONE: self._clone, WORLD: self._world}[state.phase](state, now)

    def result(self, state: LogsState) -> tuple[Fit, Row]:
        """The chosen team; its facts say `why` it was chosen and how far to `trust` it."""
        own = state.world
        fit = self._alone(state) if own is None or not own.candidates else self._by_worlds(state, own)
        if fit.facts["verdict"] != BETTER:
            warnings.warn(str(fit.facts["trust"]), LearningWarning, stacklevel=2)
        return fit, _row(state, "chosen", {"value": fit.facts["value"]})

    # ---- phases ----

    def _sbpr(self, state: LogsState, now: Now) -> tuple[LogsState, Row | list[Row] | None]:
        part, rows = self.sbpr.step(state.sbpr, now)
        state = state._replace(sbpr=part)
        if self.obstacle:
            return state._replace(stopped=part.stopped), [_row(state, "sweep", row) for row in rows]
        if not part.stopped and now.progress < SHARES[SBPR]:
            return state, None
        after = state._replace(phase=CLONE, clone=self.clone.init(now))
        return self._fitting(state, now) if self._below(state) else after, _row(state, "learned")

    def _clone(self, state: LogsState, now: Now) -> tuple[LogsState, None]:
        part, _ = self.clone.step(state.clone, now)  # type: ignore[arg-type]
        state = state._replace(clone=part)
        return self._fitting(state, now) if part.stopped or now.progress >= SHARES[CLONE] else state, None

    def _fitting(self, state: LogsState, now: Now) -> LogsState:
        return state._replace(phase=WORLD, world=self.world.init(now), began=min(now.progress, 0.99))

    def _world(self, state: LogsState, now: Now) -> tuple[LogsState, Row | None]:
        self._connect(state)
        used = (now.progress - state.began) / (1 - state.began)
        part, row = self.world.step(state.world, now._replace(progress=used))  # type: ignore[arg-type]
        state = state._replace(world=part, iterations=part.iterations, stopped=part.stopped)
        return state, None if row is None else _row(state, str(row["event"]), row)

    # ---- the choice ----

    def _below(self, state: LogsState) -> bool:
        """Whether Dec-SBPR's team is estimated to be below the behaviour; its result is then the clone."""
        return state.sbpr.judged is not None and state.sbpr.judged.verdict == WORSE

    def _connect(self, state: LogsState) -> None:
        """Pass the teams of the other parts and the rule of choice to the worlds."""
        judged = state.sbpr.judged
        proven = judged is not None and judged.verdict == BETTER and judged.support >= SUPPORT

        def prefer(scores: NDArray[np.float64], origins: list[str]) -> int:
            best = preferred(scores, origins, proven, self.world.behaviour)
            plan = origins[best] not in NAMES
            strays = proven and plan and SBPR in origins and self._strays(state.world, origins[best])
            return origins.index(SBPR) if strays else best

        self.world.others = lambda: self._others(state)
        self.world.prefer = prefer

    def _strays(self, own: Any, origin: str) -> bool:
        """Whether a plan spends much of its time in situations that are rare in the episodes."""
        team = next(candidate.team for candidate in own.candidates if candidate.origin == origin)
        return visits_outside(team, own.fits.refitted[0], self.world.worlds.alphabet) > STRAYING

    def _others(self, state: LogsState) -> list[tuple[str, Team]]:
        """Teams that are evaluated in the worlds in addition to the plans."""
        teams = [(CLONE if self._below(state) else SBPR, _result(self.sbpr, state.sbpr).team)]
        return teams if state.clone is None else [*teams, (CLONE, _result(self.clone, state.clone).team)]

    def _by_worlds(self, state: LogsState, own: WorldState) -> Fit:
        """The choice by values in the worlds."""
        self._connect(state)
        if all(candidate.origin not in NAMES for candidate in own.candidates):  # stopped while planning
            own = self.world.with_others(own)
        planned: WorldFit = _result(self.world, own)
        fit: Fit = planned
        facts = dict(planned.facts)
        origin = str(facts["planned_by"])
        if origin in NAMES:
            method = self.clone if origin == CLONE and state.clone is not None else self.sbpr
            learned: BayesFit = _result(method, state.clone if method is self.clone else state.sbpr)
            fit = LogsFit(learned.team, facts=learned.facts, posterior=learned.posterior, world=planned.world)
        return replace(fit, facts={**fit.facts, **facts, **self._sentences(state, own, facts)})

    def _sentences(self, state: LogsState, own: WorldState, facts: dict[str, Any]) -> dict[str, Any]:
        behaviour, together = self.world.behaviour, self._together(state)
        compared, rule = self._compared(own, str(facts["planned_by"]))
        judged = state.sbpr.judged
        proven = compared.chosen == SBPR and judged is not None and judged.sure
        verdict = verdict_of(compared, facts, behaviour, together, proven)
        return {
            "chosen": compared.chosen,
            "verdict": verdict,
            "why": why(compared, rule, self._below(state)),
            "trust": trust(compared, verdict, facts, behaviour, together),
            "dependence": together,
            **{f"value_{part}": value for part, value in compared.best.items()},
        }

    def _compared(self, own: WorldState, origin: str) -> tuple[InWorlds, str]:
        """The values in the worlds, and the rule by which the candidate of this origin was chosen."""
        origins = [candidate.origin for candidate in own.candidates]
        (values, scores), weights = self.world.scores(own), self.world.weights(own)
        place, flat = origins.index(origin), values.reshape(-1, len(origins))
        rule = reason(scores, self.world.allowed(own), place, self.world.behaviour)
        enough = len(flat) >= self.world.settings.draws
        judged = self.world.draws(own) > 0
        return InWorlds(origins, place, flat, weights @ values.mean(0), len(own.drawn), judged, enough), rule

    def _together(self, state: LogsState) -> float:
        """Correlation of the agents' actions given their own histories; 0: not significant."""
        clone = self.sbpr if state.clone is None else self.clone
        return dependent(self.episodes, _result(clone, state.sbpr if state.clone is None else state.clone).team)

    def _alone(self, state: LogsState) -> Fit:
        """Without worlds: Dec-SBPR's team, or the cloned behaviour.

        The clone is returned if the estimate is below the behaviour, and if the run was stopped before any estimate.
        """
        fit, judged = _result(self.sbpr, state.sbpr), state.sbpr.judged
        unknown = judged is None and state.clone is not None and self.clone.begun(state.clone)
        if unknown:
            fit = _result(self.clone, state.clone)
        chosen = CLONE if unknown or self._below(state) else SBPR
        facts: dict[str, Any] = {
            "chosen": chosen,
            "value": None if judged is None else judged.value,
            "verdict": UNPROVEN if judged is None else judged.verdict,
            "why": f"Chosen: {NAMES[chosen]}, because {self.obstacle or STOPPED}.",
            "trust": f"{TOO_SHORT}." if unknown else trust_without_worlds(chosen, judged),
        }
        if not self.sbpr.begun(state.sbpr):
            facts |= {"chosen": INITIAL, "why": "Nothing was learned: the team is the initial one."}
        return replace(fit, facts={**fit.facts, **facts})


def obstacle(episodes: Episodes) -> str:
    """The reason why no world can be fitted to the episodes; empty if one can."""
    sizes = [len(agent.actions) * len(agent.observations) for agent in episodes.agents]
    if episodes.discount >= 1:
        return "worlds need a discount below 1"
    if episodes.lengths.max() < 2:
        return "worlds need episodes of at least two steps"
    if sum(map(np.log, sizes)) > np.log(LARGEST):
        return f"worlds are for fewer joint actions and observations than {len(sizes)} such agents have"
    return f"worlds need at least {FEWEST} episodes" if episodes.count < FEWEST else ""


def _result(method: Any, state: Any) -> Any:
    """The result of a part, without its warnings: `why` and `trust` have them."""
    with warnings.catch_warnings(action="ignore", category=LearningWarning):
        return method.result(state)[0]


def _row(state: LogsState, event: str, part: Row | None = None) -> Row:
    """A row of the trace."""
    columns = ("sweep", "nodes", "states", "bound", "heldout", "value")
    known = part or {}
    phase = state.phase if state.world is None else state.world.phase
    return {"phase": phase, "event": event, **{name: known.get(name) for name in columns}}
