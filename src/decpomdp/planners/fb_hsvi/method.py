"""One run of FB-HSVI: rounds of sketches and trials until the gap is closed, the time is up or the user stops it.

Sketches (`sketching`) raise the lower bound, trials (`points`) lower the upper one; for ever, the best team is a
hyperplane for the trials (`hyperplanes`), and what they promise above it is a better team (`promised`). A round has a
fixed number of sketches, each with random numbers of its own, and decisions are taken between rounds: the result
depends on the seed and the number of rounds, not on the threads. Whatever ends a run, sketches under way hand in the
best they have.
"""

import math
from contextlib import suppress

import numpy as np

from decpomdp.core import DecPOMDP, Fit, Row, Watch
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.sparse import outcome_model
from decpomdp.engines.clock import Finished
from decpomdp.planners.fb_hsvi.bounds import central_bound
from decpomdp.planners.fb_hsvi.compression import compress
from decpomdp.planners.fb_hsvi.folding import folded, team_of
from decpomdp.planners.fb_hsvi.graph_values import ROUGH, Valued, valued
from decpomdp.planners.fb_hsvi.hsvi_sketches import numbers_of, sketch_of
from decpomdp.planners.fb_hsvi.hsvi_state import HsviState, go_on, record_again, state_of
from decpomdp.planners.fb_hsvi.hyperplanes import Hyperplanes
from decpomdp.planners.fb_hsvi.look_ahead import look_ahead
from decpomdp.planners.fb_hsvi.occupancy import Rule, start_of
from decpomdp.planners.fb_hsvi.points import Edge, Point, Points
from decpomdp.planners.fb_hsvi.policy_graph import Graph
from decpomdp.planners.fb_hsvi.promised import promised
from decpomdp.planners.fb_hsvi.sketches import Sketcher
from decpomdp.planners.incumbent import Incumbent, most_possible
from decpomdp.planners.stopping import PlanClock

WIDEST, WIDER = 12, 3  # labels of a point on a trial for ever, in the first round and more in each later one
DEPTH = 4  # steps of a trial of an infinite horizon in the first round, twice that in the second ...
TRIALS, NEW_POINTS = 40, 40  # trials after the first round of sketches, at most, and points they may add; then more
ROUNDING = 1e-12  # relative
CLOSE = 1e-9  # values this close are equal


class Search:
    """One run."""

    def __init__(
        self,
        model: DecPOMDP,
        horizon: int | None,
        gaps: tuple[float, float],  # epsilon, tolerance
        clock: PlanClock,
        rounds: int | None,
        seed: int,
        watch: Watch,
        keeper: Keeper = UNKEPT,
    ) -> None:
        self.keeper = keeper
        self.model, self.horizon, (self.epsilon, self.tolerance) = model, horizon, gaps
        self.clock, self.rounds, self.seed, self.watch = clock, rounds, seed, watch
        self.trace: list[Row] = []
        self.iteration = self.size = 0  # rounds, points
        self.path: list[Rule] = []  # of the latest trial
        self.trials: int | None = None  # of this round; None: it has not come to them
        self.fresh = 0  # points at which they end
        self.incumbent = Incumbent(model, horizon)
        self.upper = most_possible(model, horizon)
        clock.heartbeat = lambda: watch(self._row())

    def run(self) -> Fit:
        """Search until stopped."""
        kept = self.keeper.restore(HsviState)
        if kept is not None:
            record_again(self, kept)
        try:
            self.prepare()
            if kept is not None:
                go_on(self, kept)
            stopped = self.search()
        except Finished:
            stopped = self.clock.why()
        except KeyboardInterrupt:
            self.clock.interrupt()
            stopped = "interrupted"
        with suppress(KeyboardInterrupt):  # it is over anyway
            self._keep()
        facts: Row = {
            "method": "fb_hsvi",
            "horizon": self.horizon,
            "epsilon": self.epsilon,
            "tolerance": self.tolerance,
            "time_limit": self.clock.limit,
            "iterations": self.rounds,
            "seed": self.seed,
        }
        return Fit(self.incumbent.team, tuple(self.trace), stopped, self.clock.seconds(), facts)

    def prepare(self) -> None:
        """Compiled code, the model's entries, the centralised bound, and the first point."""
        from decpomdp.planners.fb_hsvi.hsvi_rehearsal import rehearse  # it is a search itself

        model, horizon, check = self.model, self.horizon, self.clock.check
        self.clock.rehearse(lambda: rehearse(len(model.agents)), self._say)
        check()
        self.dynamics = outcome_model(model)
        central = central_bound(model, self.dynamics, horizon, check=check)
        sizes = [len(agent.actions) for agent in model.agents]
        start = compress(start_of(model))[0]
        self.hyperplanes = Hyperplanes(self.dynamics, model.discount, check)
        self.points = Points(self.dynamics, central, sizes, model.discount, self.tolerance, check, self.hyperplanes)
        self.root = self.points.point(start, horizon)
        self.upper = min(self.upper, self.root.upper)
        self.sketcher = Sketcher(self.dynamics, central, start, sizes, model.discount, horizon)

    def search(self) -> str:
        """Rounds of sketches and trials until the gap is closed or the rounds are used up."""
        while self.gap > self.epsilon:
            if self.trials is None:
                if self.rounds is not None and self.iteration >= self.rounds:
                    return "iterations"
                self.keeper.offer(lambda: state_of(self))
                self._begin_round()
            self._trials()
            self._keep()
        return "converged"

    def _begin_round(self) -> None:
        self.iteration += 1
        if self.horizon is None or self.iteration > 1:  # a short finite horizon is solved by trials alone
            self._sketches(self.path)
            self._keep()
        self.trials, self.fresh = 0, len(self.points) + NEW_POINTS * self.iteration

    def _trials(self) -> None:
        """Up to a number of trials, or of points that they add."""
        for number in range(self.trials or 0, TRIALS * self.iteration):
            if self.gap <= self.epsilon or len(self.points) >= self.fresh:
                break
            self.trials = number
            self.keeper.offer(lambda: state_of(self))
            self.path = [edge.rule for edge in self._trial()]
        self.trials = None

    @property
    def gap(self) -> float:
        """Between the bounds."""
        return self.upper - self.incumbent.value

    def _trial(self) -> list[Edge]:
        """One trial of the certified search; the edges that were followed."""
        depth = math.inf if self.horizon is not None else DEPTH * self.iteration
        if self.horizon is None:
            self.hyperplanes.add(self.incumbent.team)
        before = self.root.lower
        path = self.points.trial(self.root, self._open, depth)
        self.upper, self.size = min(self.upper, self.root.upper), len(self.points)
        if self.root.lower > max(before, self.incumbent.value + CLOSE):
            self._offer_promised()
        return path

    def _offer_promised(self) -> None:
        """Offer the policy that the root's lower bound speaks of."""
        if self.horizon is not None:
            self._offer(Graph(tuple(self.points.best_layers(self.root)), None))
        else:
            graph = promised(self.points, self.hyperplanes, self.root)
            if graph is not None:
                self._offer(graph)

    def _open(self, point: Point, earned: float, fade: float) -> bool:
        """Whether going on from a point can still lower the upper bound by what is asked for."""
        self.clock.check()
        wide = WIDEST + WIDER * (self.iteration - 1)
        if point.left == 0 or (point.left is None and max(point.occupancy.counts) > wide):
            return False
        within = fade * (point.upper - point.lower) <= self.epsilon / 2
        return not within and earned + fade * point.upper > self.incumbent.value + self.epsilon / 2

    def _sketches(self, path: list[Rule]) -> None:
        """A round of sketches with their own random numbers; what was found is offered, the best first."""
        numbers, best = numbers_of(self.iteration), self.incumbent.value

        def sketch(k: int) -> Valued | None:
            plan, again = sketch_of(numbers[k])
            rng = np.random.default_rng([self.seed, numbers[k]])
            found: list[Valued] = []
            rules = path if again else []
            try:
                if self.horizon is None and plan.ahead:
                    rules = look_ahead(self.model, self.sketcher, plan.ahead, best, self.clock.check)
                return self.sketcher.attempt(plan, rng, rules, self.clock.check, found.append)
            except Finished:
                return max(found, key=lambda one: one.value, default=None)

        found = [one for one in self.clock.run(sketch, len(numbers)) if one is not None]
        for one in sorted(found, key=lambda one: -one.value):
            if one.value > self.incumbent.value - 10 * ROUGH * max(1.0, abs(one.value)):
                self._offer(one.graph)
        self.clock.check()

    def _offer(self, graph: Graph) -> None:
        """Keep the graph's team if its exact value is better, or as good with fewer nodes."""
        value = valued(self.dynamics, self.sketcher.start, graph, self.model.discount).value
        if value >= self.incumbent.value - CLOSE:
            self.incumbent.offer(team_of(self.model, folded(self.dynamics, self.sketcher.start, graph)), CLOSE)

    def _keep(self) -> None:
        """A row of the trace."""
        self.trace.append(self._row())
        self.clock.shown()
        self.watch(self.trace[-1])

    def _say(self, phase: str) -> None:
        """News that is no row of the trace."""
        self.clock.shown()
        self.watch({"phase": phase, **self._row()})

    def _row(self) -> Row:
        best = self.incumbent.best
        below = best.value - self.upper  # by rounding alone: the two come from different sums
        upper = best.value if 0 < below <= ROUNDING * max(1.0, abs(best.value)) else self.upper
        return {
            "seconds": self.clock.seconds(),
            "iteration": self.iteration,
            "lower": best.value,
            "upper": upper,
            "gap": upper - best.value,
            "nodes": best.team.nodes,
            "points": self.size,
        }
