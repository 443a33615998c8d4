"""The Markov chain of a team with layered nodes on a model, and its two Bellman equations.

A layered controller has M layers of w nodes. Layer m moves only to layer m + 1, the last to the first; with one layer
it is any controller. All agents are in the same layer, so the chain is over (layer, state, joint node of a layer):
for 100 states and two agents of 4 nodes in 10 layers 16,000 places, not 160,000. With r~ the shifted rewards,

  V_m = r~_m + discount P_m V_{m+1},    F_{m+1} = discount P_m^T F_m  (+ the start, in layer 0).

One pass over all layers is a contraction by discount^M; `evaluation.fixed_point` solves it in layer 0, starting from
the last solution.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, DecPOMDP, Team
from decpomdp.core.run import Cut
from decpomdp.core.sparse import factored_model
from decpomdp.evaluation.exact import joint_moves, joint_rows
from decpomdp.evaluation.fixed_point import Scheme, fixed_point
from decpomdp.kernels.backup import backup, forward
from decpomdp.kernels.model import FactoredModel

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # of the largest entry: the required precision
SCHEME = Scheme(corrections=3, passes=5000, patience=3, krylov_steps=200, rtol=1e-12, atol=0.3, from_image=True)


class LayeredController(NamedTuple):
    """One agent's controller in layers."""

    initial: Floats  # [i] in layer 0
    action: Floats  # [m, i, a]
    move: Floats  # [m, i, a, o, j] j in layer m + 1

    @property
    def shape(self) -> tuple[int, int]:
        """Layers, and nodes of a layer."""
        return self.action.shape[:2]


class ShiftedModel(NamedTuple):
    """A model in sparse form, with rewards shifted to be at least 0."""

    model: DecPOMDP
    factored: FactoredModel
    reward: Floats  # [u, s] shifted
    base: float  # value of the shift, to be added to shifted values
    stop: NDArray[np.int64] = np.zeros(1, np.int64)  # [1] set when the run is ending: then backups raise `Cut`

    def check(self) -> None:
        if self.stop[0]:
            raise Cut

    @classmethod
    def of(cls, model: DecPOMDP) -> "ShiftedModel":
        least = float(model.reward.min())
        return cls(model, factored_model(model), model.reward - least, least / (1 - model.discount))


class LayeredChain:
    """A team of layered controllers on a model."""

    def __init__(self, shifted: ShiftedModel, team: Sequence[LayeredController]) -> None:
        self.shifted, self.team = shifted, team
        self.layers = team[0].shape[0]
        self.shape = (len(shifted.model.states), math.prod(tables.shape[1] for tables in team))
        self.moves = [
            joint_moves(shifted.model, [(tables.action[m], tables.move[m]) for tables in team])
            for m in range(self.layers)
        ]
        self.acts = [joint_rows([tables.action[m] for tables in team]) for m in range(self.layers)]  # [m][q, u]
        self.expected = [np.ascontiguousarray((acts @ shifted.reward).T) for acts in self.acts]  # [m][s, q]
        self.first = np.outer(shifted.model.start, joint_rows([tables.initial[None] for tables in team])[0])

    def values(self, begin: Floats | None = None) -> Floats:
        """V[m, s, q] of the shifted rewards; `begin`: a guess of V[0]."""
        wanted = ROUNDING * max(float(max(np.abs(e).max() for e in self.expected)), 1e-300)
        v = np.empty((self.layers + 1, *self.shape))
        v[-1], _ = fixed_point(lambda x, affine: self._back(x, affine, v), self._begin(begin), wanted, SCHEME)
        self._back(v[-1], True, v)
        return v[:-1]

    def occupancies(self, begin: Floats | None = None) -> Floats:
        """F[m, s, q], discounted visits from the start; `begin`: a guess of F[0]."""
        f = np.empty((self.layers, *self.shape))
        wanted = ROUNDING / (1 - self.shifted.model.discount)
        f[0], _ = fixed_point(lambda x, affine: self._forth(x, affine, f), self._begin(begin), wanted, SCHEME)
        self._forth(f[0].copy(), True, f)
        return f

    def value(self, v: Floats) -> float:
        return float(np.sum(self.first * v[0])) + self.shifted.base

    def _begin(self, guess: Floats | None) -> Floats:
        """The guess if its shape is right, otherwise zeros."""
        return np.zeros(self.shape) if guess is None or guess.shape != self.shape else guess

    def _back(self, x: Floats, rewards: bool, v: Floats) -> Floats:
        """One pass from the last layer to the first; fills v[m]."""
        shifted, following = self.shifted, x
        actions = len(shifted.reward)
        for m in reversed(range(self.layers)):
            shifted.check()
            out = self.expected[m].copy() if rewards else np.zeros(self.shape)
            backup(shifted.factored, self.moves[m], 0, actions, following, out)
            v[m] = following = out
        return following

    def _forth(self, x: Floats, start: bool, f: Floats) -> Floats:
        """One pass from the first layer to the last and back to the first; fills f[m]."""
        shifted, now = self.shifted, x
        for m in range(self.layers):
            shifted.check()
            f[m] = now
            out = self.first.copy() if start and m == self.layers - 1 else np.zeros(self.shape)
            forward(shifted.factored, self.moves[m], now, out)
            now = out
        return now


def one_layer(team: Team) -> list[LayeredController]:
    """A team as layered controllers of one layer."""
    return [LayeredController(c.initial, c.action[None], c.transition[None]) for c in team.controllers]


def flattened(model: DecPOMDP, team: Sequence[LayeredController]) -> Team:
    """Layered controllers as a team; node i of layer m is node m * w + i."""
    return Team.of(model, [_controller(tables) for tables in team])


def _controller(tables: LayeredController) -> Controller:
    layers, width, actions, observations, _ = tables.move.shape
    nodes = layers * width
    initial = np.zeros(nodes)
    initial[:width] = tables.initial
    transition = np.zeros((layers, width, actions, observations, layers, width))
    for m in range(layers):
        transition[m, :, :, :, (m + 1) % layers] = tables.move[m]
    shape = (nodes, actions, observations, nodes)
    return Controller(initial, tables.action.reshape(nodes, actions), transition.reshape(shape))
