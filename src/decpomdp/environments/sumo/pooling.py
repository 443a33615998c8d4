"""What every light went through as an episode of one agent: data for a controller that all lights share.

*Credit.* The team's reward is the sum of what waits at every light. One light's part in it drowns in what the others
do. For learning, and for nothing else, a light is credited with minus the number of vehicles that are on their way to
it, standing or rolling, and (with weight `neighbours`) to the lights next to it. The time that vehicles spend there is
what they would need on a free street, which no light can change, and what the light costs them. Those that stand are
not all: whoever switches makes a queue roll at once, and the vehicles that it stops still roll for a while. Whatever is
reported or compared is the team's.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes
from decpomdp.environments.sumo import network
from decpomdp.environments.sumo.playing import Played


def pooled(agents: tuple[Agent, ...], played: Played, discount: float, neighbours: float = 0.0) -> Episodes:
    """Episode k of light n becomes episode k * N + n of the first agent; `discount`: of the credit."""
    paths, lights, count = played.paths, len(agents), len(played.measures)
    length = len(played.present) // count
    credit = -played.present @ nearby(lights, neighbours)  # [r, n]

    def by_light(table: NDArray) -> NDArray:
        """From [k * T + t, n] to [(k * N + n) * T + t]."""
        return np.ascontiguousarray(table.reshape(count, length, lights).swapaxes(1, 2)).reshape(-1)

    return Episodes(
        agents=agents[:1],
        offsets=np.arange(count * lights + 1) * length,
        observations=by_light(paths.observations)[:, None],
        actions=by_light(paths.actions)[:, None],
        behaviour=np.minimum(by_light(paths.behaviour), np.float32(1))[:, None],
        rewards=by_light(credit),
        discount=discount,
    )


def nearby(lights: int, weight: float) -> NDArray[np.float64]:
    """[m, n]: how much of what is on its way to light m is credited to light n."""
    table = np.eye(lights)
    for n, others in enumerate(network.neighbours(round(lights**0.5))):
        table[others[others >= 0], n] = weight
    return table
