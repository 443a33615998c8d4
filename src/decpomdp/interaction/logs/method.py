"""`logs`: run all methods that apply to recorded episodes, and choose one of their teams.

    sbpr      Dec-SBPR, evaluated on the same episodes (`learners/judging.py`)
    clone     the behaviour as a team: the lower limit
    world     worlds are fitted and planned in (`interaction/world/`); worlds drawn from their posteriors evaluate the
              plans and the teams of the other parts

The score of a team is its mean value over the worse half of the drawn worlds; the highest score wins. A team of
Dec-SBPR that is estimated to be below the behaviour is replaced by the clone. A plan must be worth more than the
behaviour earned in the episodes. Worlds overestimate their own plans: if the episodes prove Dec-SBPR's team better than
the behaviour, and enough steps agree with it, a plan replaces it only if it gains MARGIN more. If no world can be
fitted, the result is Dec-SBPR's team or the cloned behaviour.

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
from decpomdp.interaction.logs.dependence import dependent
from decpomdp.interaction.logs.settings import Logs
from decpomdp.interaction.world.choice import contenders
from decpomdp.interaction.world.method import WorldMethod, WorldState, described
from decpomdp.interaction.world.result import WorldFit
from decpomdp.interaction.world.settings import World
from decpomdp.interaction.world.trust import OUTSIDE
from decpomdp.learners.judging import BETTER, UNPROVEN, WORSE
from decpomdp.learners.method import FitState, SbprMethod
from decpomdp.learners.posterior import BayesFit
from decpomdp.learners.settings import Sbpr

SHARES = {"sbpr": 0.15, "clone": 0.25}  # of the time, at which these parts end
FEWEST = 20  # episodes for a world
LARGEST = 2e6  # joint actions times joint observations of a world
SURE = 0.95  # share of the drawn worlds in which a team must earn more than the behaviour to be called better
MARGIN = 0.1  # gain of a plan over Dec-SBPR's proven team, relative to that team's gain over the behaviour, at least
SUPPORT = 1 / 3  # share of the recorded steps that agree with the proven team, at least; random logs: at most 1 / 4
SAME = 1e-9  # share of a value that is rounding
SBPR, CLONE, WORLD = "sbpr", "clone", "world"  # phases; the first two are also origins of candidates
INITIAL = "initial"  # the choice if nothing was learned
NAMES = {SBPR: "Dec-SBPR's team", CLONE: "the cloned behaviour"}
STOPPED = "the run was stopped before teams were planned"
NOTHING_BETTER = "No team is better than the behaviour, as far as the episodes tell"
TOGETHER = (
    "the agents' actions are correlated ({:.2g}) beyond their own histories: if a demonstrator saw more than the log"
    " contains, the team may earn much less"
)
TOO_SHORT = "The run was too short to tell whether a team is better than the behaviour: more time may find one"


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
        self.world.others = lambda: self._others(state)
        self.world.prefer = lambda scores, origins: preferred(scores, origins, proven, self.world.behaviour)

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
        origin = str(facts["planned_by"])
        place = next(c for c, candidate in enumerate(own.candidates) if candidate.origin == origin)
        (values, scores), weights = self.world.scores(own), self.world.weights(own)
        judged = self.world.draws(own) > 0
        rule = reason(
            scores, contenders(values, weights, [c.origin for c in own.candidates]), place, self.world.behaviour
        )
        means = weights @ values.mean(0)  # [c]
        values = values.reshape(-1, len(own.candidates))  # [k, c] in all draws, or in all fitted worlds
        best = dict[str, float]()
        for candidate, mean in zip(own.candidates, means, strict=True):
            kind = candidate.origin if candidate.origin in NAMES else WORLD
            best[kind] = max(best.get(kind, -np.inf), float(mean))
        named = {WORLD: "the best plan", **NAMES}
        chosen = origin if origin in NAMES else WORLD
        rest = " and ".join(f"{named[kind]} {best[kind]:.4g}" for kind in named if kind in best and kind != chosen)
        who = f"a team {described(origin)}" if chosen == WORLD else NAMES[origin]
        where = f"{len(values)} worlds drawn from the posterior" if judged else "the fitted worlds"
        earned = f"mean values in {where}: this team {means[place]:.4g}, {rest}"
        why = f"Chosen: {who}. {rule[0].upper()}{rule[1:]}; {earned}."
        if self._below(state):
            why = f"{why[:-1]}; the episodes put Dec-SBPR's team below the behaviour."
        floor = next(c for c, candidate in enumerate(own.candidates) if candidate.origin == CLONE)
        gains = values[:, place] - values[:, floor]
        more = int((gains > SAME * np.abs(values[:, floor])).sum())
        enough = len(values) >= self.world.settings.draws
        together = self._together(state)
        above = facts["low"] is None or facts["low"] > self.world.behaviour
        known = facts["outside"] <= OUTSIDE and facts["complete"] and above and not together
        sure = judged and enough and more >= SURE * len(values) and known
        proven = chosen == SBPR and state.sbpr.judged is not None and state.sbpr.judged.sure
        verdict = WORSE if chosen == CLONE else BETTER if sure or proven else UNPROVEN
        evidence = f"{f'only {len(own.drawn)}' if own.drawn else 'no'} worlds were drawn before the end"
        if judged:
            short = "" if enough else ", too few to tell"
            evidence = f"it earns more in {more} of these {len(values)} worlds{short}"
        sentences = [f"{verdict[0].upper()}{verdict[1:]}: {evidence}"]
        if chosen == CLONE:
            sentences = [NOTHING_BETTER if judged and facts["complete"] else TOO_SHORT]
        if facts["low"] is not None:
            span = f"{facts['low']:.4g} and {facts['high']:.4g} (the behaviour has {self.world.behaviour:.4g})"
            sentences.append(f"expect the true value between {span}")
        sentences += filter(None, str(facts["warnings"]).split("; "))
        if together:
            sentences.append(TOGETHER.format(together))
        return {
            "chosen": chosen,
            "verdict": verdict,
            "why": why,
            "trust": f"{'; '.join(sentences)}.",
            "dependence": together,
            **{f"value_{kind}": value for kind, value in best.items()},
        }

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
        facts: dict[str, Any] = {"chosen": chosen, "value": None, "verdict": UNPROVEN}
        facts["why"] = f"Chosen: {NAMES[chosen]}, because {self.obstacle or STOPPED}."
        if not self.sbpr.begun(state.sbpr):
            facts |= {"chosen": INITIAL, "why": "Nothing was learned: the team is the initial one."}
        if judged is not None:
            facts |= {"value": judged.value, "verdict": judged.verdict}
            span = f"{judged.value:.4g} ({judged.low:.4g} to {judged.high:.4g})"
            earned = f"{judged.behaviour:.4g} for the behaviour"
            evidence = f"it is estimated to earn {span}, {earned}"
        else:
            evidence = "it was not judged"
        verdict = "Dec-SBPR's team is not better than the behaviour" if chosen == CLONE else facts["verdict"]
        facts["trust"] = f"{TOO_SHORT}." if unknown else f"{verdict[0].upper()}{verdict[1:]}: {evidence}."
        return replace(fit, facts={**fit.facts, **facts})


def preferred(scores: NDArray[np.float64], origins: list[str], proven: bool, behaviour: float = -np.inf) -> int:
    """The chosen candidate c, from scores[c].

    A plan must be worth more than the `behaviour` earned. A `proven` team of Dec-SBPR is replaced only for a clear
    gain.
    """
    best = int(np.argmax(scores))
    if origins[best] not in NAMES and CLONE in origins and scores[best] <= behaviour:
        others = [c for name in (CLONE, SBPR) for c, origin in enumerate(origins) if origin == name]  # ties: the clone
        return others[int(np.argmax(scores[others]))]
    if not proven or origins[best] in NAMES or not {SBPR, CLONE} <= set(origins):
        return best
    own, clone = origins.index(SBPR), origins.index(CLONE)
    least = MARGIN * max(scores[own] - scores[clone], 0.0)
    return best if scores[best] - scores[own] > least else own


def reason(scores: NDArray[np.float64], allowed: list[int], place: int, behaviour: float) -> str:
    """The rule of `preferred` by which the candidate `place` was chosen among the `allowed` ones, from scores[c]."""
    best = allowed[int(np.argmax(scores[allowed]))]
    if best != place and scores[best] <= behaviour:
        return f"the best plan is worth no more than the {behaviour:.4g} of the behaviour"
    if best != place:
        return f"the episodes prove its gain over the behaviour, and no plan adds {MARGIN:.0%} to that"
    rule = "its mean over the worse half of the worlds is the highest"
    return rule if int(np.argmax(scores)) == place else f"{rule} (plans of FB-HSVI win near-ties)"


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
