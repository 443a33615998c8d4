"""Sums along episodes, in logs."""

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
