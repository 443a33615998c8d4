"""Episodes of the grid: play one, and pool the lights' parts of it as data for a controller that all lights share.

*Credit.* The team's reward is the sum of what waits at every light, in which one light's part is lost among the others.
For learning only, a light is credited with minus the number of vehicles on their way to it, standing or rolling, and
(with weight `neighbours`) to the lights next to it. The time that vehicles spend there is what a free street takes,
which no light can change, plus what the light costs them. Standing vehicles alone would not do: a light that switches
makes a queue roll at once, and the vehicles that it stops still roll for a while. Reports and comparisons use the
team's reward.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes
from decpomdp.environments.sumo import network
from decpomdp.environments.sumo.process import SimulationProcess
from decpomdp.environments.sumo.reading import Reading
from decpomdp.environments.sumo.simulation import Measures, Simulation
from decpomdp.kernels import rollout
from decpomdp.kernels.rollout import Paths, Players
from decpomdp.kernels.sampling import key_of

Player = Simulation | SimulationProcess


class Played(NamedTuple):
    """Episodes of one length, one after the other, with what happened at every light."""

    paths: Paths  # row k * T + t
    waits: NDArray[np.float64]  # [r, n] vehicles waiting for each light, in the mean over the decision
    present: NDArray[np.float64]  # [r, n] vehicles on the way to each light after the decision, standing or not
    measures: list[Measures]  # [k]

    def part(self, number: int, length: int) -> "Played":
        """The rows of one episode, without its measures."""
        rows = slice(number * length, (number + 1) * length)
        paths = Paths._make(field[rows] for field in self.paths)
        return Played(paths, self.waits[rows], self.present[rows], [])


def play_episode(
    player: Player,
    reading: Reading,
    lights: tuple[str, ...],
    players: Players | None,
    seed: int,
    control: str,
    out: Played,
) -> Measures:
    """Play the episode of that seed into `out`; without players, SUMO's own `control` sets the lights."""
    shown, paths = player.reset(seed, control), out.paths
    nodes, actions = np.zeros((2, 1, len(lights)), np.int16)
    beliefs = np.zeros((1, len(lights), 1 if players is None else players.initial.shape[2]))
    chance = np.ones((1, len(lights)), np.float32)
    for t in range(len(out.waits)):
        seen = reading.all(lights, shown.views)[None]
        if players is not None:
            rollout.choose(players, key_of(seed), t, seen, nodes, actions, beliefs, chance)
        paths.observations[t], paths.actions[t], paths.nodes[t] = seen[0], actions[0], nodes[0]
        if paths.behaviour.size:
            paths.behaviour[t] = chance[0]
        shown = player.step(None if players is None else actions[0])
        paths.rewards[t], out.waits[t], out.present[t] = -shown.waits.sum(), shown.waits, shown.present
    return player.measures()


def episode_seed(seed: int, number: int) -> int:
    """The seed of one episode of a sequence: at least 2^62, so it differs from any seed that a user would choose."""
    key = int(seed) & 0xFFFFFFFFFFFFFFFF
    return int(np.random.SeedSequence([key, number]).generate_state(1, np.uint64)[0] >> np.uint64(1)) | 1 << 62


def pooled(agents: tuple[Agent, ...], played: Played, discount: float, neighbours: float = 0.0) -> Episodes:
    """Episode k of light n as episode k * N + n of the first agent; `discount`: of the credit."""
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
    """[m, n]: weight of the vehicles on their way to light m in the credit of light n."""
    table = np.eye(lights)
    for n, others in enumerate(network.neighbours(round(lights**0.5))):
        table[others[others >= 0], n] = weight
    return table
