"""Play a team and collect its episodes: all at once, or as a stream of bounded pieces."""

from collections.abc import Iterator
from copy import deepcopy

import numpy as np

from decpomdp.core import Episodes, Simulator, Team, checks, concatenate
from decpomdp.core.checks import freeze, whole
from decpomdp.domains.load import Problem, opened
from decpomdp.engines.cluster import Cluster
from decpomdp.kernels.rollout import Players
from decpomdp.rollouts.dense import as_simulator
from decpomdp.rollouts.play import Batch, Look, TeamPlayer, play, players_of
from decpomdp.rollouts.policies import Policy, team_for

CHUNK = 1_000_000  # agent-steps held at a time by `stream`
LONGEST = 10_000_000  # steps of an episode, all of which are in memory
BATCH = 1000  # episodes that a simulator without a model plays side by side


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
        A `Team`, the path of a team.json, "random" or another policy that comes with the problem.
        None: every agent acts uniformly at random.
    episodes
        Number of episodes.
    horizon
        Steps of an episode, at most.
    seed
        Fixes every random choice.
    threads
        Number of threads; all cores by default. The result does not depend on it.
    explore
        Probability with which an agent acts uniformly at random instead.
    discount
        Use this discount instead of the problem's own (problems by name or file, and models).
    engine
        A cluster whose workers play; by default the threads of this machine. The result does not depend on it.

    Returns
    -------
    Episodes
        `episodes` of them. Those of a model all have `horizon` steps; a simulator may end its own earlier.

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
        return engine.in_order(_piece_elsewhere, ((*shared, *piece) for piece in pieces))
    return (_piece(simulator, players, *piece, workers) for piece in pieces)


def pieces_of(simulator: Simulator, episodes: int, horizon: int) -> Iterator[tuple[int, int]]:
    """First episode and number of episodes of every piece of a stream."""
    size = max(1, CHUNK // (horizon * len(simulator.agents)))
    if not isinstance(simulator, TeamPlayer):
        size = min(size, BATCH)
    size = min(size, getattr(simulator, "piece", size))  # a slow simulator names the episodes of a piece
    return ((first, min(size, episodes - first)) for first in range(0, episodes, size))


def _piece_elsewhere(simulator: Simulator, team: Team, first: int, count: int, horizon: int, seed: int) -> Episodes:
    """On a worker of a cluster, whose threads may share the simulator: one that has a state is copied."""
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
) -> Batch:
    """Episodes first, first + 1, ... of a stream."""
    if not isinstance(simulator, TeamPlayer):
        seed = int(np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)[0] >> np.uint64(1))
    return play(simulator, players, count, horizon, seed, first, threads=threads, look=look)


def episodes_of(simulator: Simulator, batch: Batch) -> Episodes:
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
        facts=getattr(simulator, "facts", {}),  # settings of a simulator that names them
    )
