"""Batches of episodes as the search sees them: make room for them, join them, take some of them."""

import numpy as np
from numpy.typing import NDArray

from decpomdp.kernels.machines import Played


def room(episodes: int, horizon: int, agents: int) -> Played:
    """Space for episodes."""
    shape = (episodes, horizon, agents)
    return Played(
        np.empty(shape, np.int16),
        np.empty(shape, np.int16),
        np.empty(shape, np.int16),
        np.empty(shape[:2]),
        np.empty(episodes, np.int64),
    )


def join(parts: list[Played]) -> Played:
    """Batches of one horizon as one."""
    return parts[0] if len(parts) == 1 else Played._make(np.concatenate(fields) for fields in zip(*parts, strict=True))


def take(played: Played, numbers: NDArray[np.int64]) -> Played:
    """Some of the episodes."""
    return Played._make(field[numbers] for field in played)


def best(returns: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The numbers of the highest returns, best first."""
    return np.argsort(-returns, kind="stable")[:count]
