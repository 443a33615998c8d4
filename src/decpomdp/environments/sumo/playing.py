"""One episode: a team, or one of SUMO's own programs, on one simulation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.environments.sumo.process import SimulationProcess
from decpomdp.environments.sumo.reading import Reading
from decpomdp.environments.sumo.simulation import Measures, Simulation
from decpomdp.kernels import rollout
from decpomdp.kernels.rollout import Paths, Players
from decpomdp.kernels.sampling import key_of

Player = Simulation | SimulationProcess


class Played(NamedTuple):
    """Episodes of one length, one after the other, and what the lights went through."""

    paths: Paths  # row k * T + t
    waits: NDArray[np.float64]  # [r, n] vehicles waiting for each light, in the mean over the decision
    present: NDArray[np.float64]  # [r, n] vehicles on the way to each light after the decision, standing or not
    measures: list[Measures]  # [k]

    def part(self, number: int, length: int) -> "Played":
        """The room of one episode, still without its measures."""
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
    room: Played,
) -> Measures:
    """Fill `room` with the episode of that seed; without players, with what SUMO's own `control` does."""
    shown, paths = player.reset(seed, control), room.paths
    nodes, actions = np.zeros((2, 1, len(lights)), np.int16)
    beliefs = np.zeros((1, len(lights), 1 if players is None else players.initial.shape[2]))
    chance = np.ones((1, len(lights)), np.float32)
    for t in range(len(room.waits)):
        seen = reading.all(lights, shown.views)[None]
        if players is not None:
            rollout.choose(players, key_of(seed), t, seen, nodes, actions, beliefs, chance)
        paths.observations[t], paths.actions[t], paths.nodes[t] = seen[0], actions[0], nodes[0]
        if paths.behaviour.size:
            paths.behaviour[t] = chance[0]
        shown = player.step(None if players is None else actions[0])
        paths.rewards[t], room.waits[t], room.present[t] = -shown.waits.sum(), shown.waits, shown.present
    return player.measures()


def episode_seed(seed: int, number: int) -> int:
    """Of one episode of a sequence: 63 bits, so that no short number that a user would choose is among them."""
    key = int(seed) & 0xFFFFFFFFFFFFFFFF
    return int(np.random.SeedSequence([key, number]).generate_state(1, np.uint64)[0] >> np.uint64(1)) | 1 << 62
