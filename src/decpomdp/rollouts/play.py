"""Play a team on a simulator: step by step for a batch of episodes, or with the simulator's own compiled `play`.

`DenseSimulator` is a model as a simulator.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, DecPOMDP, InputError, Simulator, Step, Team
from decpomdp.core.agent import check_symbols, checked_actions
from decpomdp.core.checks import array, kind_of, whole
from decpomdp.core.checks import rewards as checked_rewards
from decpomdp.core.errors import foreign_code
from decpomdp.core.sparse import alias_model
from decpomdp.domains.load import load_model
from decpomdp.engines import threads as engine
from decpomdp.kernels import rollout
from decpomdp.kernels.rollout import Paths, Players, cut_paths, empty_paths
from decpomdp.kernels.sampling import Sampler, key_of, sampler

PIECE = 4096  # joint steps of a model that one thread plays at a time, about

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


def is_compiled(simulator: Simulator) -> bool:
    """Whether it plays whole episodes in compiled code, thousands a second; SUMO, which has a `pace`, does not."""
    return isinstance(simulator, TeamPlayer) and not hasattr(simulator, "pace")


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
    seen = begin_batch(simulator, episodes, seed)
    if look is not None:
        look()
    for t in range(horizon):
        rollout.choose(players, key_of(seed), t, seen, nodes, actions, beliefs, table.behaviour[t])
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


def called(simulator: Simulator, method: str, *arguments: Any) -> Any:
    """The result of `reset` or `step`. An error of a user's own simulator is an InputError; our own errors are bugs."""
    call = getattr(simulator, method)
    if type(simulator).__module__.startswith("decpomdp."):
        return call(*arguments)
    with foreign_code(f"simulator {simulator.name}: {method}", call):
        return call(*arguments)


def begin_batch(simulator: Simulator, episodes: int, seed: int) -> NDArray[np.int16]:
    """[k, n]: observations at the start of new episodes."""
    shown = called(simulator, "reset", episodes, seed)
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
    step = called(simulator, "step", actions.astype(np.int64))
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


class DenseSimulator:
    """Plays a DecPOMDP from precomputed tables; implements the Simulator protocol.

    Functions that take a problem use it for models. Use it directly to step by hand, or to hide the model from a method
    that should only simulate.

    Parameters
    ----------
    model
        A model, the name of a built-in one, or a `.dpomdp` file.

    Examples
    --------
    >>> import decpomdp as dp
    >>> simulator = dp.DenseSimulator(dp.load("dectiger"))
    >>> simulator.reset(episodes=1, seed=3)
    >>> observations, rewards, ended = simulator.step([[0, 0]])
    >>> observations.shape, rewards.tolist()
    ((1, 2), [-2.0])
    """

    repeatable = plays_teams = True

    def __init__(self, model: DecPOMDP | str | os.PathLike[str]) -> None:
        self.model = load_model(model)
        self.world = alias_model(self.model)
        self._seed = np.uint64(0)
        self._time = 0
        self._states = np.zeros(0, np.int64)

    def __reduce__(self) -> "tuple[type[DenseSimulator], tuple[DecPOMDP], dict[str, object]]":
        """Pickle only the model: its tables are larger and quick to rebuild."""
        return DenseSimulator, (self.model,), {"_seed": self._seed, "_time": self._time, "_states": self._states}

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents of the model."""
        return self.model.agents

    @property
    def discount(self) -> float:
        """The model's discount."""
        return self.model.discount

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def states(self) -> NDArray[np.int64]:
        """[k]: the hidden states of the batch, for recordings; no policy may use them."""
        return self._states.copy()

    def reset(self, episodes: int, seed: int) -> None:
        """Start a batch. A model has no observation before the first action."""
        count, key = whole("episodes", episodes, 1, 2**40), whole("seed", seed, 0, 2**64 - 1)
        self._seed, self._time, self._states = key_of(key), 0, np.empty(count, np.int64)
        rollout.begin(self.world, self._seed, self._states)

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Take actions[k, n]; a model's episodes never terminate."""
        chosen = checked_actions(actions, len(self._states), self.agents)
        observations, rewards = np.empty(chosen.shape, np.int16), np.empty(len(chosen))
        rollout.advance(self.world, self._seed, self._time, self._states, chosen, observations, rewards)
        self._time += 1
        return Step(observations, rewards, np.zeros(len(chosen), bool))

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
        """Episodes first, first + 1, ... of the sequence that `seed` fixes, with the sampled node paths.

        Independent of the number of threads, and of how `first` and `episodes` divide the sequence.
        """
        paths, parts = cut_paths(first, episodes, horizon, len(self.agents), behaviour, PIECE // horizon)
        engine.run(lambda k: rollout.play(self.world, players, key_of(seed), *parts[k]), len(parts), threads)
        return paths


def as_simulator(problem: DecPOMDP | Simulator) -> Simulator:
    """A model as a DenseSimulator; a simulator itself."""
    if isinstance(problem, DecPOMDP):
        return DenseSimulator(problem)
    if isinstance(problem, type) or not isinstance(problem, Simulator):
        raise InputError(f"problem: expected a DecPOMDP or a Simulator, got {kind_of(problem)}")
    return problem
