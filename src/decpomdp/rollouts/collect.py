"""Play a team and collect its episodes: all at once, as a stream of pieces, or with nodes, states and scenes."""

import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team, checks, concatenate
from decpomdp.core.checks import freeze, whole
from decpomdp.core.scene import OnStreets, StreetScene
from decpomdp.domains.load import Problem, opened
from decpomdp.engines.cluster import Cluster
from decpomdp.io.team import read_team
from decpomdp.kernels.rollout import Players
from decpomdp.rollouts.play import DenseSimulator, EpisodeBatch, Look, TeamPlayer, as_simulator, play, players_of

CHUNK = 1_000_000  # agent-steps held at a time by `stream`
LONGEST = 10_000_000  # steps of an episode; all of them are in memory
BATCH = 1000  # episodes that a simulator without a model plays side by side


RANDOM = "random"


Policy = Team | str | os.PathLike[str] | None


class Recording(NamedTuple):
    """Episodes with nodes, states and scenes. Entries after the end of an episode are 0."""

    episodes: Episodes
    nodes: NDArray[np.int16]  # [k, t, n] in which the action was chosen
    states: NDArray[np.int64] | None  # [k, t] before the action; None: the problem has no model
    scenes: tuple[tuple[StreetScene, ...], ...]  # [k][t] queues before and lights during a step; empty if not recorded


def simulate(
    problem: Problem,
    team: Policy = None,
    episodes: int = 1000,
    horizon: int = 50,
    seed: int = 0,
    threads: int | None = None,
    *,
    explore: float = 0.0,
    discount: float | None = None,
    engine: Cluster | None = None,
) -> Episodes:
    """Play a team and record observations, actions with their probabilities, and rewards.

    The same as the command `decpomdp simulate`. The probability of an action is its marginal given the agent's own
    history, with the hidden node summed out. Use `stream` for more episodes than fit into memory.

    Parameters
    ----------
    problem
        The name of a built-in problem, a `.dpomdp` file, a model or a simulator.
    team
        A `Team`, the path of a team.json, "random" or another policy of the problem.
        None: every agent acts uniformly at random.
    episodes
        Number of episodes.
    horizon
        Maximum number of steps of an episode.
    seed
        Seed of all random numbers.
    threads
        Number of threads; all cores by default. The result does not depend on it.
    explore
        Probability of a uniformly random action instead of the team's.
    discount
        Use this discount instead of the problem's own (problems by name or file, and models).
    engine
        A Dask cluster; by default the threads of this machine are used. The result does not depend on it.

    Returns
    -------
    Episodes
        The episodes. Those of a model have `horizon` steps each; a simulator may end an episode earlier.

    Raises
    ------
    InputError
        There is no such problem or team, the team does not fit the problem, or a number is out of its range.

    Examples
    --------
    >>> import decpomdp as dp
    >>> episodes = dp.simulate("dectiger", episodes=100, horizon=10, seed=1)
    >>> episodes.count, episodes.steps, round(float(episodes.behaviour[0, 0]), 4)
    (100, 1000, 0.3333)
    """
    parts = stream(problem, team, episodes, horizon, seed, threads, explore=explore, discount=discount, engine=engine)
    return concatenate(list(parts))


def stream(
    problem: Problem,
    team: Policy = None,
    episodes: int = 1000,
    horizon: int = 50,
    seed: int = 0,
    threads: int | None = None,
    *,
    explore: float = 0.0,
    discount: float | None = None,
    engine: Cluster | None = None,
) -> Iterator[Episodes]:
    """The same episodes as `simulate`, in pieces of bounded size.

    Parameters
    ----------
    problem, team, episodes, horizon, seed, threads, explore, discount, engine
        As in `simulate`.

    Returns
    -------
    iterator of Episodes
        Each piece is played when it is requested and holds about a million steps of agents, or the number of episodes
        that a slow simulator declares as its `piece`.

    Raises
    ------
    InputError
        As in `simulate`, before the first piece is played.

    Examples
    --------
    >>> import decpomdp as dp
    >>> sum(part.steps for part in dp.stream("dectiger", episodes=1000, horizon=1000))
    1000000
    """
    count, length = whole("episodes", episodes, 1, 2**53), whole("horizon", horizon, 1, LONGEST)
    key, workers = whole("seed", seed, 0, 2**64 - 1), checks.threads(threads)
    share = checks.number("explore", explore, 0.0, 1.0)
    simulator = as_simulator(opened(problem, discount))
    playing = team_for(team, simulator)
    behaving = playing.exploring(share) if share else playing
    players = players_of(behaving)
    pieces = ((first, part, length, key) for first, part in pieces_of(simulator, count, length))
    if engine is not None:
        shared = engine.share(f"simulator {simulator.name}", simulator), engine.share("team", behaving)
        return engine.in_order(_piece_on_worker, ((*shared, *piece) for piece in pieces))
    return (_piece(simulator, players, *piece, workers) for piece in pieces)


def pieces_of(simulator: Simulator, episodes: int, horizon: int) -> Iterator[tuple[int, int]]:
    """First episode and number of episodes of every piece of a stream."""
    size = max(1, CHUNK // (horizon * len(simulator.agents)))
    if not isinstance(simulator, TeamPlayer):
        size = min(size, BATCH)
    size = min(size, getattr(simulator, "piece", size))  # declared by a slow simulator
    return ((first, min(size, episodes - first)) for first in range(0, episodes, size))


def _piece_on_worker(simulator: Simulator, team: Team, first: int, count: int, horizon: int, seed: int) -> Episodes:
    """A piece on a worker of a cluster; a simulator with a state is copied, because threads may share it."""
    own = simulator if isinstance(simulator, TeamPlayer) else deepcopy(simulator)
    return _piece(own, players_of(team), first, count, horizon, seed, 1)


def _piece(
    simulator: Simulator, players: Players, first: int, count: int, horizon: int, seed: int, threads: int | None
) -> Episodes:
    return episodes_of(simulator, play_piece(simulator, players, first, count, horizon, seed, threads))


def play_piece(
    simulator: Simulator,
    players: Players,
    first: int,
    count: int,
    horizon: int,
    seed: int,
    threads: int | None = None,
    look: Look | None = None,
) -> EpisodeBatch:
    """Episodes first, first + 1, ... of a stream."""
    if not isinstance(simulator, TeamPlayer):
        seed = int(np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)[0] >> np.uint64(1))
    return play(simulator, players, count, horizon, seed, first, threads=threads, look=look)


def episodes_of(simulator: Simulator, batch: EpisodeBatch) -> Episodes:
    """The record of a batch."""
    paths = batch.paths
    return Episodes(
        agents=simulator.agents,
        offsets=np.concatenate([[0], np.cumsum(batch.lengths)]),
        observations=freeze(paths.observations),
        actions=freeze(paths.actions),
        behaviour=freeze(np.minimum(paths.behaviour, np.float32(1))),  # a sum of probabilities may round above 1
        rewards=freeze(paths.rewards),
        discount=simulator.discount,
        terminated=batch.terminated,
        name=simulator.name,
        facts=getattr(simulator, "facts", {}),  # settings of a simulator, if it declares them
    )


def team_for(policy: Policy, problem: DecPOMDP | Simulator) -> Team:
    """The team of `policy`, checked to fit `problem`; None: uniformly random actions."""
    if isinstance(policy, Team):
        team = policy
    elif policy is None or (isinstance(policy, str) and policy == RANDOM):
        return Team.uniform(problem)
    elif isinstance(policy, str | os.PathLike) and isinstance(os.fspath(policy), str):
        team = _named(os.fspath(policy), problem)
    else:
        raise InputError(f"team: expected a Team, the name of a policy or a team.json, got {checks.kind_of(policy)}")
    team.check_fits(problem)
    return team


def _named(policy: str, problem: DecPOMDP | Simulator) -> Team:
    own = getattr(problem, "policies", None)
    known: dict[str, Team] = own() if callable(own) else {}
    if policy in known:
        return known[policy]
    if not policy.endswith(".json") and not Path(policy).exists():
        names = ", ".join(dict.fromkeys((RANDOM, *known)))
        raise InputError(f"policy: expected {names} or the path of a team.json, got {policy!r}")
    return read_team(policy)


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
        """Record the current state and scene."""
        if self.model is not None:
            self._states.append(self.model.states)
        if self.streets is not None:
            self._scenes.append([self.streets.street_scene(k) for k in range(self.episodes)])

    def repeat(self, actions: NDArray[np.int16], seed: int) -> None:
        """Play actions[k, t, n] again and record states and scenes."""
        self.simulator.reset(self.episodes, seed)
        self.look()
        for t in range(actions.shape[1]):
            self.simulator.step(actions[:, t])
            self.look()

    def states(self) -> NDArray[np.int64] | None:
        """[k, t]: the state before every action."""
        return None if self.model is None else np.stack(self._states[:-1], axis=1)

    def scenes(self, lengths: NDArray[np.int64]) -> Iterator[tuple[StreetScene, ...]]:
        """[k][t]: queues before every step, and lights during the step."""
        for k, length in enumerate(lengths.tolist() if self.streets is not None else ()):
            moments = zip(self._scenes[:length], self._scenes[1 : length + 1], strict=True)
            yield tuple(StreetScene(before[k].waiting, after[k].green) for before, after in moments)
