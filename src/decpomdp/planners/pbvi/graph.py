"""From vectors to a policy graph: a finite-state controller that follows the vectors without beliefs.

1. Grow: the start is a node; a node takes the action of the backup of its belief; each successor belief becomes a
   node too, those with the most discounted visits first, up to a limit. Moves to other successors lead to the node
   with the best value there.
2. Improve: the exact value of every node from every state is a vector again. Every node is backed up at its mean
   belief against these vectors; unreachable nodes are dropped. Among equally good vectors the one of the most visited
   node is used, which merges nodes. This is repeated while the value at the start does not fall (Hansen's policy
   iteration, at points).
3. Shrink: raise the tolerance of "equally good" until the graph is small enough.

The node values are values of a policy, so they are vectors of the lower bound, too. This speeds up planning.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from decpomdp.core import checks
from decpomdp.evaluation.fixed_point import Scheme, fixed_point
from decpomdp.kernels.beliefs import best_vector, foresee, scratch_for, successor
from decpomdp.kernels.point_backup import Backups, back_up, lower_value, value_step, visit_step
from decpomdp.planners.pbvi.bounds import Bounds, Floats, Ints, empty_backups, key_of

Belief = tuple[Ints, Floats]

GROWN = 400  # most nodes of a graph before it shrinks
ROUNDS = 12  # of improvement
EQUAL = 1e-10  # of the largest possible value: smaller differences are ignored
COARSER = 4.0  # factor of the tolerance when a graph is too large
EXACT = 1e-12  # of the largest possible value: changes of a value below this are rounding
PASSES = 20_000  # most passes over a graph's values or visits
SCHEME = Scheme(
    corrections=3, passes=PASSES - 3, patience=4, krylov_steps=200, rtol=1e-10, atol=0.1, increments=True, rescaled=True
)
FAINT = 1e-9  # share of all visits below which a node, or a state of it, is ignored


@dataclass(frozen=True, slots=True, eq=False)
class PolicyGraph:
    """A policy graph with its values. The first node is the start."""

    actions: Ints  # [i]
    following: Ints  # [i, y]
    values: Floats  # [s, i]
    value: float  # at the start

    @property
    def nodes(self) -> int:
        return len(self.actions)


def graph_of(bounds: Bounds, start: Floats, largest: int) -> PolicyGraph:
    """A good policy graph of at most `largest` nodes."""
    slack = EQUAL * bounds.scale
    graph = _improved(bounds, start, _grown(bounds, start), slack, shrink=False)
    while graph.nodes > largest:
        slack *= COARSER
        graph = _improved(bounds, start, graph, slack, shrink=True)
    return graph


def one_action(bounds: Bounds, start: Floats) -> PolicyGraph:
    """The best single action, repeated."""
    first, value = best_vector(bounds.vectors, bounds.count, *_belief(start), 0.0, np.empty(bounds.count))
    following = np.zeros((1, bounds.model.symbols), np.int64)
    return PolicyGraph(bounds.actions[first : first + 1], following, bounds.vectors[:, first : first + 1].copy(), value)


def _grown(bounds: Bounds, start: Floats) -> PolicyGraph:
    """Step 1: nodes for the beliefs with the most discounted visits."""
    first = _belief(start)
    queue, pending = [(-1.0, key_of(*first))], {key_of(*first): first}
    beliefs: list[Belief] = []
    done: list[Backups] = []
    while queue and len(beliefs) < GROWN:
        bounds.now.check()
        weight, key = heapq.heappop(queue)
        belief = pending[key]
        beliefs.append(belief)
        done.append(_backed_up(bounds, bounds.vectors, bounds.count, [belief], 0.0, bounded=True))
        for mass, following in _successors(bounds, int(done[-1].action[0]), belief):
            name = key_of(*following)
            if name not in pending:  # the first path to a belief decides its weight
                pending[name] = following
                heapq.heappush(queue, (bounds.model.discount * mass * weight, name))
    vectors = np.ascontiguousarray(np.concatenate([one.vector for one in done]).T)
    actions = np.concatenate([one.action for one in done])
    return _pointed(bounds, start, vectors, actions, beliefs)


def _successors(bounds: Bounds, u: int, belief: Belief) -> Iterator[tuple[float, Belief]]:
    """Successor beliefs with their probabilities."""
    model = bounds.model
    scratch = scratch_for(len(bounds.corner), model.symbols, model.widest)
    states, weights = np.empty(len(bounds.corner), np.int64), np.empty(len(bounds.corner))
    for k in range(foresee(model, u, *belief, scratch)):
        mass = float(scratch.weights[scratch.first[k] : scratch.first[k + 1]].sum())
        size = successor(scratch, k, states, weights)
        yield mass, (states[:size].copy(), weights[:size].copy())


def _pointed(bounds: Bounds, start: Floats, vectors: Floats, actions: Ints, beliefs: list[Belief]) -> PolicyGraph:
    """The graph in which every node takes its action and moves to the best vectors afterwards."""
    model = bounds.model
    scratch = scratch_for(len(start), model.symbols, model.widest)
    following, scores = np.empty((len(actions), model.symbols), np.int64), np.empty(len(actions))
    for i, (u, belief) in enumerate(zip(actions, beliefs, strict=True)):
        lower_value(model, vectors, len(actions), u, 0.0, *belief, scratch, scores, following[i])
    return _evaluated(bounds, start, actions, following, vectors, 0.0)


def _improved(bounds: Bounds, start: Floats, graph: PolicyGraph, slack: float, shrink: bool) -> PolicyGraph:
    """Steps 2 and 3. A candidate never has more nodes."""
    tiny = EQUAL * bounds.scale
    for _ in range(ROUNDS):
        candidate = _stepped(bounds, start, graph, slack)
        fewer = candidate.nodes < graph.nodes and (shrink or candidate.value >= graph.value - tiny)
        if not fewer and candidate.value <= graph.value + tiny:
            break
        graph = candidate
    return graph


def _stepped(bounds: Bounds, start: Floats, graph: PolicyGraph, slack: float) -> PolicyGraph:
    """Every visited node, backed up against the node values, most visited first."""
    visits = _visits(bounds, start, graph)
    shares = visits.sum(axis=1) / visits.sum()
    met = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] > FAINT]
    values = np.ascontiguousarray(graph.values[:, met])
    beliefs = [_belief(visits[i] / visits[i].sum()) for i in met]
    done = _backed_up(bounds, values, len(met), beliefs, slack, bounded=False)
    return _evaluated(bounds, start, done.action, done.following, values, slack)


def _backed_up(
    bounds: Bounds, vectors: Floats, count: int, beliefs: list[Belief], slack: float, bounded: bool
) -> Backups:
    offsets = np.concatenate([[0], np.cumsum([len(states) for states, _ in beliefs])])
    states = np.concatenate([states for states, _ in beliefs])
    weights = np.concatenate([weights for _, weights in beliefs])
    out = empty_backups(len(beliefs), len(bounds.corner), bounds.model.symbols)
    which = np.arange(len(beliefs))
    back_up(bounds.model, vectors, count, bounds.points, bounded, slack, offsets, states, weights, which, out)
    return out


def _evaluated(
    bounds: Bounds, start: Floats, actions: Ints, following: Ints, guess: Floats, slack: float
) -> PolicyGraph:
    """The reachable part of the graph, with its exact values."""
    values = _solved(bounds, actions, following, guess)
    first, value = best_vector(values, len(actions), *_belief(start), slack, np.empty(len(actions)))
    nodes = _reached(following, first)
    number = np.full(len(actions), -1)
    number[nodes] = np.arange(len(nodes))
    return PolicyGraph(actions[nodes], number[following[nodes]], np.ascontiguousarray(values[:, nodes]), value)


def _solved(bounds: Bounds, actions: Ints, following: Ints, values: Floats) -> Floats:
    """Lower bounds on the values [s, i] of every node."""
    model = bounds.model
    linear = model._replace(reward=checks.freeze(np.zeros_like(model.reward)))

    def apply(x: Floats, rewards: bool) -> Floats:
        bounds.now.check()
        after = np.empty_like(x)
        value_step(model if rewards else linear, actions, following, x, after)
        return after

    solution, residual = fixed_point(apply, values, EXACT * bounds.scale, SCHEME)
    return solution - model.discount * residual / (1 - model.discount)


def _reached(following: Ints, first: int) -> Ints:
    """Reachable nodes, `first` first."""
    nodes, known = [first], {first}
    for i in nodes:  # grows in the loop
        new = [int(j) for j in dict.fromkeys(following[i].tolist()) if j not in known]
        nodes += new
        known.update(new)
    return np.array(nodes)


def _visits(bounds: Bounds, start: Floats, graph: PolicyGraph) -> Floats:
    """[i, s]: expected discounted visits."""
    now: Floats = np.zeros((graph.nodes, len(start)))
    now[0] = start
    total, weight = now.copy(), 1.0
    for _ in range(PASSES):
        bounds.now.check()
        after = np.zeros_like(now)
        visit_step(bounds.model, graph.actions, graph.following, now, after)
        total, now = total + after, after
        weight *= bounds.model.discount
        if weight < FAINT:
            break
    return total


def _belief(dense: Floats) -> Belief:
    """A dense belief as states and weights, without negligible states."""
    states = np.flatnonzero(dense > FAINT)
    return states, dense[states] / dense[states].sum()
