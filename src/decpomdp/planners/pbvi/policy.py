"""A policy on beliefs: the vectors that planning leaves behind."""

from dataclasses import dataclass

import numpy as np

from decpomdp.core import checks
from decpomdp.planners.pbvi.beliefs import Floats, Whole


@dataclass(frozen=True, slots=True)
class AlphaPolicy:
    """What to do at any belief: the action of the vector that is worth most there."""

    vectors: Floats  # [i, s] each at most the value of a policy that begins with its action
    actions: Whole  # [i] joint action

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "vectors", checks.array("vectors", self.vectors, "i, s", (None, None), np.float64))
        put(self, "actions", checks.array("actions", self.actions, "i", (len(self.vectors),), np.int64))
