"""A policy graph with its exact values: one vector over states per node, and how often each is met."""

from dataclasses import dataclass

import numpy as np

from decpomdp.core import checks
from decpomdp.evaluation.fixed_point import Scheme, fixed_point
from decpomdp.kernels.beliefs import best_vector
from decpomdp.kernels.policy_graph import value_step, visit_step
from decpomdp.planners.pbvi.beliefs import Floats, Whole
from decpomdp.planners.pbvi.bounds import Bounds

Belief = tuple[Whole, Floats]

EXACT = 1e-12  # of the largest possible value: changes of a value below this are rounding
PASSES = 20_000  # over a graph's values or visits, at most
SCHEME = Scheme(
    corrections=3, passes=PASSES - 3, patience=4, krylov_steps=200, rtol=1e-10, atol=0.1, increments=True, rescaled=True
)
FAINT = 1e-9  # share of all visits below which a node, or a state of it, is not met


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A policy graph with its values. The first node is the start."""

    actions: Whole  # [i]
    following: Whole  # [i, y]
    values: Floats  # [s, i]
    value: float  # at the start

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.actions)


def evaluated(bounds: Bounds, start: Floats, actions: Whole, following: Whole, guess: Floats, slack: float) -> Graph:
    """The graph with its exact values, without the nodes that nothing leads to."""
    values = _solved(bounds, actions, following, guess)
    first, value = best_vector(values, len(actions), *belief_of(start), slack, np.empty(len(actions)))
    kept = _reached(following, first)
    number = np.full(len(actions), -1)
    number[kept] = np.arange(len(kept))
    return Graph(actions[kept], number[following[kept]], np.ascontiguousarray(values[:, kept]), value)


def _solved(bounds: Bounds, actions: Whole, following: Whole, values: Floats) -> Floats:
    """The values [s, i] of every node, never above the truth."""
    dynamics = bounds.dynamics
    linear = dynamics._replace(reward=checks.freeze(np.zeros_like(dynamics.reward)))

    def apply(x: Floats, whole: bool) -> Floats:
        bounds.clock.check()
        after = np.empty_like(x)
        value_step(dynamics if whole else linear, actions, following, x, after)
        return after

    found, residual = fixed_point(apply, values, EXACT * bounds.scale, SCHEME)
    return found - dynamics.discount * residual / (1 - dynamics.discount)


def _reached(following: Whole, first: int) -> Whole:
    """Nodes that some path leads to, the first one first."""
    found, known = [first], {first}
    for i in found:  # grows while we walk
        fresh = [int(j) for j in dict.fromkeys(following[i].tolist()) if j not in known]
        found += fresh
        known.update(fresh)
    return np.array(found)


def visits_of(bounds: Bounds, start: Floats, graph: Graph) -> Floats:
    """[i, s]: expected discounted visits."""
    now: Floats = np.zeros((graph.nodes, len(start)))
    now[0] = start
    total, weight = now.copy(), 1.0
    for _ in range(PASSES):
        bounds.clock.check()
        after = np.zeros_like(now)
        visit_step(bounds.dynamics, graph.actions, graph.following, now, after)
        total, now = total + after, after
        weight *= bounds.dynamics.discount
        if weight < FAINT:
            break
    return total


def belief_of(dense: Floats) -> Belief:
    """The states of a dense belief, the faint ones left out, and their weights."""
    states = np.flatnonzero(dense > FAINT)
    return states, dense[states] / dense[states].sum()
