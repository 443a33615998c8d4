"""Play a team on a simulator: step by step for a batch of episodes, or with the simulator's own compiled `play`."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, InputError, Simulator, Team
from decpomdp.core.agent import check_symbols
from decpomdp.core.checks import array
from decpomdp.core.checks import rewards as checked_rewards
from decpomdp.kernels import rollout
from decpomdp.kernels.rollout import Paths, Players, empty_paths
from decpomdp.kernels.sampling import Sampler, key_of, sampler, streams

Look = Callable[[], None]


@runtime_checkable
class TeamPlayer(Simulator, Protocol):
    """A simulator with its own `play`: complete episodes of a team in compiled code, on several threads."""

    @property
    def plays_teams(self) -> bool: ...

    def play(
        self,
        players: Players,
        episodes: int,
        horizon: int,
        seed: int,
        first: int = 0,
        behaviour: bool = False,
        threads: int | None = None,
    ) -> Paths:
        """Episodes first, first + 1, ... of the sequence that `seed` fixes; none ends before `horizon`."""
        ...


class EpisodeBatch(NamedTuple):
    """Played episodes of different lengths."""

    paths: Paths  # rows of all episodes, one after the other
    lengths: NDArray[np.int64]  # [k]
    terminated: NDArray[np.bool_]  # [k] the simulator ended it


class Checked(NamedTuple):
    """A simulator's `Step`, checked."""

    observations: NDArray[np.int16]  # [k, n]
    rewards: NDArray[np.float64]  # [k]
    ended: NDArray[np.bool_]  # [k]


def play(
    simulator: Simulator,
    players: Players,
    episodes: int,
    horizon: int,
    seed: int,
    first: int = 0,
    behaviour: bool = True,
    threads: int | None = None,
    look: Look | None = None,
) -> EpisodeBatch:
    """Episodes first, first + 1, ... of the sequence of a TeamPlayer, or one batch of any other simulator.

    `look`: see `play_batch`; it is not called by a TeamPlayer.
    """
    if isinstance(simulator, TeamPlayer):
        paths = simulator.play(players, episodes, horizon, seed, first, behaviour=behaviour, threads=threads)
        return EpisodeBatch(paths, np.full(episodes, horizon), np.zeros(episodes, bool))
    return play_batch(simulator, players, episodes, horizon, seed, look)


def play_batch(
    simulator: Simulator,
    players: Players,
    episodes: int,
    horizon: int,
    seed: int,
    look: Look | None = None,
) -> EpisodeBatch:
    """`episodes` episodes of at most `horizon` steps; for a DenseSimulator the same as its own `play`.

    `look` is called after the reset and after every step, for example to record the simulator's hidden states.
    """
    agents = len(simulator.agents)
    grid = empty_paths(episodes * horizon, agents, behaviour=True)
    table = Paths._make(field.reshape(horizon, episodes, *field.shape[1:]) for field in grid)
    actions, nodes = np.zeros((episodes, agents), np.int16), np.zeros((episodes, agents), np.int16)
    beliefs = np.zeros((episodes, agents, players.initial.shape[2]))
    running, lengths = np.ones(episodes, bool), np.zeros(episodes, np.int64)
    seen, keys = begin_batch(simulator, episodes, seed), streams(key_of(seed), np.arange(episodes))
    if look is not None:
        look()
    for t in range(horizon):
        rollout.choose(players, keys, t, seen, nodes, actions, beliefs, table.behaviour[t])
        table.observations[t], table.actions[t], table.nodes[t] = seen, actions, nodes
        lengths += running
        seen, table.rewards[t], ended = step_batch(simulator, actions, running)
        if look is not None:
            look()
        running &= ~ended
        if not running.any():
            break
    return EpisodeBatch(_by_episode(table, lengths), lengths, ~running)


def _by_episode(table: Paths, lengths: NDArray[np.int64]) -> Paths:
    """From [t, k, ...] to rows, episode after episode; steps after the end of an episode are dropped."""
    inside = np.arange(table.rewards.shape[0]) < lengths[:, None]  # [k, t]
    return Paths._make(np.ascontiguousarray(np.swapaxes(field, 0, 1)[inside]) for field in table)


def begin_batch(simulator: Simulator, episodes: int, seed: int) -> NDArray[np.int16]:
    """[k, n]: observations at the start of new episodes."""
    shown = simulator.reset(episodes, seed)
    if shown is None:
        return np.full((episodes, len(simulator.agents)), NO_OBSERVATION, np.int16)
    return _seen(simulator, shown, np.ones(episodes, bool))


def _seen(simulator: Simulator, shown: NDArray[np.integer], running: NDArray[np.bool_]) -> NDArray[np.int16]:
    """Observations checked against the alphabets; those of finished episodes are set to 0 and not used."""
    seen = array("simulator observations", shown, "k, n", (len(running), len(simulator.agents)), np.int64)
    seen = np.where(running[:, None], seen, 0)
    check_symbols(lambda k: f"simulator {simulator.name}: episode {k}", "observation", seen, simulator.agents)
    return seen.astype(np.int16)


def step_batch(simulator: Simulator, actions: NDArray[np.int16], running: NDArray[np.bool_]) -> Checked:
    """One step of all episodes; only the `running` ones count."""
    step = simulator.step(actions.astype(np.int64))
    if not isinstance(step, tuple) or len(step) != 3:
        raise InputError(
            f"simulator {simulator.name}: expected (observations, rewards, ended) from step, got {_kind(step)}"
        )
    shape = (len(running),)
    rewards = np.where(running, array("simulator rewards", step[1], "k", shape, np.float64, finite=False), 0.0)
    ended = array("simulator ended", step[2], "k", shape, np.bool_)
    seen = _seen(simulator, step[0], running & ~ended)
    return Checked(seen, checked_rewards("simulator rewards", rewards, "k", shape), ended)


def _kind(step: object) -> str:
    return f"{len(step)} of them" if isinstance(step, tuple) else type(step).__name__


def players_of(team: Team) -> Players:
    """The tables of a team."""
    controllers = team.controllers
    if max(team.nodes) > np.iinfo(np.int16).max:
        raise InputError(f"team: expected at most {np.iinfo(np.int16).max} nodes per controller, got {max(team.nodes)}")
    starts, initial = _starts(team)
    moves = [controller.transition.reshape(-1, controller.nodes) for controller in controllers]
    acts = [controller.action for controller in controllers]
    flat_moves = [np.ascontiguousarray(c.transition.transpose(1, 2, 0, 3)).ravel() for c in controllers]
    flat_acts = [np.ascontiguousarray(c.action.T).ravel() for c in controllers]
    return Players(
        starts=starts,
        moves=sampler(moves),
        acts=sampler(acts),
        first_move=_places([len(table) for table in moves]),
        first_act=_places([len(table) for table in acts]),
        start_stride=initial.shape[1],
        nodes=np.array(team.nodes, np.int64),
        actions=np.array([controller.actions for controller in controllers], np.int64),
        observations=np.array([controller.observations for controller in controllers], np.int64),
        initial=initial,
        move=np.concatenate(flat_moves),
        act=np.concatenate(flat_acts),
        move_place=_places([len(table) for table in flat_moves]),
        act_place=_places([len(table) for table in flat_acts]),
    )


def _starts(team: Team) -> tuple[Sampler, NDArray[np.float64]]:
    """First nodes: row 0 without a first observation, row 1 + o after o (a controller may ignore it)."""
    stride = 1 + max(controller.observations for controller in team.controllers)
    initial = np.zeros((len(team.controllers), stride, max(team.nodes)))
    for n, controller in enumerate(team.controllers):
        initial[n, :, : controller.nodes] = controller.initial
        if controller.initial_given is not None:
            initial[n, 1 : 1 + controller.observations, : controller.nodes] = controller.initial_given
    return sampler(list(initial)), initial


def _places(sizes: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
