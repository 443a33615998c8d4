"""Sums along episodes and over them, in logs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel


@kernel
def running_sums(values: NDArray[np.float64], offsets: NDArray[np.int64], out: NDArray[np.float64]) -> None:
    """out[r]: sum of values[r, n] over all agents, from the beginning of the episode to row r."""
    for k in range(len(offsets) - 1):
        total = 0.0
        for row in range(offsets[k], offsets[k + 1]):
            for n in range(values.shape[1]):
                total += values[row, n]
            out[row] = total


@kernel
def own_ratios(
    logs: NDArray[np.float64],  # [r, 1] log probability of one agent's actions under its controller
    behaviour: NDArray[np.float32],  # [r] their probability under the behaviour
    offsets: NDArray[np.int64],  # [k + 1]
    log_cap: float,
    ratios: NDArray[np.float64],  # [r] out
) -> None:
    """ratios[r]: how much likelier the agent's actions so far in the episode are under its controller, cut at a cap."""
    for k in range(len(offsets) - 1):
        total = 0.0
        for row in range(offsets[k], offsets[k + 1]):
            total += logs[row, 0] - np.log(np.float64(behaviour[row]))
            ratios[row] = np.exp(min(total, log_cap))


class PerStep(NamedTuple):
    """Sums over the episodes at every step t, of weights w = exp(ratio - top)."""

    top: NDArray[np.float64]  # [t] largest ratio, in logs; minus infinity: no episode is possible
    sums: NDArray[np.float64]  # [t] of w
    squares: NDArray[np.float64]  # [t] of w^2
    gains: NDArray[np.float64]  # [t] of w * gain / largest gain at t
    rewards: NDArray[np.float64]  # [t] of w * reward


@kernel
def weigh_steps(
    log_team: NDArray[np.float64],  # [r]
    log_behaviour: NDArray[np.float64],  # [r]
    log_cap: float,
    gain: NDArray[np.float64],  # [r]
    largest_gain: NDArray[np.float64],  # [t]
    reward: NDArray[np.float64],  # [r]
    offsets: NDArray[np.int64],  # [k + 1]
    weights: NDArray[np.float64],  # [r] out: w * gain / largest gain at t
    steps: PerStep,  # filled
) -> None:
    """Importance weights of every step, one exponential each; no overflow for any ratios."""
    steps.top[:] = -np.inf
    for table in (steps.sums, steps.squares, steps.gains, steps.rewards):
        table[:] = 0.0
    for k in range(len(offsets) - 1):
        for row in range(offsets[k], offsets[k + 1]):
            t = row - offsets[k]
            steps.top[t] = max(steps.top[t], min(log_team[row] - log_behaviour[row], log_cap))
    for k in range(len(offsets) - 1):
        for row in range(offsets[k], offsets[k + 1]):
            t = row - offsets[k]
            weights[row] = 0.0
            if steps.top[t] > -np.inf:
                weight = np.exp(min(log_team[row] - log_behaviour[row], log_cap) - steps.top[t])
                steps.sums[t] += weight
                steps.squares[t] += weight * weight
                steps.rewards[t] += weight * reward[row]
                if gain[row] > 0.0:
                    weights[row] = weight * (gain[row] / largest_gain[t])
                    steps.gains[t] += weights[row]


@kernel
def scale_steps(weights: NDArray[np.float64], offsets: NDArray[np.int64], factor: NDArray[np.float64]) -> None:
    """Multiply weights[r] by factor[t]."""
    for k in range(len(offsets) - 1):
        for row in range(offsets[k], offsets[k + 1]):
            weights[row] *= factor[row - offsets[k]]
