"""The centralised bound: vectors whose maximum bounds the value of a belief when all observations are shared.

The fast informed bound (Hauskrecht, 2000): alpha_u(s) = reward(u, s) + discount * sum_y max_v sum_s1 P(s1, y | s, u)
alpha_v(s1). Iterated from 0 it bounds the value of the steps that are left; iterated from the Markov decision
process's value it decreases towards its fixed point, and every iterate is a bound for an infinite horizon.
The smallest value to go comes from the value recursion with the worst actions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP
from decpomdp.kernels import occupancy as kernels
from decpomdp.kernels.model import OutcomeModel

PRECISION = 1e-10  # of the largest reward: when the iterations for an infinite horizon stop
ITERATIONS = 100_000

Check = Callable[[], None]  # called between steps; raises when the run is ending


@dataclass(frozen=True, slots=True, eq=False)
class CentralBound:
    """The vectors and the range of values, for every number of steps left (one entry for an infinite horizon)."""

    vectors: tuple[NDArray[np.float64], ...]  # [left] of [u, s]
    least: tuple[float, ...]  # [left] smallest value of any policy from any state
    most: tuple[float, ...]  # [left] largest

    def at(self, left: int | None) -> NDArray[np.float64]:
        """The vectors when `left` steps are left."""
        return self.vectors[0 if left is None else left]

    def spread(self, left: int | None) -> float:
        """Half the range of values to go: the largest error per unit of moved mass."""
        place = 0 if left is None else left
        return (self.most[place] - self.least[place]) / 2


def central_bound(
    model: DecPOMDP,
    dynamics: OutcomeModel,
    horizon: int | None,
    after: NDArray[np.float64] | None = None,
    check: Check = lambda: None,
) -> CentralBound:
    """The bound for every number of steps left, with values after[s] (or 0) at the end, or for an infinite horizon."""
    if horizon is None:
        return _infinite(model, dynamics, check)
    worst = best = np.zeros(len(model.states)) if after is None else after
    vectors, least, most = [best[None, :]], [float(worst.min())], [float(best.max())]
    for _ in range(horizon):
        check()
        vectors.append(informed_backup(dynamics, vectors[-1]))
        worst, best = _decided(model, worst).min(axis=0), _decided(model, best).max(axis=0)
        least.append(float(worst.min()))
        most.append(float(best.max()))
    return CentralBound(tuple(vectors), tuple(least), tuple(most))


def _infinite(model: DecPOMDP, dynamics: OutcomeModel, check: Check) -> CentralBound:
    scale = max(float(np.abs(model.reward).max()), 1e-300)
    worst = np.full(len(model.states), model.reward.min() / (1 - model.discount))
    best = np.full(len(model.states), model.reward.max() / (1 - model.discount))
    for _ in range(ITERATIONS):
        check()
        lower, upper = _decided(model, worst).min(axis=0), _decided(model, best).max(axis=0)
        change = max(np.abs(lower - worst).max(), np.abs(upper - best).max())
        worst, best = lower, upper
        if change <= PRECISION * scale:
            break
    vectors = _decided(model, best)
    for _ in range(ITERATIONS):
        check()
        improved = np.minimum(informed_backup(dynamics, vectors), vectors)
        change = float(np.abs(improved - vectors).max())
        vectors = improved
        if change <= PRECISION * scale:
            break
    return CentralBound((vectors,), (float(worst.min()),), (float(best.max()),))


def informed_backup(dynamics: OutcomeModel, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """[u, s]: one step of the fast informed bound."""
    joint, states = dynamics.reward.shape
    table = np.empty((states, joint))
    every = np.arange(states + 1)  # one group per state
    kernels.payoffs(dynamics, every, every[:-1].copy(), np.ones(states), vectors, table)
    return np.ascontiguousarray(table.T)


def _decided(model: DecPOMDP, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[u, s]: the value of taking u, given the `values` after it."""
    return model.reward + model.discount * (model.transition @ values)
