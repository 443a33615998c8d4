"""The protocol of environments without a model. Whatever learns by interaction accepts a model or one of these.

A simulator plays a batch of independent episodes side by side. `reset` starts them, `step` advances all of them by
one joint action each. Rows of finished episodes are ignored. A simulator that is `repeatable` plays the same batch
again when it is given the same seed and the same actions; paired comparisons need that.
"""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import Agent


class Step(NamedTuple):
    """What a batch of joint actions led to."""

    observations: NDArray[np.integer]  # [k, n] what each agent sees next
    rewards: NDArray[np.floating]  # [k] the team's reward
    ended: NDArray[np.bool_]  # [k] the episode is over


@runtime_checkable
class Simulator(Protocol):
    """Batch reset and batch step with discrete local actions and observations and one team reward."""

    @property
    def agents(self) -> tuple[Agent, ...]: ...
    @property
    def discount(self) -> float: ...
    @property
    def name(self) -> str: ...
    @property
    def repeatable(self) -> bool: ...

    def reset(self, episodes: int, seed: int) -> NDArray[np.integer] | None:
        """Start `episodes` new episodes; [k, n] what is seen before the first action, None if nothing is."""
        ...

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Take actions[k, n] in every episode."""
        ...
