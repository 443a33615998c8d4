"""The auxiliary controller: the probability that an agent explores in each of its nodes.

The paper's behaviour mixes the primary controller with uniform actions, p(a|h) = sum_y p(a|y,h) p(y|h), where the
auxiliary controller shares nodes and moves with the primary one and has only e_i = p(explore | node i) of its own. The
paper gives no update for e, only a constant u = 100 and plots of a falling rate. This is a RECONSTRUCTION: a node in
which the agent has acted n_i times explores with probability e_i = u / (u + n_i), the mean of a Beta(u, 0) belief
after n_i exploitations, n_i being accumulated soft visits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Team

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Exploration:
    """Visits of every node of every agent, and the rates that follow."""

    strength: float  # u
    visits: tuple[Floats, ...]  # [n][i]

    @classmethod
    def begin(cls, strength: float, nodes: Sequence[int], rate: float = 1.0) -> "Exploration":
        """Every node explores at `rate`."""
        return cls(strength, tuple(np.full(size, strength * (1 / rate - 1)) for size in nodes))

    def rates(self) -> list[Floats]:
        """[n][i]: probability of exploring."""
        return [self.strength / (self.strength + seen) for seen in self.visits]

    def behaviour(self, team: Team) -> Team:
        """The primary controllers with exploration in every node."""
        return team.exploring(self.rates())

    def after(self, visits: Sequence[Floats]) -> "Exploration":
        """With a batch's soft visits added."""
        return Exploration(self.strength, tuple(a + b for a, b in zip(self.visits, visits, strict=True)))

    def chosen(self, nodes: Sequence[NDArray[np.int64]]) -> "Exploration":
        """Restricted to these nodes of every agent."""
        return Exploration(self.strength, tuple(seen[own] for seen, own in zip(self.visits, nodes, strict=True)))

    def mean_rate(self, visits: Sequence[Floats]) -> float:
        """Probability of exploring at a step, when nodes are visited in these proportions."""
        parts = [np.average(e, weights=w + 1e-12) for e, w in zip(self.rates(), visits, strict=True)]
        return float(np.mean(parts))
