"""FB-HSVI: heuristic search value iteration over occupancy states, for any number of agents.

Feature-based heuristic search value iteration (Dibangoye, Amato, Buffet, Charpillet 2013, 2014, 2016) treats a
decentralised problem as a deterministic one over occupancy states (`occupancy.py`). A round:

    sketches  greedy policy graphs (some begin with the latest trial's rules), polished and closed (`sketches.py`)
    trials    from the start follow the rule with the best upper bound until the remaining gap is small; then back up
              the bounds of the visited points in reverse (`points.py`)

Sketches raise the lower bound, trials lower the upper one. With an infinite horizon the best team is a hyperplane for
the trials (`hyperplanes.py`), and a lower bound above its value yields a better team (`policy_from_bounds`). The lower
bound is the exact value of the returned team. The upper bound does not depend on the sketches.
docs/planners.md separates proofs, approximations and measurements.

A step is the sketches of a round or some trials. The number of sketches is fixed, and each has its own random numbers:
the result depends on the seed and the number of rounds, not on threads. Interrupted sketches return their best graph.
"""

import math
from typing import NamedTuple

import numpy as np

from decpomdp.core import DecPOMDP, Fit, InputError, Row, Team
from decpomdp.core.agent import joint_table
from decpomdp.core.run import Cut, Inputs, Now, unlimited
from decpomdp.core.sparse import outcome_model
from decpomdp.engines import threads as engine
from decpomdp.planners.common import ValuedTeam, check_model, first_team, toy_model, trivial_upper_bound, valued
from decpomdp.planners.fb_hsvi.bounds import central_bound
from decpomdp.planners.fb_hsvi.hyperplanes import Hyperplanes
from decpomdp.planners.fb_hsvi.occupancy import Rule, compress, start_of
from decpomdp.planners.fb_hsvi.points import OccupancyPoint, OccupancyPoints, policy_from_bounds
from decpomdp.planners.fb_hsvi.policy_graph import ROUGH, GraphValues, LayeredGraph, evaluate_graph, folded_team
from decpomdp.planners.fb_hsvi.rules import game_of, solve
from decpomdp.planners.fb_hsvi.settings import FbHsvi
from decpomdp.planners.fb_hsvi.sketches import Sketcher, look_ahead, sketch_numbered, sketches_of_round

ROUNDS = 100  # if neither the time nor the number of rounds is limited
WIDEST, WIDER = 12, 3  # labels of a point on a trial of an infinite horizon: in the first round, more in each later one
DEPTH = 4  # steps of a trial of an infinite horizon in the first round, twice that in the second ...
TRIALS, NEW_POINTS = 40, 40  # trials and new points in the first round, at most; twice that in the second ...
TOGETHER = 5  # trials of a step, at most
ROUNDING = 1e-12  # relative
CLOSE = 1e-9  # values this close are equal


class FbHsviState(NamedTuple):
    """The state between two steps. Steps change `points` in place; models and games are not part of it."""

    best: ValuedTeam
    upper: float
    points: list[OccupancyPoint]  # the first is the root; empty before the first step
    path: list[Rule]  # of the latest trial
    hyperplanes: list[Team]
    hyperplanes_added: int = 0
    round: int = 0  # the current one, counted from 1
    trials: int | None = None  # done in this round; None: before its sketches
    most_points: int = 0  # number of points at which this round's trials end
    visited: int = 0  # points after the latest trial
    steps: int = 0
    iterations: int = 0  # finished rounds
    stopped: str = ""

    @property
    def gap(self) -> float:
        return self.upper - self.best.value


class FbHsviMethod:
    """Runs `fb-hsvi` on a model."""

    state: type = FbHsviState

    def __init__(self, model: DecPOMDP, settings: FbHsvi, inputs: Inputs) -> None:
        if settings.horizon is None and model.discount >= 1:
            raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}; give a horizon")
        check_model(model, settings.horizon)
        self.model, self.settings, self.inputs = model, settings, inputs
        self.horizon, self.epsilon = settings.horizon, settings.epsilon
        self.best: ValuedTeam = valued(model, first_team(model), settings.horizon)
        self.now = unlimited()  # of the current step
        self.sketcher: Sketcher | None = None  # created in the first step
        self.points: OccupancyPoints | None = None  # the graph of the state's points

    def toy(self) -> "FbHsviMethod":
        return _ToyFbHsvi(toy_model(len(self.model.agents)), FbHsvi(epsilon=1e-3), Inputs(threads=1))

    def init(self, now: Now) -> FbHsviState:
        return FbHsviState(self.best, trivial_upper_bound(self.model, self.horizon), [], [], [])

    def step(self, state: FbHsviState, now: Now) -> tuple[FbHsviState, Row | None]:
        """The sketches of a round, or some trials."""
        self.now, self.best = now, state.best
        sketcher = self._sketcher()
        points = self._points(state, sketcher)
        if not state.points:
            root = points.point(sketcher.start, self.horizon)
            state = state._replace(upper=min(state.upper, root.upper))
            if state.gap <= self.epsilon:
                return state._replace(stopped="converged"), None
        if state.trials is None:
            return self._begin_round(state, sketcher)
        for _ in range(TOGETHER):
            if self._round_over(state):
                break
            try:
                state = self._trial(state, points)
            except Cut:  # the trials before it count
                return state, None
        return self._end_round(state) if self._round_over(state) else (state, None)

    def result(self, state: FbHsviState) -> tuple[Fit, Row]:
        row = row_of(state)
        return Fit(state.best.team, facts={name: row[name] for name in ("lower", "upper")}), row

    def check(self) -> None:
        if self.now.stop[0]:
            raise Cut

    def _sketcher(self) -> Sketcher:
        if self.sketcher is None:
            model, dynamics = self.model, outcome_model(self.model)
            central = central_bound(model, dynamics, self.horizon, check=self.check)
            start = compress(start_of(model))[0]
            self.sketcher = Sketcher(dynamics, central, start, self.horizon, self.check)
        return self.sketcher

    def _points(self, state: FbHsviState, made: Sketcher) -> OccupancyPoints:
        """The graph of the state's points; rebuilt after a resume."""
        if self.points is None or self.points.all is not state.points:
            hyperplanes = Hyperplanes(made.dynamics, self.check)
            hyperplanes.restore(state.hyperplanes, state.hyperplanes_added)
            tolerance = self.settings.tolerance
            self.points = OccupancyPoints(made.dynamics, made.central, tolerance, self.check, hyperplanes, state.points)
        return self.points

    def _begin_round(self, state: FbHsviState, sketcher: Sketcher) -> tuple[FbHsviState, Row | None]:
        number = state.round + 1
        begun = state._replace(round=number, trials=0, most_points=len(state.points) + NEW_POINTS * number)
        if self.horizon is not None and number == 1:  # trials alone solve a short finite horizon
            return begun, None
        self._sketches(number, state.path, sketcher)
        begun = begun._replace(best=self.best)
        return begun, row_of(begun)

    def _round_over(self, state: FbHsviState) -> bool:
        trials = state.trials or 0
        return (
            state.gap <= self.epsilon or len(state.points) >= state.most_points or trials >= TRIALS * state.round
        )  # fmt: skip

    def _end_round(self, state: FbHsviState) -> tuple[FbHsviState, Row]:
        stopped = "converged" if state.gap <= self.epsilon else ""
        if not stopped and state.round >= ROUNDS and math.isinf(self.now.seconds) and math.isinf(self.now.iterations):
            stopped = "iterations"
        state = state._replace(trials=None, iterations=state.round, stopped=stopped)
        return state, row_of(state)

    def _trial(self, state: FbHsviState, points: OccupancyPoints) -> FbHsviState:
        """One trial of the certified search; if it raised the lower bound, this may yield a better team."""
        root, depth = state.points[0], math.inf
        if self.horizon is None:
            depth = DEPTH * state.round
            points.hyperplanes.add(self.best.team)
        wide, before = WIDEST + WIDER * (state.round - 1), root.lower

        def is_open(point: OccupancyPoint, earned: float, fade: float) -> bool:
            """Whether a continuation from the point can still lower the upper bound enough."""
            self.check()
            if point.left == 0 or (point.left is None and max(point.occupancy.counts) > wide):
                return False
            within = fade * (point.upper - point.lower) <= self.epsilon / 2
            return not within and earned + fade * point.upper > self.best.value + self.epsilon / 2

        path = [edge.rule for edge in points.trial(root, is_open, depth)]
        if root.lower > max(before, self.best.value + CLOSE):
            graph = policy_from_bounds(points, root)
            if graph is not None:
                self._offer(graph)
        return state._replace(
            best=self.best,
            upper=min(state.upper, root.upper),
            path=path,
            hyperplanes=points.hyperplanes.teams,
            hyperplanes_added=points.hyperplanes.added,
            trials=(state.trials or 0) + 1,
            visited=len(state.points),
        )

    def _sketches(self, number: int, path: list[Rule], sketcher: Sketcher) -> None:
        """Run the sketches of a round on threads; offer their graphs, the best first."""
        numbers, best = sketches_of_round(number), self.best.value

        def sketch(k: int) -> GraphValues | None:
            plan, repeated = sketch_numbered(numbers[k])
            rng = np.random.default_rng([self.inputs.seed, numbers[k]])
            closed: list[GraphValues] = []
            rules = path if repeated else []
            try:
                if self.horizon is None and plan.ahead:
                    rules = look_ahead(self.model, sketcher, plan.ahead, best)
                return sketcher.attempt(plan, rng, rules, closed.append)
            except Cut:
                return max(closed, key=lambda one: one.value, default=None)

        results = [one for one in engine.run(sketch, len(numbers), self.inputs.threads) if one is not None]
        for one in sorted(results, key=lambda one: -one.value):
            if one.value > self.best.value - 10 * ROUGH * max(1.0, abs(one.value)):
                self._offer(one.graph)

    def _offer(self, graph: LayeredGraph) -> None:
        """Keep the team of the graph if its exact value is better, or equal with fewer nodes."""
        dynamics, start = self._sketcher().dynamics, self._sketcher().start
        value = evaluate_graph(dynamics, start, graph).value
        old = self.best
        if value >= old.value - CLOSE:
            new = valued(self.model, folded_team(self.model, dynamics, start, graph), self.horizon)
            smaller = new.value >= old.value - CLOSE and sum(new.team.nodes) < sum(old.team.nodes)
            self.best = new if new.value > old.value + CLOSE or smaller else old


def row_of(state: FbHsviState) -> Row:
    """A row of the trace."""
    lower, upper = state.best.value, state.upper
    if 0 < lower - upper <= ROUNDING * max(1.0, abs(lower)):  # rounding: the two come from different sums
        upper = lower
    return {
        "iteration": state.round,
        "lower": lower,
        "upper": upper,
        "gap": upper - lower,
        "nodes": state.best.team.nodes,
        "points": state.visited,
    }


class _ToyFbHsvi(FbHsviMethod):
    """Compiles everything in one step: a complete round, and a game that needs the search."""

    def step(self, state: FbHsviState, now: Now) -> tuple[FbHsviState, Row | None]:
        while not (state.iterations or state.stopped):
            state, _ = super().step(state, now)
        agents = len(self.model.agents)
        counts, rng = (4,) * agents, np.random.default_rng(0)
        hard = game_of(rng.normal(size=(4**agents, 2**agents)), joint_table(counts), counts, [2] * agents)
        solve(hard, nodes=10)
        return state._replace(stopped="converged"), None
