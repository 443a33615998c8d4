"""Learning with many agents: each agent's own importance ratios, and a sketch of what all of them saw."""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.compiled import kernel
from decpomdp.kernels.sampling import draw, stream

ONE, TOP = np.uint64(1), np.uint64(63)


@kernel
def own_ratios(
    logs: NDArray[np.float64],  # [r, 1] log probability of one agent's actions under its controller
    behaviour: NDArray[np.float32],  # [r] their probability under who acted
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


@kernel
def sketch(
    observations: NDArray[np.int16],  # [r, n] -1: nothing was seen
    seed: np.uint64,
    out: NDArray[np.float64],  # [r, at most 64] filled
) -> None:
    """A few random sums of what all agents saw: every (agent, symbol) adds a fixed +1 or -1 to each of them."""
    for row in range(observations.shape[0]):
        for f in range(out.shape[1]):
            out[row, f] = 0.0
        for n in range(observations.shape[1]):
            signs = draw(stream(seed, n), 1 + np.int64(observations[row, n]))
            for f in range(out.shape[1]):
                out[row, f] += 1.0 - 2.0 * np.float64((signs >> np.uint64(f)) & ONE)
