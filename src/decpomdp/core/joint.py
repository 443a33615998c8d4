"""Joint numbers: one number for the parts (actions, observations, nodes) of all agents; the last agent changes fastest.

numpy's `ravel_multi_index` and `unravel_index` allow at most 63 agents.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from decpomdp.core.errors import InputError

LARGEST = 2**63 - 1  # joint numbers have 64 bits


def joint_numbers(parts: Sequence[ArrayLike] | NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The joint number of every agent's part; `sizes`: how many parts each agent has."""
    if math.prod(sizes) > LARGEST:
        raise InputError(f"joint numbers: expected at most {LARGEST:.3g} of them, got {float(math.prod(sizes)):.3g}")
    joint: NDArray[np.int64] = np.zeros(np.shape(parts[0]), np.int64)
    for part, size in zip(parts, sizes, strict=True):
        joint = joint * size + np.asarray(part, np.int64)
    return joint


def joint_parts(joint: ArrayLike, sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """[n]: every agent's part of joint numbers."""
    rest, parts = np.asarray(joint, np.int64), []
    for size in reversed(sizes):
        rest, part = np.divmod(rest, size)
        parts.append(part)
    return parts[::-1]


def strides_of(sizes: Sequence[int]) -> NDArray[np.int64]:
    """[n]: how far joint numbers are apart when only agent n's part grows by one."""
    return np.array([math.prod(sizes[n + 1 :]) for n in range(len(sizes))], np.int64)
