"""Layered policy graphs, their values at the relevant pairs (state, joint node), and the controllers built from them.

Every agent has nodes in layer t. Node i of agent n takes actions[n][i] and on observation o moves to moves[n][i, o], a
node of the next layer. The last layer moves to layer `back` (a loop, for an infinite horizon) or ends the graph (None).
The path of decision rules that a search followed is such a graph, with labels as nodes.

`met_pairs` follows the graph from the start. `needed_pairs` adds the pairs after a deviation of one agent at any step,
and all their successors: the improvement of a graph needs their values. Other pairs get the smallest possible value.
So all values are exact or lower bounds, and an improvement computed from them is a true improvement.

If one pass through a loop of m layers changes the values by between a and b, the true values differ from the result by
between a f and b f, f = discount^m / (1 - discount^m). Passes stop when this is precise enough.

`folded_team` builds small controllers from a graph. Moves on observations that cannot occur are arbitrary. Nodes are
merged (greedily, `kernels.fold`) if they take the same action and lead, on every observation that can occur at both, to
nodes that can be merged. The team's behaviour in all possible situations is unchanged, and so is its value from the
start.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, DecPOMDP, Team
from decpomdp.kernels import layers as kernels
from decpomdp.kernels import machines as fold_kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.kernels.occupancy import successors
from decpomdp.planners.fb_hsvi.occupancy import Labelling, Occupancy, Rule, chosen, gathered

ROUNDS = 100_000
SETTLED = 1e-13  # of the largest value: as precise as rounding allows
ROUGH = 1e-6  # relative precision that is sufficient for choices

Pairs = list[NDArray[np.bool_]]  # [t] of [s, q]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One step of every agent."""

    actions: Rule  # per agent [i]
    moves: tuple[NDArray[np.int64], ...]  # per agent [i, o] node of the next layer

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(len(table) for table in self.actions)

    def entered(self, nodes: Labelling) -> "Layer":
        """The layer whose node l of agent n is node nodes[n][l] of this one."""
        return Layer(
            tuple(actions[own] for actions, own in zip(self.actions, nodes, strict=True)),
            tuple(moves[own] for moves, own in zip(self.moves, nodes, strict=True)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class LayeredGraph:
    """A sequence of layers."""

    layers: tuple[Layer, ...]
    back: int | None  # the layer after the last one

    def after(self, t: int) -> int | None:
        """The layer after layer t."""
        return t + 1 if t + 1 < len(self.layers) else self.back

    def counts_after(self, t: int) -> tuple[int, ...]:
        """The nodes of the layer after layer t; after the end, one for every agent."""
        following = self.after(t)
        return (1,) * len(self.layers[0].actions) if following is None else self.layers[following].counts


def layer_of(rule: Rule, labelling: Labelling) -> Layer:
    """The layer of a decision rule; the labelling is flat over (label, observation). Absent labels become 0."""
    moves = tuple(np.maximum(flat, 0).reshape(len(own), -1) for own, flat in zip(rule, labelling, strict=True))
    return Layer(rule, moves)


def last_layer(layer: Layer) -> Layer:
    """The layer at the end of a finite horizon: every move goes to node 0."""
    return Layer(layer.actions, tuple(np.zeros_like(own) for own in layer.moves))


def joint_moves(layer: Layer, counts: tuple[int, ...], parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """[q, y]: the joint node of the next layer, which has `counts` nodes."""
    places = np.indices(layer.counts).reshape(len(counts), -1)  # [n, q]
    after = np.zeros((places.shape[1], len(parts)), np.int64)
    for n, count in enumerate(counts):
        after *= count
        after += layer.moves[n][:, parts[:, n]][places[n]]
    return after


def joint_actions(dynamics: OutcomeModel, layer: Layer) -> NDArray[np.int64]:
    """[q]: the joint action of every joint node."""
    return chosen(dynamics, np.indices(layer.counts).reshape(len(layer.counts), -1).T, layer.actions)


def values_before(
    dynamics: OutcomeModel, layer: Layer, counts: tuple[int, ...], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[s, q]: values at `layer`, given those at the next layer, which has `counts` nodes."""
    actions, onward = joint_actions(dynamics, layer), joint_moves(layer, counts, dynamics.observation_parts)
    out = np.empty((dynamics.reward.shape[1], len(actions)))
    kernels.values_before(dynamics, actions, onward, values, out)
    return out


def occupancy_after(dynamics: OutcomeModel, occupancy: Occupancy, layer: Layer, counts: tuple[int, ...]) -> Occupancy:
    """The next occupancy state; labels are nodes. `counts`: nodes of the next layer."""
    actions = np.repeat(chosen(dynamics, occupancy.labels, layer.actions), np.diff(occupancy.groups))
    row, after, seen, mass = successors(dynamics, occupancy.state, occupancy.weight, actions)
    labels = occupancy.row_labels()[row]
    parts = dynamics.observation_parts[seen]
    nodes = np.stack([layer.moves[n][labels[:, n], parts[:, n]] for n in range(labels.shape[1])], axis=-1)
    return gathered(nodes, after, mass, counts)


def occupancies_along(
    dynamics: OutcomeModel, start: Occupancy, layers: Sequence[Layer], counts: tuple[int, ...]
) -> list[Occupancy]:
    """[t]: the occupancy state before layer t, and after the last one, where the next layer has `counts` nodes."""
    result = [start]
    for t, layer in enumerate(layers):
        following = layers[t + 1].counts if t + 1 < len(layers) else counts
        result.append(occupancy_after(dynamics, result[-1], layer, following))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class GraphValues:
    """A graph, its value at the start, and its values at reachable and needed pairs."""

    graph: LayeredGraph
    value: float
    values: list[NDArray[np.float64]]  # [t] of [s, q]


class GraphTables:
    """A graph with its joint tables."""

    def __init__(self, dynamics: OutcomeModel, graph: LayeredGraph) -> None:
        self.dynamics, self.graph, parts = dynamics, graph, dynamics.observation_parts
        self.actions = [joint_actions(dynamics, layer) for layer in graph.layers]  # [t] of [q]
        self.onward = [
            joint_moves(layer, graph.counts_after(t), parts) for t, layer in enumerate(graph.layers)
        ]  # [q, y]


def value_at(occupancy: Occupancy, counts: tuple[int, ...], values: NDArray[np.float64]) -> float:
    """Expectation of values[s, q] where labels are nodes."""
    joint = np.ravel_multi_index(tuple(occupancy.row_labels().T), counts)
    return float(occupancy.weight @ values[occupancy.state, joint])


def met_pairs(chain: GraphTables, start: Occupancy) -> tuple[Pairs, Pairs]:
    """[t] of [s, q]: reachable pairs; [t] of [q, y]: joint observations that may occur."""
    layers, states = chain.graph.layers, chain.dynamics.reward.shape[1]
    met = [np.zeros((states, len(actions)), np.bool_) for actions in chain.actions]
    joint = np.ravel_multi_index(tuple(start.row_labels().T), layers[0].counts)
    met[0][start.state, joint] = True
    return met, followed(chain, met)


def followed(chain: GraphTables, pairs: Pairs) -> Pairs:
    """Add all successors of `pairs` to it; [t] of [q, y]: joint observations that may occur."""
    graph = chain.graph
    used = [np.zeros(table.shape, np.bool_) for table in chain.onward]
    first, new = 0, True
    while new:
        new = False
        for t in range(first, len(graph.layers)):
            following = graph.after(t)
            if following is not None:
                tables = (chain.actions[t], chain.onward[t], pairs[t], pairs[following], used[t])
                reached = bool(kernels.reach(chain.dynamics, *tables))
                new = reached if t + 1 == len(graph.layers) else new
        first = graph.back or 0
    return used


def needed_pairs(chain: GraphTables, start: Occupancy) -> Pairs:
    """[t] of [s, q]: reachable pairs, pairs after a deviation of one agent, and all their successors."""
    met, _ = met_pairs(chain, start)
    needed = [pairs.copy() for pairs in met]
    for t in range(len(met)):
        following = chain.graph.after(t)
        if following is not None:
            _deviations(chain, t, met[t], needed[following])
    followed(chain, needed)
    return needed


def _deviations(chain: GraphTables, t: int, met: NDArray[np.bool_], after: NDArray[np.bool_]) -> None:
    """Mark in `after` the pairs that a deviation of one agent at layer t can reach."""
    layer, counts = chain.graph.layers[t], chain.graph.counts_after(t)
    state, node = _listed(met)
    local = np.unravel_index(node, layer.counts)
    parts = chain.dynamics.observation_parts
    for n in range(len(counts)):
        step, stride = chain.dynamics.action_strides[n], math.prod(counts[n + 1 :])
        base = chain.actions[t][node] - step * layer.actions[n][local[n]]
        offset = chain.onward[t][node] - stride * layer.moves[n][local[n]][:, parts[:, n]]
        kernels.deviate(chain.dynamics, n, state, base, offset, stride, counts[n], after)


def _listed(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of a mask; contiguous, so that only one version of the kernel is compiled."""
    state, node = np.nonzero(mask)
    return np.ascontiguousarray(state, np.int64), np.ascontiguousarray(node, np.int64)


def evaluate_graph(
    dynamics: OutcomeModel,
    start: Occupancy,
    graph: LayeredGraph,
    *,
    least: float | None = None,
    guess: NDArray[np.float64] | None = None,  # [s, q] at layer `back`
    precision: float = SETTLED,
) -> GraphValues:
    """The graph with its values; with `least`, a lower bound of all values, also at pairs needed for improvement."""
    chain = GraphTables(dynamics, graph)
    pairs = met_pairs(chain, start)[0] if least is None else needed_pairs(chain, start)
    values = [np.full(mask.shape, 0.0 if least is None else least) for mask in pairs]
    if guess is not None and graph.back is not None and guess.shape == values[graph.back].shape:
        values[graph.back][pairs[graph.back]] = guess[pairs[graph.back]]
    _settle(chain, [_listed(mask) for mask in pairs], values, precision)
    return GraphValues(graph, value_at(start, graph.layers[0].counts, values[0]), values)


def _settle(
    chain: GraphTables,
    pairs: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    values: list[NDArray[np.float64]],
    precision: float,
) -> None:
    """Compute the values backwards: in the loop until they converge, then for the layers before it."""
    count, back = len(values), chain.graph.back
    end = np.zeros((chain.dynamics.reward.shape[1], 1))

    def step(t: int) -> tuple[float, float]:
        following = chain.graph.after(t)
        ahead = end if following is None else values[following]
        state, node = pairs[t]
        least, most = kernels.values_at(
            chain.dynamics, state, node, chain.actions[t], chain.onward[t], ahead, values[t]
        )
        return float(least), float(most)

    if back is not None:
        fade = chain.dynamics.discount ** (count - back)
        for _ in range(ROUNDS):
            for t in range(count - 1, back, -1):
                step(t)
            least, most = (change * fade / (1 - fade) for change in step(back))
            size = max(1.0, float(np.abs(values[back][pairs[back]]).max()))
            if max(abs(least), abs(most)) <= precision * size:
                break
            if most - least <= precision * size:
                values[back][pairs[back]] += (least + most) / 2
    for t in range(count - 1 if back is None else back - 1, -1, -1):
        step(t)


def folded_team(model: DecPOMDP, dynamics: OutcomeModel, start: Occupancy, graph: LayeredGraph) -> Team:
    """Small controllers that act like the graph."""
    met, used = met_pairs(GraphTables(dynamics, graph), start)
    return Team.of(
        model,
        [_controller(dynamics, graph, n, met, used, len(agent.actions)) for n, agent in enumerate(model.agents)],
    )


def _controller(
    dynamics: OutcomeModel, graph: LayeredGraph, n: int, met: Pairs, used: Pairs, actions: int
) -> Controller:
    action, moves = _laid_out(dynamics, graph, n, met, used)
    action, moves = _merged_equal(np.concatenate([[-1], action]), np.concatenate([moves[:1] * 0 - 1, moves]))
    order = np.flatnonzero(action >= 0)
    parent = np.empty(len(action), np.int64)
    fold_kernels.fold(action, moves, order, parent)
    leaders = [int(i) for i in order if parent[i] == i]
    place = np.full(len(action), 0)
    place[leaders] = np.arange(len(leaders))
    place = place[parent]
    onward = np.where(moves[leaders] < 0, np.arange(len(leaders))[:, None], place[np.maximum(moves[leaders], 0)])
    return Controller.deterministic(action[leaders].tolist(), onward.tolist(), actions, int(place[1]))


def _laid_out(
    dynamics: OutcomeModel, graph: LayeredGraph, n: int, met: Pairs, used: Pairs
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Agent n's visited nodes of all layers in a row, numbered from 1; moves that cannot occur are -1."""
    symbols = int(dynamics.observations[n])
    numbers, count = [], 1
    for t, layer in enumerate(graph.layers):
        local = np.indices(layer.counts).reshape(len(layer.counts), -1)[n]
        seen = np.zeros(layer.counts[n], np.bool_)
        seen[local[met[t].any(axis=0)]] = True
        number = np.full(layer.counts[n], -1)
        number[seen] = count + np.arange(seen.sum())
        numbers.append(number)
        count += int(seen.sum())
    actions, moves = np.empty(count - 1, np.int64), np.full((count - 1, symbols), -1, np.int64)
    for t, layer in enumerate(graph.layers):
        own = np.flatnonzero(numbers[t] >= 0)
        rows = numbers[t][own] - 1
        actions[rows] = layer.actions[n][own]
        following = graph.after(t)
        if following is not None:
            local = np.indices(layer.counts).reshape(len(layer.counts), -1)[n]
            meets = np.zeros((layer.counts[n], symbols), np.bool_)
            q, y = np.nonzero(used[t])
            meets[local[q], dynamics.observation_parts[y, n]] = True
            targets = numbers[following][layer.moves[n][own]]
            moves[rows] = np.where(meets[own], targets, -1)
    return actions, moves


def _merged_equal(action: NDArray[np.int64], move: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Merge nodes with equal actions and moves, repeatedly: a quick step before the slow merging.

    Node 0 is a sentinel; the start stays node 1.
    """
    while True:
        rows = np.concatenate([action[:, None], move], axis=1)
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(action):
            return action, move
        leaders = np.sort(first)
        new = np.searchsorted(leaders, first)[inverse.ravel()]
        action, move = action[leaders], np.where(move[leaders] < 0, -1, new[np.maximum(move[leaders], 0)])
