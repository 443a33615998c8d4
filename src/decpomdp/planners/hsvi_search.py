"""One run of FB-HSVI: rounds of sketches and trials until the gap is closed, the time is up or the user stops it.

Sketches (`sketching`) raise the lower bound, trials (`points`) lower the upper one. A round has a fixed number of
sketches, each with random numbers of its own, and decisions are taken between rounds: the result depends on the seed
and the number of rounds, not on the threads.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from decpomdp.core import Agent, Controller, DecPOMDP, Team
from decpomdp.core.agent import joint_table
from decpomdp.core.fit import Fit, Row, Watch, unwatched
from decpomdp.engines import threads as engine
from decpomdp.engines.clock import Clock, Finished
from decpomdp.evaluation import exact_value
from decpomdp.planners.central_bound import central_bound
from decpomdp.planners.compression import compress
from decpomdp.planners.decision_rules import game_of, solve
from decpomdp.planners.folding import folded, team_of
from decpomdp.planners.graph_values import ROUGH, Valued, valued
from decpomdp.planners.look_ahead import look_ahead
from decpomdp.planners.occupancy import Rule, dynamics_of, start_of
from decpomdp.planners.points import Edge, Point, Points
from decpomdp.planners.policy_graph import Graph
from decpomdp.planners.sketching import Sketch, Sketcher

SKETCHES = (  # in this order; then again and again, with noise and following the latest trial
    Sketch(4, 0.02, pairs=60),  # a quick look
    Sketch(8, 0.02),
    Sketch(16, 0.08),
    Sketch(16, 0.02),
    Sketch(16, 0.04, ahead=5),
    Sketch(32, 0.08),
    Sketch(8, 0.05, ahead=7),
    Sketch(64, 0.1),
    Sketch(12, 0.02),
)
NOISES = (1e-4, 1e-3, 1e-2)  # of later sketches
WIDEST, WIDER = 12, 3  # labels of a point on a trial for ever, in the first round and more in each later one
DEPTH = 4  # steps of a trial of an infinite horizon in the first round, twice that in the second ...
ROUND = 2  # sketches at a time
TRIALS, NEW_POINTS = 40, 40  # trials after the first round of sketches, at most, and points they may add; then more
CLOSE = 1e-9  # values this close are equal


@dataclass(frozen=True, slots=True, eq=False)
class Incumbent:
    """The best so far."""

    value: float  # exact
    team: Team


class Search:
    """One run."""

    def __init__(
        self,
        model: DecPOMDP,
        horizon: int | None,
        epsilon: float,
        tolerance: float,
        clock: Clock,
        rounds: int | None,
        seed: int,
        threads: int | None,
        watch: Watch,
    ) -> None:
        self.model, self.horizon, self.epsilon, self.tolerance = model, horizon, epsilon, tolerance
        self.clock, self.rounds, self.seed, self.threads, self.watch = clock, rounds, seed, threads, watch
        self.trace: list[Row] = []
        self.iteration = 0
        self.best = Incumbent(exact_value(model, constant(model), horizon).value, constant(model))
        self.upper = math.inf

    def run(self) -> Fit:
        """Search until stopped."""
        begin = self.clock.seconds()
        try:
            with self.clock.hold():
                rehearse(self.model)
            begin = self.clock.seconds()
            self._prepare()
            stopped = self._search()
        except Finished:
            stopped = "time limit"
        except KeyboardInterrupt:
            stopped = "interrupted"
        self._row()
        facts: Row = {
            "method": "fb_hsvi",
            "horizon": self.horizon,
            "epsilon": self.epsilon,
            "tolerance": self.tolerance,
            "time_limit": self.clock.limit,
            "iterations": self.rounds,
            "seed": self.seed,
        }
        return Fit(self.best.team, tuple(self.trace), stopped, self.clock.seconds() - begin, facts)

    def _prepare(self) -> None:
        """The model's entries, the centralised bound, and the first point."""
        model, horizon = self.model, self.horizon
        self.dynamics = dynamics_of(model)
        central = central_bound(model, self.dynamics, horizon)
        sizes = [len(agent.actions) for agent in model.agents]
        start = compress(start_of(model))[0]
        self.points = Points(self.dynamics, central, sizes, model.discount, self.tolerance)
        self.root = self.points.point(start, horizon)
        self.upper = self.root.upper
        self.sketcher = Sketcher(self.dynamics, central, start, sizes, model.discount, horizon)

    def _search(self) -> str:
        """Rounds of sketches and trials until the gap is closed or the rounds are used up."""
        path: list[Edge] = []
        while self.upper - self.best.value > self.epsilon:
            if self.rounds is not None and self.iteration >= self.rounds:
                return "iterations"
            self.iteration += 1
            if self.horizon is None or self.iteration > 1:  # a short finite horizon is solved by trials alone
                self._sketches([edge.rule for edge in path])
                self._row()
            fresh = len(self.points) + NEW_POINTS * self.iteration
            for _ in range(TRIALS * self.iteration):
                if self.upper - self.best.value <= self.epsilon or len(self.points) >= fresh:
                    break
                path = self._trial()
            self._row()
        return "converged"

    def _trial(self) -> list[Edge]:
        """One trial of the certified search; the edges that were followed."""
        depth = math.inf if self.horizon is not None else DEPTH * self.iteration
        path = self.points.trial(self.root, self._open, depth)
        self.upper = min(self.upper, self.root.upper)
        if self.horizon is not None and self.root.lower > self.best.value + CLOSE:
            self._offer(Graph(tuple(self.points.best_layers(self.root)), None))
        return path

    def _open(self, point: Point, earned: float, fade: float) -> bool:
        """Whether going on from a point can still lower the upper bound by what is asked for."""
        self.clock.check()
        wide = WIDEST + WIDER * (self.iteration - 1)
        if point.left == 0 or (point.left is None and max(point.occupancy.counts) > wide):
            return False
        within = fade * (point.upper - point.lower) <= self.epsilon / 2
        return not within and earned + fade * point.upper > self.best.value + self.epsilon / 2

    def _sketches(self, path: list[Rule]) -> None:
        """A round of sketches with their own random numbers; the first round is one quick look."""
        first = 0 if self.iteration == 1 else 1 + (self.iteration - 2) * ROUND
        best = self.best.value

        def sketch(k: int) -> Valued | None:
            again, place = divmod(first + k, len(SKETCHES))
            plan = SKETCHES[place]
            plan = replace(plan, noise=NOISES[(again - 1) % len(NOISES)]) if again else plan
            rng = np.random.default_rng([self.seed, first + k])
            rules = path if again else []
            try:
                if self.horizon is None and plan.ahead:
                    rules = look_ahead(self.model, self.sketcher, plan.ahead, best, self.clock.check)
                return self.sketcher.attempt(plan, rng, rules, self.clock.check)
            except Finished:
                return None

        for one in engine.run(sketch, ROUND if first else 1, self.threads):
            if one is not None and one.value > self.best.value - 10 * ROUGH * max(1.0, abs(one.value)):
                self._offer(one.graph)
        self.clock.check()

    def _offer(self, graph: Graph) -> None:
        """Keep the graph if its exact value is better, or as good with fewer nodes."""
        exact = valued(self.dynamics, self.sketcher.start, graph, self.model.discount).value
        if exact < self.best.value - CLOSE:
            return
        team = team_of(self.model, folded(self.dynamics, self.sketcher.start, graph))
        if exact > self.best.value + CLOSE or sum(team.nodes) < sum(self.best.team.nodes):
            self.best = Incumbent(exact, team)

    def _row(self) -> None:
        row: Row = {
            "seconds": self.clock.seconds(),
            "iteration": self.iteration,
            "lower": self.best.value,
            "upper": self.upper,
            "gap": self.upper - self.best.value,
            "nodes": self.best.team.nodes,
            "points": len(self.points) if hasattr(self, "points") else 0,
        }
        self.trace.append(row)
        self.clock.shown()
        self.watch(row)


def constant(model: DecPOMDP) -> Team:
    """Everyone always takes the first action: something to improve on."""
    return Team.of(
        model,
        [Controller.deterministic([0], [[0] * len(agent.observations)], len(agent.actions)) for agent in model.agents],
    )


def rehearse(model: DecPOMDP) -> None:
    """Compile everything on a tiny problem with as many agents, so that a time limit is for the work alone."""
    agents = tuple(Agent(f"agent{n}", ("0", "1"), ("0", "1")) for n in range(len(model.agents)))
    joint = 2 ** len(agents)
    rng = np.random.default_rng(0)
    tiny = DecPOMDP(
        agents=agents,
        states=("0", "1"),
        start=np.array([0.5, 0.5]),
        transition=rng.dirichlet(np.ones(2), (joint, 2)),
        observation=rng.dirichlet(np.ones(joint), (joint, 2)),
        reward=rng.normal(size=(joint, 2)),
        discount=0.5,
    )
    search = Search(tiny, None, 1e-3, 0.0, Clock(None), 1, 0, 1, unwatched)
    search._prepare()
    search._search()
    counts = (4,) * len(agents)
    hard = game_of(rng.normal(size=(4 ** len(agents), joint)), joint_table(counts), counts, [2] * len(agents))
    solve(hard, nodes=10, exact=False)  # a game that its bound does not settle
