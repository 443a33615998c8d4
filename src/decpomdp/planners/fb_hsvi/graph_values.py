"""The value of a policy graph, where it matters: at pairs (state, joint node) that may be met.

`met_pairs` follows the graph from the start. `needed_pairs` adds whatever one agent alone could bring about at any
step, and what follows from there: that is what the improvement of a graph looks at. Pairs outside are given the least
value there is, so that all values are true or too low, and an improvement by them is one.

In one round through a loop of m layers let the values change by between a and b. Then the true values lie between
a f and b f from those reached, f = discount^m / (1 - discount^m): rounds stop when that is precise enough.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.joint import joint_numbers, joint_parts
from decpomdp.kernels import layers as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.occupancy import Occupancy
from decpomdp.planners.fb_hsvi.policy_graph import Graph, joint_actions, joint_moves

ROUNDS = 100_000
SETTLED = 1e-13  # of the largest value: as precise as rounding allows
ROUGH = 1e-6  # precise enough for choosing

Pairs = list[NDArray[np.bool_]]  # [t] of [s, q]


@dataclass(frozen=True, slots=True, eq=False)
class GraphValues:
    """A graph, its value at the start, and its values at the pairs that were asked for."""

    graph: Graph
    value: float
    values: list[NDArray[np.float64]]  # [t] of [s, q]


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A graph with its joint tables."""

    dynamics: OutcomeModel
    graph: Graph
    actions: list[NDArray[np.int64]]  # [t] of [q]
    onward: list[NDArray[np.int64]]  # [t] of [q, y]


def chain_of(dynamics: OutcomeModel, graph: Graph) -> Chain:
    """The joint tables of a graph."""
    actions = [joint_actions(dynamics, layer) for layer in graph.layers]
    parts = dynamics.observation_parts
    onward = [joint_moves(layer, graph.counts_after(t), parts) for t, layer in enumerate(graph.layers)]
    return Chain(dynamics, graph, actions, onward)


def met_pairs(chain: Chain, start: Occupancy) -> tuple[Pairs, Pairs]:
    """[t] of [s, q]: which pairs may be met; and [t] of [q, y]: which joint observations then."""
    layers, states = chain.graph.layers, chain.dynamics.reward.shape[1]
    met = [np.zeros((states, len(actions)), np.bool_) for actions in chain.actions]
    joint = joint_numbers(start.row_labels().T, layers[0].counts)
    met[0][start.state, joint] = True
    return met, followed(chain, met)


def followed(chain: Chain, pairs: Pairs) -> Pairs:
    """Add to `pairs` all that follows from them; [t] of [q, y]: which joint observations occur."""
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


def needed_pairs(chain: Chain, start: Occupancy) -> Pairs:
    """[t] of [s, q]: pairs that may be met, that one agent alone could bring about, and all that follows."""
    met, _ = met_pairs(chain, start)
    needed = [pairs.copy() for pairs in met]
    for t in range(len(met)):
        following = chain.graph.after(t)
        if following is not None:
            _deviations(chain, t, met[t], needed[following])
    followed(chain, needed)
    return needed


def _deviations(chain: Chain, t: int, met: NDArray[np.bool_], after: NDArray[np.bool_]) -> None:
    """Mark in `after` what any one agent could make of the pairs met at layer t."""
    layer, counts = chain.graph.layers[t], chain.graph.counts_after(t)
    sizes = [int(size) for size in chain.dynamics.action_parts.max(axis=0) + 1]
    state, node = _listed(met)
    local = joint_parts(node, layer.counts)
    parts = chain.dynamics.observation_parts
    for n in range(len(counts)):
        step, stride = math.prod(sizes[n + 1 :]), math.prod(counts[n + 1 :])
        base = chain.actions[t][node] - step * layer.actions[n][local[n]]
        beside = chain.onward[t][node] - stride * layer.moves[n][local[n]][:, parts[:, n]]
        kernels.deviate(chain.dynamics, n, state, base, step, sizes[n], beside, stride, counts[n], after)


def _listed(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of a mask, in memory of their own: one layout, one compiled kernel."""
    state, node = np.nonzero(mask)
    return np.ascontiguousarray(state, np.int64), np.ascontiguousarray(node, np.int64)


def evaluate_graph(
    dynamics: OutcomeModel,
    start: Occupancy,
    graph: Graph,
    discount: float,
    *,
    least: float | None = None,
    guess: NDArray[np.float64] | None = None,  # [s, q] at layer `back`
    precision: float = SETTLED,
) -> GraphValues:
    """The graph with its value; with `least` (no value is below it) also at pairs for improvement."""
    chain = chain_of(dynamics, graph)
    pairs = met_pairs(chain, start)[0] if least is None else needed_pairs(chain, start)
    values = [np.full(mask.shape, 0.0 if least is None else least) for mask in pairs]
    if guess is not None and graph.back is not None and guess.shape == values[graph.back].shape:
        values[graph.back][pairs[graph.back]] = guess[pairs[graph.back]]
    _settle(chain, [_listed(mask) for mask in pairs], values, discount, precision)
    joint = joint_numbers(start.row_labels().T, graph.layers[0].counts)
    return GraphValues(graph, float(start.weight @ values[0][start.state, joint]), values)


def _settle(
    chain: Chain,
    pairs: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    values: list[NDArray[np.float64]],
    discount: float,
    precision: float,
) -> None:
    """Fill in the values, backwards, through the loop until it is settled, then up to the start."""
    count, back = len(values), chain.graph.back
    end = np.zeros((chain.dynamics.reward.shape[1], 1))

    def step(t: int) -> tuple[float, float]:
        following = chain.graph.after(t)
        ahead = end if following is None else values[following]
        state, node = pairs[t]
        least, most = kernels.values_at(
            chain.dynamics, state, node, chain.actions[t], chain.onward[t], ahead, discount, values[t]
        )
        return float(least), float(most)

    if back is not None:
        fade = discount ** (count - back)
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
