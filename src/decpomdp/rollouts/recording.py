"""Record a team with everything that its agents cannot see: nodes, the states of a model, street scenes."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, Simulator, concatenate
from decpomdp.core.checks import whole
from decpomdp.core.scene import OnStreets, StreetScene
from decpomdp.domains.load import Problem, opened
from decpomdp.rollouts.collect import LONGEST, episodes_of, pieces_of, play_piece
from decpomdp.rollouts.dense import DenseSimulator, as_simulator
from decpomdp.rollouts.play import TeamPlayer, players_of
from decpomdp.rollouts.policies import Policy, team_for


class Recording(NamedTuple):
    """Episodes with nodes, states and scenes. Entries after the end of an episode are 0."""

    episodes: Episodes
    nodes: NDArray[np.int16]  # [k, t, n] in which the action was chosen
    states: NDArray[np.int64] | None  # [k, t] before the action; None: the problem has no model
    scenes: tuple[tuple[StreetScene, ...], ...]  # [k][t] queues before the step, lights in it; empty if not recorded


def record(
    problem: Problem, team: Policy, episodes: int, horizon: int, seed: int = 0, *, scenes: bool = False
) -> Recording:
    """The same episodes as `simulate`, with the nodes of the agents and the states of a model.

    With `scenes`, also the street scenes of a simulator that has streets. A simulator with a compiled `play` repeats
    the recorded actions step by step for its states or scenes, all episodes side by side.
    """
    count, length = whole("episodes", episodes, 1, 2**53), whole("horizon", horizon, 1, LONGEST)
    key = whole("seed", seed, 0, 2**64 - 1)
    simulator = as_simulator(opened(problem))
    players = players_of(team_for(team, simulator))
    if isinstance(simulator, TeamPlayer):
        batch, hidden = play_piece(simulator, players, 0, count, length, key), _Hidden(simulator, count, scenes)
        if hidden.recorded:
            hidden.repeat(batch.paths.actions.reshape(count, length, -1), key)
        parts = [(batch, hidden)]
    else:
        parts = []
        for first, part in pieces_of(simulator, count, length):
            hidden = _Hidden(simulator, part, scenes)
            parts.append((play_piece(simulator, players, first, part, length, key, look=hidden.look), hidden))
    nodes = np.zeros((count, max(int(batch.lengths.max()) for batch, _ in parts), len(simulator.agents)), np.int16)
    lengths = np.concatenate([batch.lengths for batch, _ in parts])
    nodes[np.arange(nodes.shape[1]) < lengths[:, None]] = np.concatenate([batch.paths.nodes for batch, _ in parts])
    return Recording(
        concatenate([episodes_of(simulator, batch) for batch, _ in parts]),
        nodes,
        parts[0][1].states(),
        tuple(episode for batch, hidden in parts for episode in hidden.scenes(batch.lengths)),
    )


class _Hidden:
    """States of a model, and scenes of a simulator that has streets, after the reset and after every step."""

    def __init__(self, simulator: Simulator, episodes: int, scenes: bool) -> None:
        self.simulator, self.episodes = simulator, episodes
        self.model = simulator if isinstance(simulator, DenseSimulator) else None
        self.streets = simulator if scenes and isinstance(simulator, OnStreets) else None
        self._states: list[NDArray[np.int64]] = []  # [t][k]
        self._scenes: list[list[StreetScene]] = []  # [t][k]

    @property
    def recorded(self) -> bool:
        """Whether the simulator has states or scenes to record."""
        return self.model is not None or self.streets is not None

    def look(self) -> None:
        """Record this moment."""
        if self.model is not None:
            self._states.append(self.model.states)
        if self.streets is not None:
            self._scenes.append([self.streets.street_scene(k) for k in range(self.episodes)])

    def repeat(self, actions: NDArray[np.int16], seed: int) -> None:
        """Take actions[k, t, n] again and record every moment."""
        self.simulator.reset(self.episodes, seed)
        self.look()
        for t in range(actions.shape[1]):
            self.simulator.step(actions[:, t])
            self.look()

    def states(self) -> NDArray[np.int64] | None:
        """[k, t]: the state before every action."""
        return None if self.model is None else np.stack(self._states[:-1], axis=1)

    def scenes(self, lengths: NDArray[np.int64]) -> Iterator[tuple[StreetScene, ...]]:
        """[k][t]: queues before every step, and the lights in it."""
        for k, length in enumerate(lengths.tolist() if self.streets is not None else ()):
            moments = zip(self._scenes[:length], self._scenes[1 : length + 1], strict=True)
            yield tuple(StreetScene(before[k].waiting, after[k].green) for before, after in moments)
