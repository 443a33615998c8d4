"""From vectors to a policy graph: a finite machine that plays as the vectors say, without beliefs.

1. Grow: the start is a node; a node takes the action that its belief's backup takes; each successor belief becomes a
   node too, those that are met most (discounted) first, up to a limit. What is left over goes to the node that is
   worth most there.
2. Improve: the exact value of every node from every state is a vector again. Every node is backed up at the mean of
   all beliefs it is met with, against these vectors; nodes that nobody meets any more go. Among vectors that are
   equally good there the one of the most visited node is taken, which merges nodes. Kept while the value at the start
   does not fall (Hansen's policy iteration, at points).
3. Shrink: with more and more tolerance for what is "equally good", until the graph has few enough nodes.

The node values are values of a real policy, so the lower bound may take them in: that is what makes planning quick.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from decpomdp.core import checks
from decpomdp.evaluation.fixed_point import Scheme, fixed_point
from decpomdp.kernels.beliefs import best_vector, foresee, scratch_for, successor
from decpomdp.kernels.point_backup import Backups, back_up, lower_value
from decpomdp.kernels.policy_graph import value_step, visit_step
from decpomdp.planners.pbvi.beliefs import Floats, Whole, key_of
from decpomdp.planners.pbvi.bounds import Bounds, empty_backups

Belief = tuple[Whole, Floats]

GROWN = 400  # nodes of a graph before it shrinks, at most
ROUNDS = 12  # of improvement
EQUAL = 1e-10  # of the largest possible value: differences below this are none
COARSER = 4.0  # factor of the tolerance when a graph is too large
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


def graph_of(bounds: Bounds, start: Floats, largest: int) -> Graph:
    """A good policy graph of at most `largest` nodes."""
    slack = EQUAL * bounds.scale
    graph = _improved(bounds, start, _grown(bounds, start), slack, shrink=False)
    while graph.nodes > largest:
        slack *= COARSER
        graph = _improved(bounds, start, graph, slack, shrink=True)
    return graph


def one_action(bounds: Bounds, start: Floats) -> Graph:
    """To take the best single action for ever, of those that the vectors begin with."""
    first, value = best_vector(bounds.vectors, bounds.count, *_belief(start), 0.0, np.empty(bounds.count))
    following = np.zeros((1, bounds.model.symbols), np.int64)
    return Graph(bounds.actions[first : first + 1], following, bounds.vectors[:, first : first + 1].copy(), value)


def _grown(bounds: Bounds, start: Floats) -> Graph:
    """Step 1: nodes for the beliefs that are met most."""
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
            if name not in pending:  # a belief that is met in several ways is weighed by the first one
                pending[name] = following
                heapq.heappush(queue, (bounds.model.discount * mass * weight, name))
    vectors = np.ascontiguousarray(np.concatenate([one.vector for one in done]).T)
    actions = np.concatenate([one.action for one in done])
    return _pointed(bounds, start, vectors, actions, beliefs)


def _successors(bounds: Bounds, u: int, belief: Belief) -> Iterator[tuple[float, Belief]]:
    """What may follow, with its probability."""
    model = bounds.model
    room = scratch_for(len(bounds.corner), model.symbols, model.widest)
    states, weights = np.empty(len(bounds.corner), np.int64), np.empty(len(bounds.corner))
    for k in range(foresee(model, u, *belief, room)):
        mass = float(room.weights[room.first[k] : room.first[k + 1]].sum())
        size = successor(room, k, states, weights)
        yield mass, (states[:size].copy(), weights[:size].copy())


def _pointed(bounds: Bounds, start: Floats, vectors: Floats, actions: Whole, beliefs: list[Belief]) -> Graph:
    """The graph in which every node takes its action and goes on with the best of the vectors."""
    model = bounds.model
    room = scratch_for(len(start), model.symbols, model.widest)
    following, scores = np.empty((len(actions), model.symbols), np.int64), np.empty(len(actions))
    for i, (u, belief) in enumerate(zip(actions, beliefs, strict=True)):
        lower_value(model, vectors, len(actions), u, 0.0, *belief, room, scores, following[i])
    return _evaluated(bounds, start, actions, following, vectors, 0.0)


def _improved(bounds: Bounds, start: Floats, graph: Graph, slack: float, shrink: bool) -> Graph:
    """Steps 2 and 3. A candidate never has more nodes."""
    tiny = EQUAL * bounds.scale
    for _ in range(ROUNDS):
        candidate = _stepped(bounds, start, graph, slack)
        fewer = candidate.nodes < graph.nodes and (shrink or candidate.value >= graph.value - tiny)
        if not fewer and candidate.value <= graph.value + tiny:
            break
        graph = candidate
    return graph


def _stepped(bounds: Bounds, start: Floats, graph: Graph, slack: float) -> Graph:
    """Every node that is met, backed up against the node values, most visited first."""
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


def _evaluated(bounds: Bounds, start: Floats, actions: Whole, following: Whole, guess: Floats, slack: float) -> Graph:
    """The graph with its exact values, without the nodes that nothing leads to."""
    values = _solved(bounds, actions, following, guess)
    first, value = best_vector(values, len(actions), *_belief(start), slack, np.empty(len(actions)))
    kept = _reached(following, first)
    number = np.full(len(actions), -1)
    number[kept] = np.arange(len(kept))
    return Graph(actions[kept], number[following[kept]], np.ascontiguousarray(values[:, kept]), value)


def _solved(bounds: Bounds, actions: Whole, following: Whole, values: Floats) -> Floats:
    """The values [s, i] of every node, never above the truth."""
    model = bounds.model
    linear = model._replace(reward=checks.freeze(np.zeros_like(model.reward)))

    def apply(x: Floats, whole: bool) -> Floats:
        bounds.now.check()
        after = np.empty_like(x)
        value_step(model if whole else linear, actions, following, x, after)
        return after

    found, residual = fixed_point(apply, values, EXACT * bounds.scale, SCHEME)
    return found - model.discount * residual / (1 - model.discount)


def _reached(following: Whole, first: int) -> Whole:
    """Nodes that some path leads to, the first one first."""
    found, known = [first], {first}
    for i in found:  # grows while we walk
        fresh = [int(j) for j in dict.fromkeys(following[i].tolist()) if j not in known]
        found += fresh
        known.update(fresh)
    return np.array(found)


def _visits(bounds: Bounds, start: Floats, graph: Graph) -> Floats:
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
    """The states of a dense belief, the faint ones left out, and their weights."""
    states = np.flatnonzero(dense > FAINT)
    return states, dense[states] / dense[states].sum()
