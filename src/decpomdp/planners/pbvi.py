"""Point-based value iteration on the centralised problem (Pineau, Gordon, Thrun 2003).

One agent sees every joint observation and takes the joint actions. Its beliefs are bounded from below by vectors and
from above by a sawtooth; both bounds are backed up at the beliefs of a set that grows. One iteration:

  explore  walks from the start along the action that the upper bound prefers and the observation after which the bounds
           are furthest apart (Smith and Simmons 2004), backed up on the way home
  expand   the successor furthest from the set, for every belief of the set whose bounds still differ (Pineau et al.)
  sweep    backs up both bounds at the whole set, deepest beliefs first
  graph    turns the vectors into a policy graph; its exact values are vectors again

The result is the best policy graph, a one-agent team for `centralised(model)`. The upper bound holds for every team.
"""

from dataclasses import dataclass, field

import numpy as np

from decpomdp.core import Controller, DecPOMDP, Fit, InputError, Row, Team, Watch, checks, unwatched
from decpomdp.engines import threads as engine
from decpomdp.engines.clock import Clock, Finished
from decpomdp.kernels import beliefs as kernels
from decpomdp.planners.centralised import centralised
from decpomdp.planners.pbvi_beliefs import Floats, Whole, dynamics_of
from decpomdp.planners.pbvi_bounds import Bounds
from decpomdp.planners.pbvi_graph import graph_of, one_action

WALKS = 16  # explored in an iteration
EXPANDED = 256  # beliefs whose successors are looked at in an iteration, at most
STEPS = 200  # of a walk, at most
CIRCLES = 5  # times that a walk may come back to a belief it has been at
TABLE = 8_000_000  # numbers in the controller of the result, which is held as a dense table [i, a, o, j]
STILL = 0.01  # of the gap: an iteration that closes less of it moved nothing
PATIENCE = 3  # iterations that move nothing, with a belief set that grows no more, before planning ends


@dataclass(frozen=True, slots=True)
class AlphaPolicy:
    """What to do at any belief: the action of the vector that is worth most there."""

    vectors: Floats  # [i, s] each at most the value of a policy that begins with its action
    actions: Whole  # [i] joint action

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "vectors", checks.array("vectors", self.vectors, "i, s", (None, None), np.float64))
        put(self, "actions", checks.array("actions", self.actions, "i", (len(self.vectors),), np.int64))


@dataclass(frozen=True, slots=True)
class PbviFit(Fit):
    """A fit with the vectors it came from. `team` is a policy graph: one agent, for `centralised(model)`."""

    policy: AlphaPolicy = field(kw_only=True)
    lower: float = field(kw_only=True)
    upper: float = field(kw_only=True)


def pbvi(
    model: DecPOMDP,
    *,
    epsilon: float = 0.01,
    beliefs: int = 5000,
    nodes: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
) -> PbviFit:
    """Plan for one agent that sees and does everything, until the bounds at the start are `epsilon` apart.

    At most `beliefs` beliefs are kept, and the policy graph has at most `nodes` nodes (default: as many as a dense
    controller of moderate size can have). A time limit or an interrupt (Ctrl-C) returns the best so far.
    """
    if model.discount >= 1:
        raise InputError(f"pbvi: expected a discount below 1, got {model.discount}")
    if not (isinstance(epsilon, int | float) and epsilon > 0):
        raise InputError(f"epsilon: expected a number above 0, got {epsilon!r}")
    if time_limit is not None and not time_limit >= 0:
        raise InputError(f"time_limit: expected a number of at least 0, got {time_limit}")
    largest = _largest(model) if nodes is None else checks.whole("nodes", nodes, 1, 100_000)
    limits = (float(epsilon), checks.whole("beliefs", beliefs, 1, 10_000_000), largest)
    checks.whole("seed", seed, 0, 2**64 - 1)
    clock = Clock(time_limit)
    with engine.serial_products():
        with clock.hold():
            _rehearse()
        run = Pbvi(model, limits, seed, threads, clock, watch)
        stopped = run.run()
    settings: Row = {"method": "pbvi", "seed": seed, "time_limit": time_limit, "epsilon": epsilon, "beliefs": beliefs}
    return PbviFit(
        team=run.team(),
        trace=tuple(run.trace),
        stopped=stopped,
        seconds=clock.seconds(),
        settings={**settings, "nodes": largest},
        policy=run.policy,
        lower=run.graph.value,
        upper=run.upper,
    )


class Pbvi:
    """One run."""

    def __init__(
        self,
        model: DecPOMDP,
        limits: tuple[float, int, int],
        seed: int,
        threads: int | None,
        clock: Clock,
        watch: Watch,
    ) -> None:
        self.model, self.clock, self.watch, self.threads = model, clock, watch, threads
        self.epsilon, self.most, self.largest = limits
        self.rng = np.random.default_rng(seed)
        self.trace: list[Row] = []
        self.iteration = 0
        self.bounds = Bounds(dynamics_of(model), model.start, threads, clock)
        self.graph = one_action(self.bounds, model.start)
        self._keep()
        clock.heartbeat = lambda: watch(self._row())

    def run(self) -> str:
        """Iterate; says why it ended."""
        still = 0
        try:
            while self.gap > self.epsilon:
                known, gap = self.bounds.set.count, self.gap
                self._iterate()
                moved = self.gap < (1 - STILL) * gap or known < self.bounds.set.count
                still = 0 if moved else still + 1
                if still == PATIENCE:
                    return "beliefs"
        except Finished:
            return "time limit"
        except KeyboardInterrupt:
            return "interrupted"
        return "converged"

    def _iterate(self) -> None:
        self.iteration += 1
        if self.iteration > 1:  # the first one is a graph of the vectors that there are
            for _ in range(WALKS):
                self._explore()
            self._expand()
            self._sweep()
        if self.iteration == 1 or self.bounds.lower > self.graph.value + STILL * self.gap:
            self._draw()
        self._keep()

    def _draw(self) -> None:
        """A new policy graph. Its values serve as vectors, whether or not it is the best."""
        graph = graph_of(self.bounds, self.model.start, self.largest)
        self.bounds.take(graph.values.T, graph.actions)
        if graph.value > self.graph.value:
            self.graph = graph

    def _keep(self) -> None:
        """What there is to show now, and to return whatever happens later."""
        self.upper = max(self.bounds.upper, self.graph.value)  # they may cross by rounding
        self.policy = AlphaPolicy(self.bounds.vectors[:, : self.bounds.count].T, self.bounds.actions)
        self.trace.append(self._row())
        self.clock.shown()
        self.watch(self.trace[-1])

    @property
    def gap(self) -> float:
        """Between the bounds at the start."""
        return self.upper - self.graph.value

    def _row(self) -> Row:
        return {
            "seconds": round(self.clock.seconds(), 3),
            "iteration": self.iteration,
            "lower": self.graph.value,
            "upper": self.upper,
            "gap": self.gap,
            "nodes": (self.graph.nodes,),
            "points": self.bounds.set.count,
            "vectors": self.bounds.count,
        }

    def _explore(self) -> None:
        """Walk where the bounds are furthest apart, and back them up on the way home."""
        path = [0]
        for step in range(1, STEPS):
            self.clock.check()
            belief, excess = self._ahead(path[-1], step)
            full = self.bounds.set.count >= self.most and self.bounds.set.place(*belief) is None
            if excess <= 0 or full or len(path) - len(set(path)) > CIRCLES:
                break
            path += self.bounds.add([belief], [step])
        for p in dict.fromkeys(reversed(path)):
            self.bounds.back_up(np.array([p]))

    def _ahead(self, p: int, step: int) -> tuple[tuple[Whole, Floats], float]:
        bounds, states = self.bounds, len(self.model.states)
        target = float(self._allowed(np.array(step)))
        out: tuple[Whole, Floats] = np.empty(states, np.int64), np.empty(states)
        size, excess = kernels.toward(
            bounds.dynamics, bounds.vectors, bounds.count, bounds.points, *bounds.set.belief(p), target, *out
        )
        return (out[0][:size], out[1][:size]), excess

    def _allowed(self, depth: Whole) -> Floats:
        """The gap that a belief so many steps from the start may have."""
        with np.errstate(over="ignore", divide="ignore"):
            return self.epsilon * np.float64(self.model.discount) ** -depth.astype(np.float64)

    def _open(self) -> Floats:
        """[p]: how much further apart the bounds are than they may be."""
        belief = self.bounds.set
        _, lower = self.bounds.best(np.arange(belief.count))
        return self.bounds.value - lower - self._allowed(belief.depth)

    def _expand(self) -> None:
        """For every belief whose bounds still differ: its successor that is furthest from the set."""
        excess, belief = self._open(), self.bounds.set
        room = min(EXPANDED, self.most - belief.count)
        chosen = np.argsort(-excess, kind="stable")[: max(0, room)]
        chosen = chosen[excess[chosen] > 0]
        chances = self.rng.random((len(chosen), self.model.joint_actions))
        found = engine.run(lambda k: self._furthest(int(chosen[k]), chances[k]), len(chosen), self.threads)
        new = [
            (one, int(belief.depth[p]) + 1) for (one, distance), p in zip(found, chosen, strict=True) if distance > 0
        ]
        self.bounds.add([one for one, _ in new], [depth for _, depth in new])

    def _furthest(self, p: int, chances: Floats) -> tuple[tuple[Whole, Floats], float]:
        self.clock.check()
        states, weights = np.empty(len(self.model.states), np.int64), np.empty(len(self.model.states))
        size, distance = kernels.furthest(self.bounds.dynamics, self.bounds.points, p, chances, states, weights)
        return (states[:size], weights[:size]), distance

    def _sweep(self) -> None:
        """Back up every belief whose bounds still differ, deepest first."""
        excess = self._open()
        for layer in self.bounds.set.layers():
            chosen = layer[excess[layer] > 0]
            if len(chosen):
                self.bounds.back_up(chosen)
        self.bounds.settle()

    def team(self) -> Team:
        """The best graph as a team of one."""
        problem, graph = centralised(self.model), self.graph
        moves = graph.following.tolist()
        return Team.of(problem, [Controller.deterministic(graph.actions.tolist(), moves, problem.joint_actions)])


def _largest(model: DecPOMDP) -> int:
    return max(1, int((TABLE / (model.joint_actions * model.joint_observations)) ** 0.5))


def _rehearse() -> None:
    """Everything once, as small as can be, so that it is compiled."""
    from decpomdp.core import Agent

    stay, hint = np.tile(np.eye(2), (2, 1, 1)), np.tile([[0.7, 0.3], [0.3, 0.7]], (2, 1, 1))
    agent = Agent("one", ("a", "b"), ("x", "y"))
    tiny = DecPOMDP((agent,), ("s", "t"), np.full(2, 0.5), stay, hint, np.eye(2), 0.5)
    run = Pbvi(tiny, (1e-9, 10, 10), 0, 1, Clock(None), unwatched)
    run._expand()  # on its own first: an iteration may find nothing left to expand
    run._iterate()
    run._iterate()
