"""`world`: fit latent worlds to episodes, plan in them, evaluate every plan in all of them.

    fit       worlds with as many states as the episodes support (`worlds/learner.py`), in at most half of the time;
              plans then take at most twice as long as the fits, or half a minute
    plan      FB-HSVI in the posterior means of the admitted worlds, also with rounded numbers; PeriEM and the search in
              the best one. Steps that are rare in the episodes lead to an absorbing state (`cautious` in
              `worlds/flat.py`), unless held-out episodes show that they are predicted well (`worlds/calibration.py`)
    judge     exact values of all teams in worlds drawn from the posteriors of all admitted worlds, each weighted by how
              well it predicts held-out episodes. A team's score is its mean over the worse half of them; the highest
              score wins. In near-ties FB-HSVI is preferred, and teams of at most 100 nodes per agent (`choice.py`)
    interval  values over the draws of all admitted worlds, in worlds refitted to bootstrap samples of the episodes, and
              in the world refitted without priors: priors shrink the tables, and with them the values of good teams

One step is a stage of a fit, a plan, a drawn world, or a bootstrap sample. Plans are runs of the common driver within a
step. Without a time limit all of this has a fixed size, and the result depends on the seed alone.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from decpomdp.core import Agent, DecPOMDP, Episodes, InputError, Row, Team, concatenate
from decpomdp.core.errors import LearningWarning
from decpomdp.core.run import Budget, Inputs, Method, NamedToy, Now, run
from decpomdp.interaction.search.method import SearchMethod
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.world.choice import FB_HSVI, contenders, interval, small_enough, worse_mean
from decpomdp.interaction.world.result import WorldFit, value_in, visits_outside
from decpomdp.interaction.world.settings import World
from decpomdp.interaction.world.trust import doubts
from decpomdp.planners.common import toy_model
from decpomdp.planners.fb_hsvi.method import FbHsviMethod
from decpomdp.planners.fb_hsvi.settings import FbHsvi
from decpomdp.planners.periodic.method import PeriEmMethod, toy_for
from decpomdp.planners.periodic.settings import PeriEm
from decpomdp.worlds.calibration import overconfidence
from decpomdp.worlds.flat import after_first_step, rounded, world_of
from decpomdp.worlds.learner import DONE, GROW, Fits, Worlds
from decpomdp.worlds.posterior import Floats, Posterior, Tables

GROWING, FITTING, PLANNING, JUDGING = 0.4, 0.5, 0.88, 0.95  # shares of the time at which restarts, fits, ... end
PLAN_TIME, PLAN_SECONDS = 2.0, 30.0  # limits of planning: relative to the time of the fits, and at least in seconds
FEWEST = 2  # draws of every world, at least, for a choice by draws
ROUNDS, RESTARTS, STEPS = 2, 2, 1_000_000  # of FB-HSVI, PeriEM and the search without a time limit
BOOTSTRAPS = 5
LONGER = 2.0  # time of FB-HSVI, relative to other planners
PAIRS = 2_000_000  # of state and joint node: larger teams are left out, because one exact value takes minutes
FIT, PLAN, JUDGE, INTERVAL = "fit", "plan", "judge", "interval"  # phases


class Candidate(NamedTuple):
    """A team and its values in the admitted worlds."""

    team: Team
    origin: str
    values: tuple[float, ...]  # [w]


class WorldState(NamedTuple):
    """Between two steps."""

    fits: Fits
    phase: str = FIT
    candidates: tuple[Candidate, ...] = ()
    plans: int = 0  # finished or failed
    began: float = 0.0  # progress at the start of planning
    drawn: tuple[tuple[float, ...], ...] = ()  # [k][c] values of all candidates in draws; draw k is of world k mod W
    likeliest: float | None = None  # value in the best world refitted without priors
    resampled: tuple[float, ...] = ()  # values in bootstrap worlds
    steps: int = 0
    iterations: int = 0
    stopped: str = ""


class Plan(NamedTuple):
    """A planner and the world that it gets."""

    world: int
    planner: str
    rounded: bool = False


class WorldMethod:
    """Runs `world` on episodes."""

    state: type = WorldState

    def __init__(self, episodes: Episodes | Sequence[Episodes], settings: World, inputs: Inputs) -> None:
        self.episodes = episodes if isinstance(episodes, Episodes) else concatenate(episodes)
        if self.episodes.discount >= 1:
            raise InputError(f"world: expected episodes with a discount below 1, got {self.episodes.discount}")
        if self.episodes.lengths.max() < 2:
            raise InputError("world: expected episodes of at least two steps, got episodes of one step")
        self.settings, self.inputs = settings, inputs
        self.worlds = Worlds(self.episodes, inputs.seed, settings.max_states, inputs.threads)
        self.others: Callable[[], Sequence[tuple[str, Team]]] = tuple  # more teams to evaluate, with their origins
        self.prefer: Callable[[Floats, list[str]], int] = lambda scores, _: int(np.argmax(scores))  # may use origins
        self.behaviour = behaviour_value(self.episodes)
        self._flat: dict[int, DecPOMDP] = {}  # by the id of a posterior of the state

    def toy(self) -> list[Method | NamedToy]:
        """Fits of a few short episodes, and the planners."""
        agents = len(self.episodes.agents)
        toys: list[Method | NamedToy] = [_ToyWorld(toy_episodes(agents), self.settings, Inputs(threads=1))]
        toys.append(NamedToy(toy_for.__module__, toy_for.__name__, agents))
        for planner in (FB_HSVI, "search"):
            toy = self._planner(planner, toy_model(agents), math.inf)[0].toy()
            toys += toy if isinstance(toy, list) else [toy]
        return toys

    def init(self, now: Now) -> WorldState:
        return WorldState(self.worlds.init())

    def step(self, state: WorldState, now: Now) -> tuple[WorldState, Row | None]:
        """A stage of a fit, a plan, a drawn world, or a bootstrap sample."""
        advance = {FIT: self._fit, PLAN: self._plan, JUDGE: self._judge, INTERVAL: self._interval}[state.phase]
        state, row = advance(state, now)
        return state._replace(iterations=state.iterations + 1), row

    def result(self, state: WorldState) -> tuple[WorldFit, Row | None]:
        """The chosen team; if none was planned yet, a quick plan in the best world so far."""
        posteriors = state.fits.refitted or tuple(self._so_far(state.fits))
        if not state.candidates and posteriors:
            made = run(PeriEmMethod(self._world(posteriors[0]), PeriEm(restarts=1), self.inputs), Budget(seconds=5.0))
            state = state._replace(candidates=(self._candidate(posteriors, made.fit.team, "periem"),))
        if not state.candidates:
            return WorldFit(Team.uniform(self.episodes)), None
        best = self._chosen(state)
        name = f"world of {self.episodes.name or 'the episodes'}"
        world = world_of(self.worlds.alphabet, posteriors[0], name=name)
        facts = self._facts(state, posteriors, best)
        for warning in filter(None, str(facts["warnings"]).split("; ")):
            warnings.warn(warning, LearningWarning, stacklevel=2)
        team = Team(best.team.agents, best.team.controllers, best.team.discount, self.episodes.name)
        fit = WorldFit(team, facts=facts, world=world, posteriors=posteriors, alphabet=self.worlds.alphabet)
        return fit, self._row(state, event="finished")

    # ---- phases ----

    def _fit(self, state: WorldState, now: Now) -> tuple[WorldState, Row | None]:
        limit = GROWING if state.fits.phase == GROW else FITTING
        fits, row = self.worlds.step(state.fits, now.progress > limit, now.stop)
        state = state._replace(fits=fits)
        if fits.phase == DONE:
            return state._replace(phase=PLAN, began=now.progress), None
        return state, None if row is None else self._row(state, "fit", row)

    def _plan(self, state: WorldState, now: Now) -> tuple[WorldState, Row | None]:
        posteriors, plans = state.fits.refitted, self._plans(len(state.fits.refitted))
        end = planning_ends(state.began, now)
        if state.plans >= len(plans) or (now.progress > end and state.candidates):
            state = self.with_others(state)
            return state._replace(phase=JUDGE if state.candidates else INTERVAL), None
        plan, world = plans[state.plans], self._world(posteriors[plans[state.plans].world])
        left = (end - now.progress) / (1 - now.progress) * now.seconds if math.isfinite(now.seconds) else math.inf
        shares = [LONGER if planned.planner == FB_HSVI else 1.0 for planned in plans[state.plans :]]
        seconds = max(1.0, left * shares[0] / sum(shares))
        state = state._replace(plans=state.plans + 1)
        name = f"{plan.planner}{' rounded' if plan.rounded else ''} in world {plan.world}"
        try:
            method, budget = self._planner(plan.planner, rounded(world) if plan.rounded else world, seconds)
            team = run(method, budget, within=now).fit.team
            if math.prod(team.nodes) * max(len(self._world(each).states) for each in posteriors) > PAIRS:
                return state, None
            candidate = self._candidate(posteriors, team, name, now)
        except (InputError, RuntimeError, np.linalg.LinAlgError):  # too large for this planner, or not solved
            return state, None
        now.check()
        state = state._replace(candidates=(*state.candidates, candidate))
        return state, self._row(state, name)

    def _judge(self, state: WorldState, now: Now) -> tuple[WorldState, Row | None]:
        """Values of all teams in one drawn world."""
        number, worlds = len(state.drawn), state.fits.refitted
        if number >= self.settings.draws * len(worlds) or (now.progress > JUDGING and number >= FEWEST * len(worlds)):
            return state._replace(phase=INTERVAL), self._row(state, "judged")
        posterior = worlds[number % len(worlds)]
        world = self._made(posterior, posterior.draw(np.random.default_rng([self.inputs.seed, 4, number])))
        values = tuple(self._value(world, candidate.team, now) for candidate in state.candidates)
        return state._replace(drawn=(*state.drawn, values)), None

    def _interval(self, state: WorldState, now: Now) -> tuple[WorldState, Row | None]:
        """The value of the chosen team in the world without priors, or in one world of resampled episodes."""
        if not state.candidates:
            return state._replace(stopped=self._end(state, now)), None
        self.worlds.stop = now.stop
        best, team = state.fits.refitted[0], self._chosen(state).team
        if state.likeliest is None:
            other = self._made(best, self.worlds.likeliest(best))
            return state._replace(likeliest=self._value(other, team, now)), None
        other = self._made(self.worlds.bootstrap(best, len(state.resampled)))
        state = state._replace(resampled=(*state.resampled, self._value(other, team, now)))
        return state._replace(stopped=self._end(state, now) if len(state.resampled) >= BOOTSTRAPS else ""), None

    def _end(self, state: WorldState, now: Now) -> str:
        """The reason why the run ends: the limit if it cut fits, plans or draws short."""
        worlds = len(state.fits.refitted)
        drawn = len(state.drawn) >= self.settings.draws * worlds or not state.candidates
        if drawn and not state.fits.hurried and state.plans >= len(self._plans(worlds)):
            return "converged"
        return "iterations" if math.isinf(now.seconds) and math.isfinite(now.iterations) else "time limit"

    # ---- parts ----

    @staticmethod
    def _plans(worlds: int) -> list[Plan]:
        others = [Plan(world, FB_HSVI) for world in range(1, worlds)]
        return [Plan(0, FB_HSVI), Plan(0, FB_HSVI, True), *others, Plan(0, "periem"), Plan(0, "search")]

    def _planner(self, name: str, world: DecPOMDP, seconds: float) -> tuple[Method, Budget]:
        inputs, timed = Inputs(self.inputs.seed, self.inputs.threads), math.isfinite(seconds)
        if name == FB_HSVI:
            return FbHsviMethod(world, FbHsvi(), inputs), Budget(seconds=seconds) if timed else Budget(
                iterations=ROUNDS
            )
        if name == "periem":
            restarts = None if timed else RESTARTS
            return PeriEmMethod(world, PeriEm(restarts=restarts), inputs), Budget(seconds=seconds if timed else None)
        return SearchMethod(world, Search(), inputs), Budget(seconds=seconds) if timed else Budget(steps=STEPS)

    def _candidate(self, posteriors: Sequence[Posterior], team: Team, origin: str, now: Now | None = None) -> Candidate:
        return self._valued(posteriors, after_first_step(team) if self.worlds.alphabet.first else team, origin, now)

    def with_others(self, state: WorldState) -> WorldState:
        """With `others` as candidates."""
        worlds = state.fits.refitted
        others = (self._valued(worlds, team, origin) for origin, team in self.others())
        return state._replace(candidates=(*state.candidates, *others))

    def _valued(self, posteriors: Sequence[Posterior], team: Team, origin: str, now: Now | None = None) -> Candidate:
        return Candidate(team, origin, tuple(self._value(self._world(each), team, now) for each in posteriors))

    def _value(self, world: DecPOMDP, team: Team, now: Now | None = None) -> float:
        """The exact value, which can take minutes: the run may end `now`, in the middle of it."""
        return value_in(self.worlds.alphabet, world, team, None if now is None else now.check)

    def _chosen(self, state: WorldState) -> Candidate:
        """By the draws; before them, by the posterior means."""
        scores, allowed = self.scores(state)[1], self.allowed(state)
        origins = [state.candidates[c].origin for c in allowed]
        return state.candidates[allowed[self.prefer(scores[allowed], origins)]]

    def allowed(self, state: WorldState) -> list[int]:
        """Candidates that may be chosen: small enough, and not PeriEM's or the search's unless clearly better."""
        values, scores = self.scores(state)
        small = small_enough(scores, [candidate.team.nodes for candidate in state.candidates], self.behaviour)
        origins = [state.candidates[c].origin for c in small]
        return [small[c] for c in contenders(values[..., small], self.weights(state), origins)]

    def scores(self, state: WorldState) -> tuple[Floats, Floats]:
        """[k, w, c] values of the candidates and [c] the scores that decide; without draws k is 1."""
        draws, worlds = self.draws(state), len(state.fits.refitted)
        if draws == 0:
            values = np.array([[candidate.values for candidate in state.candidates]]).transpose(0, 2, 1)
        else:
            values = np.array(state.drawn[: draws * worlds]).reshape(draws, worlds, len(state.candidates))
        return values, worse_mean(values, self.weights(state))

    def weights(self, state: WorldState) -> Floats:
        """[w]: how likely every admitted world is to predict best; sums to one."""
        return self.worlds.weights(state.fits)

    @staticmethod
    def draws(state: WorldState) -> int:
        """Draws of every world; 0 if there are too few for a choice."""
        draws = len(state.drawn) // max(1, len(state.fits.refitted))
        return draws if draws >= FEWEST else 0

    def _world(self, posterior: Posterior) -> DecPOMDP:
        """The posterior mean."""
        if id(posterior) not in self._flat:
            self._flat[id(posterior)] = self._made(posterior)
        return self._flat[id(posterior)]

    def _made(self, posterior: Posterior, tables: Tables | None = None) -> DecPOMDP:
        """Cautious unless the posterior is trusted: a team gains nothing from steps that are rare in the episodes."""
        return world_of(self.worlds.alphabet, posterior, tables, "world", cautious=not posterior.trusted)

    def _so_far(self, fits: Fits) -> list[Posterior]:
        """The best world of an unfinished fit."""
        if fits.finished:
            return [self.worlds.best(fits).posterior]
        return [fits.growth.best] if fits.growth is not None and fits.growth.best is not None else []

    def _facts(self, state: WorldState, posteriors: Sequence[Posterior], best: Candidate) -> dict[str, Any]:
        complete = state.phase != FIT and not state.fits.hurried
        low, high = self._ends(state, best) if complete else (None, None)
        surprise = self._surprise(state.fits)
        outside = visits_outside(best.team, posteriors[0], self.worlds.alphabet)
        values = [self.behaviour, *(value for candidate in state.candidates for value in candidate.values)]
        span = max(values) - min(values)
        return {
            "value": best.values[0],
            "low": low,
            "high": high,
            "worlds": len(posteriors),
            "states": posteriors[0].states,
            "memory": int(posteriors[0].form.memory),
            "outside": outside,
            "surprise": surprise[0],
            "complete": complete,
            "planned_by": best.origin,
            "warnings": "; ".join(doubts(self.episodes.agents, complete, best.values, span, surprise, outside)),
        }

    def _ends(self, state: WorldState, best: Candidate) -> tuple[float | None, float | None]:
        """Ends of the interval, if there is enough for one."""
        draws, worlds = self.draws(state), len(state.fits.refitted)
        if not draws or state.likeliest is None or len(state.resampled) < 2:
            return None, None
        place = next(c for c, candidate in enumerate(state.candidates) if candidate is best)
        drawn = np.array([values[place] for values in state.drawn[: draws * worlds]]).reshape(draws, worlds)
        return interval(best.values, drawn, state.resampled, state.likeliest)

    def _surprise(self, fits: Fits) -> tuple[float, float]:
        """Nats a step by which held-out episodes are less likely than the best world expects, and standard errors."""
        if not len(self.worlds.held) or not fits.finished:
            return 0.0, 0.0
        best = self.worlds.best(fits).posterior
        return overconfidence(best, self.worlds.records(best.form, self.worlds.held))

    def _row(self, state: WorldState, event: str, fit: Row | None = None) -> Row:
        """A row of the trace."""
        columns = ("fit", "memory", "joint", "states", "bound", "heldout")
        value = self._chosen(state).values[0] if state.candidates else None
        return {
            "phase": state.phase,
            "event": event,
            **{key: fit[key] if fit else None for key in columns},
            "value": value,
        }


def planning_ends(began: float, now: Now) -> float:
    """The progress at which planning ends, after a time in proportion to that of the fits."""
    if math.isinf(now.seconds):
        return PLANNING
    seconds = now.seconds / max(1 - now.progress, 1e-9)  # of the whole run
    return min(PLANNING, began + max(PLAN_TIME * began, PLAN_SECONDS / max(seconds, 1e-9)))


def behaviour_value(episodes: Episodes) -> float:
    """The value of the behaviour: the mean return, continued with the mean reward where episodes were cut."""
    cut = np.ones(episodes.count, bool) if episodes.terminated is None else ~np.asarray(episodes.terminated)
    ahead = episodes.discount**episodes.lengths * episodes.rewards.mean() / (1 - episodes.discount)
    return float((episodes.returns() + cut * ahead).mean())


def described(origin: str) -> str:
    """The origin of a plan in words: "fb-hsvi rounded in world 0" and so on."""
    planner, world = origin.split(" in world ")
    name = {FB_HSVI: "FB-HSVI", "periem": "PeriEM", "search": "the search"}[planner.removesuffix(" rounded")]
    place = "the likeliest world" if world == "0" else "another world that predicts about as well"
    return f"planned with {name} in {place}{', rounded' * planner.endswith(' rounded')}"


def toy_episodes(count: int = 2) -> Episodes:
    """Forty random episodes of three steps, with `count` agents."""
    rng = np.random.default_rng(0)
    agents = tuple(Agent(f"agent{n}", ("a", "b"), ("o", "p")) for n in range(count))
    seen, did = rng.integers(0, 2, (120, count), np.int16), rng.integers(0, 2, (120, count), np.int16)
    seen[::3] = -1
    unknown = np.full((120, count), np.nan, np.float32)
    return Episodes(agents, np.arange(0, 121, 3), seen, did, unknown, 1.0 * did.sum(1), 0.5)


class _ToyWorld(WorldMethod):
    """Compiles the kernels of the fits."""

    def step(self, state: WorldState, now: Now) -> tuple[WorldState, Row | None]:
        for _ in range(12):
            if state.phase == FIT:
                state, _ = super().step(state, now)
        return state._replace(stopped="converged"), None

    def result(self, state: WorldState) -> tuple[WorldFit, Row | None]:
        return WorldFit(Team.uniform(self.episodes)), None
