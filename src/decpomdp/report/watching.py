"""A team played on a simulator, with everything in it: nodes, and the streets where there are any.

What a simulator shows only now (`street_scene`) is looked at while it is played. One that says it is `quick` (a member
that is true: thousands of its episodes take a moment) plays a batch; any other plays one episode after the other, for
it may be a program of its own that runs once at a time.
"""

from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Simulator, Step, Team
from decpomdp.core.scene import OnStreets, StreetMap, StreetScene
from decpomdp.report.playing import Played
from decpomdp.rollouts.play import TeamPlayer, play_batch, players_of

Scenes = tuple[tuple[StreetScene, ...], ...]  # [k][t]


@dataclass(frozen=True, slots=True)
class Watched:
    """Episodes of different lengths, with what could be seen from outside."""

    played: Played
    streets: StreetMap | None
    scenes: Scenes  # waiting before the step, green in it; empty without streets

    def first(self, episodes: int, steps: int) -> "Watched":
        """The first ones, cut off after so many steps."""
        all_of_it, lengths = self.played, np.minimum(self.played.lengths[:episodes], steps)
        seen, nodes, actions = (
            field[:episodes, :steps] for field in (all_of_it.observations, all_of_it.nodes, all_of_it.actions)
        )
        cut = Played(None, seen, nodes, actions, all_of_it.rewards[:episodes, :steps], lengths)
        return Watched(cut, self.streets, tuple(episode[:steps] for episode in self.scenes[:episodes]))


def watch(simulator: Simulator, team: Team, episodes: int, horizon: int, seed: int) -> Watched:
    """Play `episodes` episodes of at most `horizon` steps and look on."""
    team.check_fits(simulator)
    at_once = episodes if is_quick(simulator) else 1
    players, seeds = players_of(team), np.random.SeedSequence(seed).generate_state(episodes, np.uint32)
    played, scenes = [], []
    for first in range(0, episodes, at_once):
        looking = _Looking(simulator)
        batch = play_batch(looking, players, at_once, horizon, int(seeds[first]))
        ends = np.cumsum(batch.lengths)
        for k, (end, length) in enumerate(zip(ends.tolist(), batch.lengths.tolist(), strict=True)):
            paths = batch.paths
            rows = slice(end - length, end)
            played.append((paths.observations[rows], paths.nodes[rows], paths.actions[rows], paths.rewards[rows]))
            scenes.append(looking.seen(k, length))
    streets = simulator.street_map() if isinstance(simulator, OnStreets) else None
    return Watched(_together(played), streets, tuple(scenes) if streets else ())


def is_quick(simulator: Simulator) -> TypeGuard[TeamPlayer]:
    """Whether thousands of episodes take a moment."""
    return bool(getattr(simulator, "quick", False)) and isinstance(simulator, TeamPlayer)


def play_quickly(simulator: TeamPlayer, team: Team, episodes: int, horizon: int, seed: int) -> Played:
    """Many episodes of a simulator that plays teams by itself."""
    team.check_fits(simulator)
    paths = simulator.play(players_of(team), episodes, horizon, seed)
    shape = (episodes, horizon)
    seen, nodes, actions = (
        field.reshape(*shape, -1).astype(np.int64) for field in (paths.observations, paths.nodes, paths.actions)
    )
    lengths = np.full(episodes, horizon)
    return Played(None, seen, nodes, actions, paths.rewards.reshape(shape), lengths)


class _Looking:
    """A simulator that is looked at after every step; for `play_batch` it is one like any other."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.agents: tuple[Agent, ...] = simulator.agents
        self.discount, self.name, self.repeatable = simulator.discount, simulator.name, simulator.repeatable
        self._count = 0
        self._scenes: list[list[StreetScene]] = []  # [t][k]

    def reset(self, episodes: int, seed: int) -> NDArray[np.integer] | None:
        shown = self.simulator.reset(episodes, seed)
        self._count = episodes
        self._look()
        return shown

    def step(self, actions: NDArray[np.integer]) -> Step:
        step = self.simulator.step(actions)
        self._look()
        return step

    def seen(self, k: int, length: int) -> tuple[StreetScene, ...]:
        """Per step what waited before it, and what was green in it."""
        if not self._scenes:
            return ()
        pairs = zip(self._scenes[:length], self._scenes[1 : length + 1], strict=True)
        return tuple(StreetScene(before[k].waiting, after[k].green) for before, after in pairs)

    def _look(self) -> None:
        if isinstance(self.simulator, OnStreets):
            self._scenes.append([self.simulator.street_scene(k) for k in range(self._count)])


def _together(played: list[tuple[NDArray, NDArray, NDArray, NDArray]]) -> Played:
    """Episodes of different lengths side by side, filled up with zeros."""
    lengths = np.array([len(rewards) for *_, rewards in played])
    longest = int(lengths.max())

    def filled(column: int) -> NDArray:
        parts = [np.asarray(one[column]) for one in played]
        table = np.zeros((len(parts), longest, *parts[0].shape[1:]), parts[0].dtype)
        for k, part in enumerate(parts):
            table[k, : len(part)] = part
        return table

    seen, nodes, actions = (filled(column).astype(np.int64) for column in range(3))
    return Played(None, seen, nodes, actions, filled(3), lengths)
