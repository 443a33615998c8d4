"""What the kernels that play need to be given: room for what happens, and a key for their random numbers."""

import numpy as np

from decpomdp.kernels.rollout import Paths


def empty_paths(rows: int, agents: int, behaviour: bool) -> Paths:
    """Room for `rows` joint steps."""
    return Paths(
        observations=np.empty((rows, agents), np.int16),
        actions=np.empty((rows, agents), np.int16),
        nodes=np.empty((rows, agents), np.int16),
        behaviour=np.empty((rows if behaviour else 0, agents), np.float32),
        rewards=np.empty(rows),
    )


def key_of(seed: int) -> np.uint64:
    """Any whole number as the key of the random numbers."""
    return np.uint64(int(seed) & 0xFFFFFFFFFFFFFFFF)
