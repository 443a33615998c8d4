"""One run of PBVI: iterations of explore, expand, sweep and graph, the best graph and both bounds.

The lower bound that is shown is what the evaluator says of the best graph. The vectors' own is only a reason to draw a
new one.
"""

from contextlib import suppress

import numpy as np

from decpomdp.core import Agent, Controller, DecPOMDP, Row, Team, Watch, unwatched
from decpomdp.core.keeping import UNKEPT, Keeper
from decpomdp.core.sparse import factored_model
from decpomdp.engines import threads as engine
from decpomdp.engines.clock import Finished
from decpomdp.planners.centralised import centralised
from decpomdp.planners.incumbent import Incumbent, most_possible
from decpomdp.planners.pbvi.bounds import Bounds
from decpomdp.planners.pbvi.graph import graph_of, one_action
from decpomdp.planners.pbvi.graph_values import Graph
from decpomdp.planners.pbvi.growth import Growth
from decpomdp.planners.pbvi.policy import AlphaPolicy
from decpomdp.planners.pbvi.state import PbviState, go_on, record_again, state_of
from decpomdp.planners.stopping import PlanClock, RehearsalClock

STILL = 0.01  # of the gap: an iteration that closes less of it moved nothing
PATIENCE = 3  # iterations that move nothing, with a belief set that grows no more, before planning ends


class Pbvi:
    """One run. From the beginning there is a team, a policy and an upper bound, however poor."""

    def __init__(
        self,
        model: DecPOMDP,
        limits: tuple[float, int, int],
        clock: PlanClock,
        seed: int,
        watch: Watch,
        keeper: Keeper = UNKEPT,
    ) -> None:
        self.keeper, self.model, self.clock, self.seed, self.watch = keeper, model, clock, seed, watch
        self.epsilon, self.most, self.largest = limits
        self.trace: list[Row] = []
        self.iteration = self.still = 0  # so far, and those in a row that moved nothing
        self.sizes = (0, 1)  # beliefs, vectors
        self.incumbent = Incumbent(centralised(model))
        self.upper = most_possible(model, None)
        least = float(model.reward.min()) / (1 - model.discount)
        self.policy = AlphaPolicy(np.full((1, len(model.states)), least), np.zeros(1, np.int64))
        clock.heartbeat = lambda: watch(self._row())

    def run(self) -> str:
        """Iterate; says why it ended."""
        kept = self.keeper.restore(PbviState)
        if kept is not None:
            record_again(self, kept)
        try:
            with engine.serial_products():
                self.prepare()
                if kept is not None:
                    go_on(self, kept)
                return self._loop()
        except Finished:
            return self.clock.why()
        except KeyboardInterrupt:
            self.clock.interrupt()
            return "interrupted"
        finally:
            if not self.trace:
                with suppress(KeyboardInterrupt):  # it is over anyway
                    self._tell()

    def prepare(self) -> None:
        """Compiled code, the bounds without beliefs, and the best single action for ever."""
        self.clock.rehearse(rehearse, self._say)
        self.clock.check()
        self.bounds = Bounds(factored_model(self.model), self.model.start, self.clock.threads, self.clock)
        self.growth = Growth(self.bounds, self.epsilon, self.most, self.seed)
        self._offer(one_action(self.bounds, self.model.start))
        self._keep()

    def _loop(self) -> str:
        while self.gap > self.epsilon:
            self.keeper.offer(lambda: state_of(self))
            known, gap = self.bounds.set.count, self.gap
            self.iterate()
            moved = self.gap < (1 - STILL) * gap or known < self.bounds.set.count
            self.still = 0 if moved else self.still + 1
            if self.still == PATIENCE:
                return "beliefs"
        return "converged"

    def iterate(self) -> None:
        """One iteration; the first one is a graph of the vectors that there are."""
        self.iteration += 1
        if self.iteration > 1:
            self.growth.explore()
            self.growth.expand()
            self.growth.sweep()
        if self.iteration == 1 or self.bounds.lower > self.incumbent.value + STILL * self.gap:
            graph = graph_of(self.bounds, self.model.start, self.largest)
            self.bounds.take(graph.values.T, graph.actions)  # values of a policy, whether or not it is the best
            self._offer(graph)
        self._keep()

    def _offer(self, graph: Graph) -> None:
        """Let the evaluator say what a graph that may be better is worth."""
        if graph.value > self.incumbent.value or not self.incumbent.found:
            self.incumbent.offer(team_of(self.incumbent.model, graph))

    def _keep(self) -> None:
        """What there is to show now, and to return whatever happens later."""
        self.upper = max(min(self.upper, self.bounds.upper), self.incumbent.value)  # they may cross by rounding
        self.take_stock()
        self._tell()

    def take_stock(self) -> None:
        """The policy that the vectors are, and how much there is."""
        self.policy = AlphaPolicy(self.bounds.vectors[:, : self.bounds.count].T, self.bounds.actions)
        self.sizes = (self.bounds.set.count, self.bounds.count)

    def _tell(self) -> None:
        self.trace.append(self._row())
        self.clock.shown()
        self.watch(self.trace[-1])

    def _say(self, phase: str) -> None:
        """News that is no row of the trace."""
        self.clock.shown()
        self.watch({"phase": phase, **self._row()})

    @property
    def gap(self) -> float:
        """Between the bounds at the start."""
        return self.upper - self.incumbent.value

    def _row(self) -> Row:
        best = self.incumbent.best
        return {
            "seconds": round(self.clock.seconds(), 3),
            "iteration": self.iteration,
            "lower": best.value,
            "upper": self.upper,
            "gap": self.upper - best.value,
            "nodes": best.team.nodes,
            "points": self.sizes[0],
            "vectors": self.sizes[1],
        }


def team_of(problem: DecPOMDP, graph: Graph) -> Team:
    """A graph as a team of one for the centralised problem."""
    moves = graph.following.tolist()
    return Team.of(problem, [Controller.deterministic(graph.actions.tolist(), moves, problem.joint_actions)])


def rehearse() -> None:
    """Everything once, as small as can be, so that it is compiled."""
    stay, hint = np.tile(np.eye(2), (2, 1, 1)), np.tile([[0.7, 0.3], [0.3, 0.7]], (2, 1, 1))
    agent = Agent("one", ("a", "b"), ("x", "y"))
    tiny = DecPOMDP((agent,), ("s", "t"), np.full(2, 0.5), stay, hint, np.eye(2), 0.5)
    run = Pbvi(tiny, (1e-9, 10, 10), RehearsalClock(), 0, unwatched)
    run.prepare()
    run.growth.expand()  # on its own first: an iteration may find nothing left to expand
    run.iterate()
    run.iterate()
