"""Point-based value iteration on the centralised problem (Pineau, Gordon, Thrun 2003).

One agent sees every joint observation and takes the joint actions. Its beliefs are bounded from below by vectors and
from above by a sawtooth; both bounds are backed up at the beliefs of a set that grows. One iteration:

  explore  walks from the start along the action with the best upper bound and the observation after which the gap is
           largest (Smith and Simmons 2004), backed up in reverse
  expand   adds the successor furthest from the set, for every belief with a gap (Pineau et al.)
  sweep    backs up both bounds at all beliefs with a gap, deepest first
  graph    turns the vectors into a policy graph; its exact values are vectors again

A belief that is t steps from the start may have a gap of epsilon / discount^t; only a larger one counts.

The result is the best policy graph, a one-agent team for `centralised(model)`, with its exact value: the lower bound in
the trace. The upper bound holds for every team. The bounds are in `bounds.py`, the graph in
`graph.py`. Steps before the first iteration compute the bounds without beliefs.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from decpomdp.core import Agent, Controller, DecPOMDP, Fit, Row, Team, checks
from decpomdp.core.run import Inputs, Now
from decpomdp.core.sparse import factored_model
from decpomdp.engines import threads as engine
from decpomdp.kernels import beliefs as kernels
from decpomdp.kernels.model import FactoredModel
from decpomdp.planners.common import centralised, check_model, first_team, trivial_upper_bound, valued
from decpomdp.planners.pbvi.bounds import Bounds, BoundsState, Floats, Ints, first_bounds, informed_iteration
from decpomdp.planners.pbvi.graph import PolicyGraph, graph_of, one_action
from decpomdp.planners.pbvi.settings import Pbvi

TABLE = 8_000_000  # numbers in the controller of the result, a dense table [i, a, o, j]
INFORMED = 300  # most iterations of the informed bound: they are costly, and points improve it where it matters
INFORMED_SHARE = 0.1  # of the budget may be spent on the informed bound
STILL = 0.01  # of the gap: an iteration that closes less of it made no progress
PATIENCE = 3  # iterations in a row without progress or new beliefs, after which planning ends
WALKS = 16  # per iteration
EXPANDED = 256  # most beliefs added by an expansion
STEPS = 200  # most steps of a walk
CIRCLES = 5  # most returns of a walk to beliefs that it has visited


@dataclass(frozen=True, slots=True)
class AlphaPolicy:
    """A policy on beliefs: the action of the best vector."""

    vectors: Floats  # [i, s] each at most the value of a policy that begins with its action
    actions: Ints  # [i] joint action

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


class PbviState(NamedTuple):
    """The state between two steps; the arrays of the bounds grow in place."""

    team: Team  # the best so far
    value: float  # of the team
    upper: float
    rng: np.random.Generator
    bounds: BoundsState | None = None  # None before the first step
    informed: int = 0  # iterations of the informed bound
    prepared: bool = False  # whether those are finished
    idle: int = 0  # iterations without progress, in a row
    steps: int = 0
    iterations: int = 0
    stopped: str = ""

    @property
    def gap(self) -> float:
        return self.upper - self.value

    def row(self) -> Row:
        return {
            "iteration": self.iterations,
            "lower": self.value,
            "upper": self.upper,
            "gap": self.gap,
            "nodes": self.team.nodes,
            "points": 0 if self.bounds is None else len(self.bounds.beliefs.depth),
            "vectors": 1 if self.bounds is None else self.bounds.used,
        }


class PbviMethod:
    """`pbvi` on a model."""

    state: type = PbviState

    def __init__(self, model: DecPOMDP, settings: Pbvi, inputs: Inputs) -> None:
        check_model(model)
        self.model, self.settings, self.inputs = model, settings, inputs
        self.problem = centralised(model)
        dense = max(1, int((TABLE / (model.joint_actions * model.joint_observations)) ** 0.5))
        self.nodes = dense if settings.nodes is None else settings.nodes

    @cached_property
    def dynamics(self) -> FactoredModel:
        return factored_model(self.model)

    def toy(self) -> "PbviMethod":
        stay, hint = np.tile(np.eye(2), (2, 1, 1)), np.tile([[0.7, 0.3], [0.3, 0.7]], (2, 1, 1))
        agent = Agent("one", ("a", "b"), ("x", "y"))
        model = DecPOMDP((agent,), ("s", "t"), np.full(2, 0.5), stay, hint, np.eye(2), 0.5)
        return _ToyPbvi(model, Pbvi(epsilon=1e-9, beliefs=10, nodes=10), Inputs(threads=1))

    def init(self, now: Now) -> PbviState:
        first = valued(self.problem, first_team(self.problem))
        upper = trivial_upper_bound(self.model, None)
        return PbviState(first.team, first.value, upper, np.random.default_rng(self.inputs.seed))

    def step(self, state: PbviState, now: Now) -> tuple[PbviState, Row | None]:
        """One iteration; before the first one, the bounds without beliefs, then iterations of the informed bound."""
        bounds = state.bounds
        if bounds is None:
            return self._first(state, now), None
        if state.prepared:
            state = self._iterated(state, self._opened(bounds, now))
        else:
            state = self._informed(state, bounds, now)
        return state, state.row() if state.prepared else None

    def result(self, state: PbviState) -> tuple[PbviFit, Row | None]:
        """The best team, and the policy of the vectors."""
        if state.bounds is None:
            least = float(self.model.reward.min()) / (1 - self.model.discount)
            policy = AlphaPolicy(np.full((1, len(self.model.states)), least), np.zeros(1, np.int64))
        else:
            policy = AlphaPolicy(state.bounds.vectors[:, : state.bounds.used].T, state.bounds.actions)
        facts = {"max_nodes": self.nodes, "informed_iterations": state.informed}
        fit = PbviFit(state.team, facts=facts, policy=policy, lower=state.value, upper=state.upper)
        return fit, None if state.prepared else state.row()

    def _first(self, state: PbviState, now: Now) -> PbviState:
        """The bounds without beliefs, and the best single action as a team."""
        with engine.serial_products():
            bounds = self._opened(first_bounds(self.dynamics, self.model.start, now), now)
            state = self._offered(state, one_action(bounds, self.model.start))
            return self._closed(state, bounds)

    def _informed(self, state: PbviState, before: BoundsState, now: Now) -> PbviState:
        table, imprecise = informed_iteration(self.dynamics, before.informed, self.inputs.threads, now)
        after = before._replace(informed=table, corner=table.max(axis=1), value=np.zeros(0))
        count = state.informed + 1
        prepared = not imprecise or count == INFORMED or now.progress > INFORMED_SHARE
        state = state._replace(upper=trivial_upper_bound(self.model, None), informed=count, prepared=prepared)
        state = self._closed(state, self._opened(after, now))
        converged = prepared and state.gap <= self.settings.epsilon
        return state._replace(stopped="converged" if converged else "")

    def _iterated(self, state: PbviState, bounds: Bounds) -> PbviState:
        """One iteration; the first one only makes a graph of the vectors."""
        known, gap = bounds.set.count, state.gap
        with engine.serial_products():
            if state.iterations > 0:
                growth = BeliefGrowth(bounds, self.settings.epsilon, self.settings.beliefs, state.rng)
                growth.explore()
                growth.expand()
                growth.sweep()
            if state.iterations == 0 or bounds.lower > state.value + STILL * state.gap:
                graph = graph_of(bounds, self.model.start, self.nodes)
                bounds.append(graph.values.T, graph.actions)  # values of a policy: vectors of the lower bound
                if graph.value > state.value:
                    state = self._offered(state, graph)
            state = self._closed(state, bounds)
        progress = state.gap < (1 - STILL) * gap or known < bounds.set.count
        idle = 0 if progress else state.idle + 1
        converged = "converged" if state.gap <= self.settings.epsilon else ""
        return state._replace(
            idle=idle, iterations=state.iterations + 1, stopped="beliefs" if idle == PATIENCE else converged
        )

    def _offered(self, state: PbviState, graph: PolicyGraph) -> PbviState:
        """The state, with the graph as its team if the exact value is better."""
        new = valued(self.problem, team_of(self.problem, graph))
        return state._replace(team=new.team, value=new.value) if new.value > state.value else state

    def _opened(self, state: BoundsState, now: Now) -> Bounds:
        return Bounds(self.dynamics, state, self.inputs.threads, now)

    def _closed(self, state: PbviState, bounds: Bounds) -> PbviState:
        upper = max(min(state.upper, bounds.upper), state.value)  # they may cross by rounding
        return state._replace(upper=upper, bounds=bounds.state())


class BeliefGrowth:
    """Growth of the belief set to `most` beliefs, and backups, until the gap at the start is `epsilon`."""

    def __init__(self, bounds: Bounds, epsilon: float, most: int, rng: np.random.Generator) -> None:
        self.bounds, self.epsilon, self.most, self.rng = bounds, epsilon, most, rng
        self.joint, self.states = bounds.model.reward.shape

    def explore(self) -> None:
        """Walks along the largest gaps, backed up in reverse."""
        for _ in range(WALKS):
            path = [0]
            for step in range(1, STEPS):
                self.bounds.now.check()
                belief, excess = self._ahead(path[-1], step)
                full = self.bounds.set.count >= self.most and self.bounds.set.place(*belief) is None
                if excess <= 0 or full or len(path) - len(set(path)) > CIRCLES:
                    break
                path += self.bounds.add([belief], [step])
            for p in dict.fromkeys(reversed(path)):
                self.bounds.back_up(np.array([p]))

    def expand(self) -> None:
        """Add the successor that is furthest from the set, for beliefs with a gap."""
        excess, belief = self._excess(), self.bounds.set
        most = max(0, min(EXPANDED, self.most - belief.count))
        chosen = np.argsort(-excess, kind="stable")[:most]
        chosen = chosen[excess[chosen] > 0]
        chances = self.rng.random((len(chosen), self.joint))
        furthest = engine.run(lambda k: self._furthest(int(chosen[k]), chances[k]), len(chosen), self.bounds.threads)
        new = [
            (one, int(belief.depth[p]) + 1) for (one, distance), p in zip(furthest, chosen, strict=True) if distance > 0
        ]
        self.bounds.add([one for one, _ in new], [depth for _, depth in new])

    def sweep(self) -> None:
        """Back up every belief with a gap, deepest first."""
        excess = self._excess()
        for layer in self.bounds.set.layers():
            chosen = layer[excess[layer] > 0]
            if len(chosen):
                self.bounds.back_up(chosen)
        self.bounds.prune()

    def _ahead(self, p: int, step: int) -> tuple[tuple[Ints, Floats], float]:
        """The next belief of a walk, and the excess of its gap."""
        bounds = self.bounds
        target = float(self._allowed(np.array(step)))
        out: tuple[Ints, Floats] = np.empty(self.states, np.int64), np.empty(self.states)
        size, excess = kernels.toward(
            bounds.model, bounds.vectors, bounds.count, bounds.points, *bounds.set.belief(p), target, *out
        )
        return (out[0][:size], out[1][:size]), excess

    def _furthest(self, p: int, chances: Floats) -> tuple[tuple[Ints, Floats], float]:
        self.bounds.now.check()
        states, weights = np.empty(self.states, np.int64), np.empty(self.states)
        size, distance = kernels.furthest(self.bounds.model, self.bounds.points, p, chances, states, weights)
        return (states[:size], weights[:size]), distance

    def _allowed(self, depth: Ints) -> Floats:
        """The gap that a belief at this depth may have."""
        with np.errstate(over="ignore", divide="ignore"):
            return self.epsilon * np.float64(self.bounds.model.discount) ** -depth.astype(np.float64)

    def _excess(self) -> Floats:
        """[p]: the gap of every belief beyond the allowed one."""
        belief = self.bounds.set
        _, lower = self.bounds.best(np.arange(belief.count))
        return self.bounds.value - lower - self._allowed(belief.depth)


def team_of(problem: DecPOMDP, graph: PolicyGraph) -> Team:
    """A graph as a one-agent team for the centralised problem."""
    moves = graph.following.tolist()
    return Team.of(problem, [Controller.deterministic(graph.actions.tolist(), moves, problem.joint_actions)])


class _ToyPbvi(PbviMethod):
    """Compiles everything in its first step."""

    def step(self, state: PbviState, now: Now) -> tuple[PbviState, Row | None]:
        """One iteration; before the first one, the bounds without beliefs, then iterations of the informed bound."""
        while not state.prepared:
            state, _ = super().step(state, now)
        if state.bounds is not None and state.iterations == 0:
            bounds = self._opened(state.bounds, now)
            BeliefGrowth(bounds, self.settings.epsilon, self.settings.beliefs, state.rng).expand()
            state = self._closed(state, bounds)
        while state.iterations < 2:
            state, _ = super().step(state, now)
        return state, None
