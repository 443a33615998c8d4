"""Play a team and record it: all episodes at once, or as a stream of bounded pieces."""

from collections.abc import Iterator
from copy import deepcopy

import numpy as np

from decpomdp.core import Episodes, Simulator, Team, checks, concatenate
from decpomdp.core.checks import freeze, whole
from decpomdp.domains.load import Problem, opened
from decpomdp.engines.cluster import Cluster
from decpomdp.kernels.rollout import Paths, Players
from decpomdp.rollouts.batch import play_batch
from decpomdp.rollouts.dense import TeamPlayer, as_simulator
from decpomdp.rollouts.policies import Policy, team_for
from decpomdp.rollouts.tables import players_of

CHUNK = 1_000_000  # agent-steps held at a time by `stream`
LONGEST = 10_000_000  # steps of an episode: one is held in memory as a whole
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
    """Play a team and record what each agent saw and did, with which probability, and the rewards.

    The same as the command `decpomdp simulate`. Recorded with every action is its marginal probability given the
    agent's own history, whatever the hidden node. What does not fit into memory comes in pieces: `stream`.

    Parameters
    ----------
    problem
        The name of a built-in problem, a `.dpomdp` file, a model or a simulator.
    team
        Who plays: a `Team`, the path of a team.json, "random" or another policy that comes with the problem.
        None: everybody acts uniformly at random.
    episodes
        How many.
    horizon
        Steps of an episode, at most.
    seed
        Fixes every random choice.
    threads
        How many; all cores by default. The result does not depend on it.
    explore
        Probability with which an agent acts uniformly at random instead.
    discount
        Use this discount instead of the problem's own (problems by name or file, and models).
    engine
        A cluster whose workers play; by default the machine's own threads do. The result does not depend on it.

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
        Each piece is played when it is asked for and holds about a million steps of agents, or as many episodes as
        a slow simulator calls a `piece`.

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
    size = max(1, CHUNK // (length * len(playing.agents)))
    if not isinstance(simulator, TeamPlayer):
        size = min(size, BATCH)
    size = min(size, getattr(simulator, "piece", size))  # a slow one says how many it plays in a moment
    pieces = ((first, min(size, count - first), length, key) for first in range(0, count, size))
    if engine is not None:
        shared = engine.share(f"simulator {simulator.name}", simulator), engine.share("team", behaving)
        return engine.in_order(_piece_elsewhere, ((*shared, *piece) for piece in pieces))
    return (_piece(simulator, players, *piece, workers) for piece in pieces)


def _piece_elsewhere(simulator: Simulator, team: Team, first: int, count: int, horizon: int, seed: int) -> Episodes:
    """On a worker of a cluster, whose threads may share the simulator: one that has a state is copied."""
    own = simulator if isinstance(simulator, TeamPlayer) else deepcopy(simulator)
    return _piece(own, players_of(team), first, count, horizon, seed, 1)


def _piece(
    simulator: Simulator, players: Players, first: int, count: int, horizon: int, seed: int, threads: int | None
) -> Episodes:
    if isinstance(simulator, TeamPlayer):
        paths = simulator.play(players, count, horizon, seed, first, behaviour=True, threads=threads)
        return _episodes(simulator, paths, np.full(count, horizon), np.zeros(count, bool))
    piece_seed = int(np.random.SeedSequence([seed, first]).generate_state(1, np.uint64)[0] >> np.uint64(1))
    return _episodes(simulator, *play_batch(simulator, players, count, horizon, piece_seed))


def _episodes(simulator: Simulator, paths: Paths, lengths: np.ndarray, terminated: np.ndarray) -> Episodes:
    return Episodes(
        agents=simulator.agents,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        observations=freeze(paths.observations),
        actions=freeze(paths.actions),
        behaviour=freeze(np.minimum(paths.behaviour, np.float32(1))),  # a sum of probabilities may round above 1
        rewards=freeze(paths.rewards),
        discount=simulator.discount,
        terminated=terminated,
        name=simulator.name,
        facts=getattr(simulator, "facts", {}),  # how it was seen, where a simulator tells
    )
