"""Improvement of policy graphs by coordinate ascent: one layer, one agent at a time, all its nodes at once.

A forward pass computes the occupancy states xi_t of the graph, a backward pass the values V_t+1. With the other agents
fixed, the value of node i of agent n is

    sum_{s, q: q_n = i} xi_t(s, q) [reward + discount * sum P(s1, y | s, u) V_t+1(s1, next nodes)]

and its best action and moves are found exactly, separately for every node and observation. A backward sweep over the
layers never lowers the value (after the layered sweeps of Pajarinen & Peltonen 2011, here for graphs from a search over
occupancy states). Ties keep the current choice.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import strides_of
from decpomdp.kernels import layers as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.planners.fb_hsvi.occupancy import Occupancy, chosen
from decpomdp.planners.fb_hsvi.policy_graph import (
    ROUGH,
    GraphValues,
    Layer,
    LayeredGraph,
    evaluate_graph,
    occupancies_along,
    value_at,
    values_before,
)
from decpomdp.planners.fb_hsvi.rules import game_of, solve

CLOSE = 1e-10  # relative: improvements below this are rounding
NODES = 300  # of the inexact search for a joint choice
TURNS = 4  # best responses of every agent at one layer in one sweep, at most
GAIN = 1e-6  # relative: smallest gain of a sweep for another one


def sweep(
    dynamics: OutcomeModel,
    start: Occupancy,
    layers: list[Layer],
    counts: tuple[int, ...],
    tail: NDArray[np.float64],  # [s, q] values after the last layer, at `counts` nodes
    check: Callable[[], None],
) -> tuple[list[Layer], float]:
    """One backward sweep: the improved layers and their value at the start."""
    shapes = [layer.counts for layer in layers[1:]] + [counts]
    places = occupancies_along(dynamics, start, layers[:-1], layers[-1].counts)
    values, better = tail, list(layers)
    for t in range(len(layers) - 1, -1, -1):
        check()
        better[t] = improved(dynamics, places[t], layers[t], shapes[t], values)
        values = values_before(dynamics, better[t], shapes[t], values)
    return better, value_at(start, better[0].counts, values)


def polished(
    dynamics: OutcomeModel,
    start: Occupancy,
    graph: GraphValues,
    least: float,
    sweeps: int,
    check: Callable[[], None],
) -> GraphValues:
    """Sweep over a graph as long as the value rises; each sweep uses the last one's values beyond the end.

    `graph` has values at the pairs needed for improvement; `least` is a lower bound of all values.
    """
    best = graph
    for _ in range(sweeps):
        layers, back = best.graph.layers, best.graph.back
        tail = np.zeros((dynamics.reward.shape[1], 1)) if back is None else best.values[back]
        counts = best.graph.counts_after(len(layers) - 1)
        better, _ = sweep(dynamics, start, list(layers), counts, tail, check)
        after = evaluate_graph(
            dynamics, start, LayeredGraph(tuple(better), back), least=least, guess=tail, precision=ROUGH
        )
        gain = after.value - best.value
        best = after if gain > 0 else best
        if gain <= GAIN * max(1.0, abs(best.value)):
            break
    return best


def improved(
    dynamics: OutcomeModel,
    occupancy: Occupancy,
    layer: Layer,
    counts: tuple[int, ...],
    values: NDArray[np.float64],
) -> Layer:
    """The layer after alternating best responses, which start from itself or from the best joint choice of actions."""
    ahead = Ahead(dynamics, occupancy, counts, values)
    one = ahead.climbed(layer)
    other = ahead.joint(one)
    if all(np.array_equal(a, b) for a, b in zip(one.actions, other.actions, strict=True)):
        return one
    other = ahead.climbed(other)
    here, there = ahead.worth(one), ahead.worth(other)
    return other if there > here + CLOSE * abs(here) else one


class Ahead:
    """The improvement of a layer, given the occupancy state before it and the values of the nodes after it."""

    def __init__(
        self,
        dynamics: OutcomeModel,
        occupancy: Occupancy,
        counts: tuple[int, ...],
        values: NDArray[np.float64],
    ) -> None:
        self.dynamics, self.occupancy, self.counts, self.values = dynamics, occupancy, counts, values
        self.labels = occupancy.row_labels()  # [k, n]

    def worth(self, layer: Layer) -> float:
        """The value of the layer at the occupancy state."""
        tables = self.payoffs(
            [np.repeat(own[:, None], a, axis=1) for own, a in zip(layer.moves, self.dynamics.actions, strict=True)]
        )
        taken = chosen(self.dynamics, self.occupancy.labels, layer.actions)
        return float(tables[np.arange(len(tables)), taken].sum())

    def climbed(self, layer: Layer) -> Layer:
        """Alternating best responses of the agents, until nothing changes."""
        unchanged = 0
        for turn in range(TURNS * len(layer.actions)):
            n = turn % len(layer.actions)
            after = _chosen(n, layer, *self.gains(n, layer))
            unchanged = unchanged + 1 if after is layer else 0
            layer = after
            if unchanged == len(layer.actions):
                break
        return layer

    def joint(self, layer: Layer) -> Layer:
        """The best joint decision rule if every agent's moves are best responses to the others' current choices."""
        moves = [_best_moves(layer.moves[n], *self.gains(n, layer)) for n in range(len(layer.moves))]  # [i, a, o]
        game = game_of(self.payoffs(moves), self.occupancy.labels, layer.counts, self.dynamics.actions)
        actions = solve(game, nodes=NODES).rule(game)
        onward = tuple(own[np.arange(len(own)), action] for own, action in zip(moves, actions, strict=True))
        return Layer(actions, onward)

    def payoffs(self, moves: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """[j, u]: the value of every joint action when agent n then moves by moves[n][i, a, o]."""
        widths = [table.shape[1:] for table in moves]
        wide = (max(a for a, _ in widths), max(o for _, o in widths))
        table = np.concatenate(
            [np.pad(m, ((0, 0), (0, wide[0] - m.shape[1]), (0, wide[1] - m.shape[2]))) for m in moves]
        )
        firsts = np.concatenate([[0], np.cumsum([len(own) for own in moves])[:-1]]).astype(np.int64)
        xi = self.occupancy
        out = np.empty((len(xi.labels), len(self.dynamics.reward)))
        kernels.joint_payoffs(
            self.dynamics, xi.groups, xi.labels, xi.state, xi.weight, table, firsts,
            strides_of(self.counts), self.values, out,
        )  # fmt: skip
        return out

    def gains(self, n: int, layer: Layer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """[i, a]: the value of action a in node i of agent n; [i, a, o, j]: of moving to j after a and o."""
        labels, counts, parts = self.labels, self.counts, self.dynamics.observation_parts
        step, stride = self.dynamics.action_strides[n], math.prod(counts[n + 1 :])
        base = chosen(self.dynamics, labels, layer.actions) - step * layer.actions[n][labels[:, n]]
        after = [layer.moves[m][labels[:, m]][:, parts[:, m]] * (m != n) for m in range(len(counts))]
        offset = np.ravel_multi_index(tuple(after), counts)
        earned = np.zeros((len(layer.actions[n]), self.dynamics.actions[n]))
        ahead = np.zeros((*earned.shape, self.dynamics.observations[n], counts[n]))
        kernels.gains(
            self.dynamics, n, labels[:, n].copy(), base, self.occupancy.state, self.occupancy.weight, offset,
            stride, self.values, earned, ahead,
        )  # fmt: skip
        return earned, ahead


def _best_moves(moves: NDArray[np.int64], earned: NDArray[np.float64], ahead: NDArray[np.float64]) -> NDArray[np.int64]:
    """[i, a, o]: the best next node; the current one unless another is better."""
    present = np.take_along_axis(ahead, moves[:, None, :, None], axis=3)[..., 0]
    margin = CLOSE * (np.abs(present) + np.abs(earned)[:, :, None]) + 1e-300
    return np.where(ahead.max(axis=3) > present + margin, ahead.argmax(axis=3), moves[:, None, :])


def _chosen(n: int, layer: Layer, earned: NDArray[np.float64], ahead: NDArray[np.float64]) -> Layer:
    """The layer with agent n's best action and moves per node; the same object if nothing improves."""
    own, moves = layer.actions[n], layer.moves[n]
    nodes = np.arange(len(own))
    best = _best_moves(moves, earned, ahead)
    worth = earned + np.take_along_axis(ahead, best[..., None], axis=3)[..., 0].sum(axis=2)
    present = worth[nodes, own]
    better = worth.max(axis=1) > present + CLOSE * np.abs(present) + 1e-300
    action = np.where(better, worth.argmax(axis=1), own)
    onward = best[nodes, action]
    if np.array_equal(action, own) and np.array_equal(onward, moves):
        return layer
    actions = tuple(action if m == n else a for m, a in enumerate(layer.actions))
    return Layer(actions, tuple(onward if m == n else a for m, a in enumerate(layer.moves)))
