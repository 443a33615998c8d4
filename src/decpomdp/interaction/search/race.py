"""The best of several plans by successive halving on common random numbers: most drop out after few episodes."""

import numpy as np

from decpomdp.interaction.players import Arena
from decpomdp.interaction.search.machines import Plan
from decpomdp.interaction.search.sizes import Sizes

KEPT = 4  # one in so many goes on to the next heat, which has as many times more episodes


def race(arena: Arena, plans: list[Plan], sizes: Sizes, seed: int) -> Plan:
    """The plan with the highest mean return in the last heat."""
    episodes, first = sizes.race_episodes, 0
    while len(plans) > 1:
        means = np.array([arena.returns(plan, episodes, sizes.learning, seed, first).mean() for plan in plans])
        best = np.argsort(-means, kind="stable")[: max(1, len(plans) // KEPT)]
        plans = [plans[int(i)] for i in best]
        first, episodes = first + episodes, episodes * KEPT
    return plans[0]
