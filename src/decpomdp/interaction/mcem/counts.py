"""Episodes with their node paths, and every decision weighted by the rewards that followed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Team
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.kernels.rollout import Paths
from decpomdp.rollouts.play import play, players_of

Floats = NDArray[np.float64]

LARGEST = 3.0  # times that a probability may grow in one update
DOUBT = 5.0  # decisions' worth of belief that all choices of a row are alike


class NodeTables(NamedTuple):
    """One agent's controller."""

    first: Floats  # [1 + o, i] row 0: nothing was seen before the first action
    act: Floats  # [i, a]
    move: Floats  # [i, a, o, j]


class Recorded(NamedTuple):
    """Episodes with the nodes that were visited."""

    paths: Paths
    lengths: NDArray[np.int64]  # [k]
    terminated: NDArray[np.bool_]  # [k]

    @property
    def last(self) -> NDArray[np.int64]:
        """[k]: last row of every episode."""
        return np.cumsum(self.lengths) - 1

    def times(self) -> NDArray[np.int64]:
        """[r]: the step of every row."""
        return np.arange(len(self.paths.rewards)) - np.repeat(self.last + 1 - self.lengths, self.lengths)

    def onward(self) -> NDArray[np.int64]:
        """Rows that are followed by another of the same episode."""
        inner = np.ones(len(self.paths.rewards), bool)
        inner[self.last] = False
        return np.flatnonzero(inner)

    def moves(self, n: int, shape: tuple[int, ...]) -> Floats:
        """[i, a, o, j]: how often agent n moved so."""
        return _tally(self.move_places(n, shape), np.ones(len(self.onward())), shape)

    def move_places(self, n: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Flat index of (i, a, o, j) for every row of `onward`."""
        here, node, action = self.onward(), self.paths.nodes[:, n], self.paths.actions[:, n]
        return np.ravel_multi_index(
            (node[here], action[here], self.paths.observations[here + 1, n], node[here + 1]), shape
        )


def play_recorded(player: EpisodePlayer, team: Team, episodes: int, horizon: int) -> Recorded:
    """Play `team` and record its node paths."""
    player.check(episodes * horizon)
    seed, threads = player.seed(), player.threads
    batch = play(player.simulator, players_of(team), episodes, horizon, seed, behaviour=False, threads=threads)
    recorded = Recorded(*batch)
    player.steps += len(recorded.paths.rewards)
    return recorded


def reward_range(played: Recorded, so_far: tuple[float, float]) -> tuple[float, float]:
    """Smallest and largest reward of all data; after its end an episode earns 0."""
    rewards = played.paths.rewards
    low, high = min(so_far[0], float(rewards.min())), max(so_far[1], float(rewards.max()))
    return (min(low, 0.0), max(high, 0.0)) if played.terminated.any() else (low, high)


def worth(played: Recorded, discount: float, bounds: tuple[float, float]) -> Floats:
    """[r]: discounted sum of the scaled rewards from the row on."""
    low, high = bounds
    width = (high - low) or 1.0
    scaled = discount ** played.times().astype(np.float64) * (played.paths.rewards - low) / width
    if played.terminated.any() and discount < 1:
        ended = played.last[played.terminated]
        after = discount ** played.lengths[played.terminated].astype(np.float64)
        scaled[ended] += after / (1 - discount) * -low / width
    sums = np.cumsum(scaled)
    return np.repeat(sums[played.last], played.lengths) - sums + scaled


def mean_worths(
    played: Recorded, n: int, tables: NodeTables, discount: float, bounds: tuple[float, float]
) -> NodeTables:
    """Mean worth of each of agent n's decisions, relative to the mean of its row.

    Times the controller's probabilities these are the expected weighted counts, free of the effect of exploration and
    of the sampling noise of the choices.
    """
    value = worth(played, discount, bounds)
    usual = discount ** played.times().astype(np.float64)
    node, action = played.paths.nodes[:, n].astype(np.int64), played.paths.actions[:, n].astype(np.int64)
    starts = played.last + 1 - played.lengths
    after = played.onward() + 1
    first = np.ravel_multi_index((played.paths.observations[starts, n] + 1, node[starts]), tables.first.shape)
    act = np.ravel_multi_index((node, action), tables.act.shape)
    move = played.move_places(n, tables.move.shape)
    return NodeTables(
        _relative(first, value[starts], usual[starts], tables.first),
        _relative(act, value, usual, tables.act),
        _relative(move, value[after], usual[after], tables.move),
    )


def normalised(table: Floats, worth: Floats, stride: float, least: float) -> Floats:
    """The next probabilities: over-relaxed EM, `stride` times as far (in logs) as `worth` says."""
    moved = table * np.minimum(worth**stride, LARGEST)
    shares = moved / np.maximum(moved.sum(axis=-1, keepdims=True), 1e-300)
    return (1 - least) * shares + least / table.shape[-1]


def _relative(places: NDArray[np.int64], value: Floats, usual: Floats, table: Floats) -> Floats:
    """Mean value per decision over the mean of its row; few decisions are pulled towards that mean."""
    total, visits = _tally(places, value, table.shape), _tally(places, usual, table.shape)
    row = total.sum(axis=-1, keepdims=True) / np.maximum(visits.sum(axis=-1, keepdims=True), 1e-300)
    shrunk = (total + DOUBT * row) / (visits + DOUBT)
    mean = (table * shrunk).sum(axis=-1, keepdims=True)
    return np.where(mean > 0, shrunk / np.maximum(mean, 1e-300), 1.0)


def _tally(places: NDArray[np.int64], weights: Floats, shape: tuple[int, ...]) -> Floats:
    sums: Floats = np.bincount(places, weights, int(np.prod(shape))).astype(np.float64)
    return sums.reshape(shape)
