"""Play a team against any simulator, a batch of episodes side by side."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, InputError, Simulator
from decpomdp.core.agent import check_symbols
from decpomdp.core.checks import array
from decpomdp.kernels import rollout
from decpomdp.kernels.rollout import Paths, Players, empty_paths
from decpomdp.kernels.sampling import key_of


class Batch(NamedTuple):
    """Played episodes of different lengths."""

    paths: Paths  # rows of all episodes, one after the other
    lengths: NDArray[np.int64]  # [k]
    terminated: NDArray[np.bool_]  # [k] the simulator ended it


class Checked(NamedTuple):
    """A simulator's `Step` after a look at every part of it."""

    observations: NDArray[np.int16]  # [k, n]
    rewards: NDArray[np.float64]  # [k]
    ended: NDArray[np.bool_]  # [k]


def play_batch(
    simulator: Simulator,
    players: Players,
    episodes: int,
    horizon: int,
    seed: int,
    look: Callable[[], None] | None = None,
) -> Batch:
    """`episodes` episodes of at most `horizon` steps; against a DenseSimulator the same as its own `play`.

    `look` is called after the reset and after every step, for example to record the simulator's hidden states.
    """
    agents = len(simulator.agents)
    grid = empty_paths(episodes * horizon, agents, behaviour=True)
    table = Paths._make(field.reshape(horizon, episodes, *field.shape[1:]) for field in grid)
    actions, nodes = np.zeros((episodes, agents), np.int16), np.zeros((episodes, agents), np.int16)
    beliefs = np.zeros((episodes, agents, players.initial.shape[2]))
    running, lengths = np.ones(episodes, bool), np.zeros(episodes, np.int64)
    seen = begun(simulator, episodes, seed)
    if look is not None:
        look()
    for t in range(horizon):
        rollout.choose(players, key_of(seed), t, seen, nodes, actions, beliefs, table.behaviour[t])
        table.observations[t], table.actions[t], table.nodes[t] = seen, actions, nodes
        lengths += running
        seen, table.rewards[t], ended = stepped(simulator, actions, running)
        if look is not None:
            look()
        running &= ~ended
        if not running.any():
            break
    return Batch(_by_episode(table, lengths), lengths, ~running)


def _by_episode(table: Paths, lengths: NDArray[np.int64]) -> Paths:
    """From [t, k, ...] to rows, episode after episode, without what came after an episode's end."""
    times = np.arange(table.rewards.shape[0])
    kept = times[None, :] < lengths[:, None]  # [k, t]
    return Paths._make(np.ascontiguousarray(np.swapaxes(field, 0, 1)[kept]) for field in table)


def begun(simulator: Simulator, episodes: int, seed: int) -> NDArray[np.int16]:
    """[k, n]: what is seen at the start of new episodes."""
    shown = simulator.reset(episodes, seed)
    if shown is None:
        return np.full((episodes, len(simulator.agents)), NO_OBSERVATION, np.int16)
    return _seen(simulator, shown, np.ones(episodes, bool))


def _seen(simulator: Simulator, shown: NDArray[np.integer], running: NDArray[np.bool_]) -> NDArray[np.int16]:
    """Observations checked against the alphabets; finished episodes see symbol 0, which nobody uses."""
    seen = array("simulator observations", shown, "k, n", (len(running), len(simulator.agents)), np.int64)
    seen = np.where(running[:, None], seen, 0)
    check_symbols(f"simulator {simulator.name}", "observation", seen, simulator.agents)
    return seen.astype(np.int16)


def stepped(simulator: Simulator, actions: NDArray[np.int16], running: NDArray[np.bool_]) -> Checked:
    """One step of all episodes; only what is `running` counts."""
    step = simulator.step(actions.astype(np.int64))
    if not isinstance(step, tuple) or len(step) != 3:
        raise InputError(
            f"simulator {simulator.name}: expected (observations, rewards, ended) from step, got {_kind(step)}"
        )
    shape = (len(running),)
    rewards = np.where(running, array("simulator rewards", step[1], "k", shape, np.float64, finite=False), 0.0)
    ended = array("simulator ended", step[2], "k", shape, np.bool_)
    seen = _seen(simulator, step[0], running & ~ended)
    return Checked(seen, array("simulator rewards", rewards, "k", shape, np.float64), ended)


def _kind(step: object) -> str:
    return f"{len(step)} of them" if isinstance(step, tuple) else type(step).__name__
