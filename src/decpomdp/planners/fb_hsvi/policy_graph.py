"""Layered policy graphs: what a team does, step by step, with few nodes per step.

Layer t gives each agent nodes; node i of agent n takes actions[n][i] and on observation o moves to node moves[n][i, o]
of the next layer. The last layer moves to layer `back` (a loop, for an infinite horizon) or nowhere (None).
The path of decision rules that a search followed is such a graph, with labels for nodes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels import layers as kernels
from decpomdp.kernels.model import OutcomeModel
from decpomdp.kernels.occupancy import successors
from decpomdp.planners.fb_hsvi.occupancy import Labelling, Occupancy, Rule, chosen, gathered


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One step of every agent."""

    actions: Rule  # per agent [i]
    moves: tuple[NDArray[np.int64], ...]  # per agent [i, o] node of the next layer

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(len(table) for table in self.actions)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Layers in a row."""

    layers: tuple[Layer, ...]
    back: int | None  # the layer after the last one

    def after(self, t: int) -> int | None:
        """The layer after layer t."""
        return t + 1 if t + 1 < len(self.layers) else self.back

    def counts_after(self, t: int) -> tuple[int, ...]:
        """Its nodes; one node stands for the end."""
        following = self.after(t)
        return (1,) * len(self.layers[0].actions) if following is None else self.layers[following].counts


def layer_of(rule: Rule, labelling: Labelling) -> Layer:
    """The layer that takes a decision rule; labelling is flat over (label, observation). What is absent goes to 0."""
    moves = tuple(np.maximum(flat, 0).reshape(len(own), -1) for own, flat in zip(rule, labelling, strict=True))
    return Layer(rule, moves)


def last_layer(layer: Layer) -> Layer:
    """The layer with nothing after it: every move goes to the one node that stands for the end."""
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
    dynamics: OutcomeModel, layer: Layer, counts: tuple[int, ...], values: NDArray[np.float64], discount: float
) -> NDArray[np.float64]:
    """[s, q]: values at `layer`, given those at the next layer, which has `counts` nodes."""
    actions, onward = joint_actions(dynamics, layer), joint_moves(layer, counts, dynamics.observation_parts)
    out = np.empty((dynamics.reward.shape[1], len(actions)))
    kernels.values_before(dynamics, actions, onward, values, discount, out)
    return out


def occupancy_after(dynamics: OutcomeModel, occupancy: Occupancy, layer: Layer, counts: tuple[int, ...]) -> Occupancy:
    """Where the team is one step later; labels are nodes. `counts`: nodes of the next layer."""
    actions = np.repeat(chosen(dynamics, occupancy.labels, layer.actions), np.diff(occupancy.groups))
    row, after, seen, mass = successors(dynamics, occupancy.state, occupancy.weight, actions)
    labels = occupancy.row_labels()[row]
    parts = dynamics.observation_parts[seen]
    nodes = np.stack([layer.moves[n][labels[:, n], parts[:, n]] for n in range(labels.shape[1])], axis=-1)
    return gathered(nodes, after, mass, counts)
