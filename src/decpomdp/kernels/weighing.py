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
