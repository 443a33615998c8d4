"""Collect episodes of a team, all at once or as a stream of bounded pieces."""

from collections.abc import Iterator

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, Simulator, Team, concatenate
from decpomdp.core.checks import freeze, whole
from decpomdp.kernels.rollout import Paths, Players
from decpomdp.rollouts.batch import play_batch
from decpomdp.rollouts.dense import TeamPlayer, as_simulator
from decpomdp.rollouts.tables import players_of

CHUNK = 1_000_000  # agent-steps held at a time by `stream`
LONGEST = 10_000_000  # steps of an episode: one is held in memory as a whole
BATCH = 1000  # episodes that a simulator without a model plays side by side


def collect(
    problem: DecPOMDP | Simulator,
    team: Team,
    episodes: int,
    horizon: int,
    seed: int = 0,
    threads: int | None = None,
) -> Episodes:
    """Play `team` for `episodes` episodes of at most `horizon` steps.

    Recorded with every action is its marginal probability given the agent's own history, whatever the hidden node.
    To explore, give the mixture: `team.exploring(0.1)`.

    Parameters
    ----------
    problem
        A model or a simulator.
    team
        Who plays.
    episodes
        How many.
    horizon
        Steps of an episode, at most.
    seed
        Fixes every random choice.
    threads
        How many; all cores by default. The result does not depend on it.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger")
    >>> episodes = dp.collect(model, dp.Team.uniform(model), episodes=100, horizon=10, seed=1)
    >>> episodes.count, episodes.steps, round(float(episodes.behaviour[0, 0]), 4)
    (100, 1000, 0.3333)
    """
    return concatenate(list(stream(problem, team, episodes, horizon, seed, threads)))


def stream(
    problem: DecPOMDP | Simulator,
    team: Team,
    episodes: int,
    horizon: int,
    seed: int = 0,
    threads: int | None = None,
) -> Iterator[Episodes]:
    """The same episodes as `collect`, in pieces of bounded size.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger")
    >>> sum(part.steps for part in dp.stream(model, dp.Team.uniform(model), episodes=1000, horizon=1000))
    1000000
    """
    count, length = whole("episodes", episodes, 1, 2**53), whole("horizon", horizon, 1, LONGEST)
    key = whole("seed", seed, 0, 2**64 - 1)
    simulator = as_simulator(problem)
    team.check_fits(simulator)
    players = players_of(team)
    size = max(1, CHUNK // (length * len(team.agents)))
    if not isinstance(simulator, TeamPlayer):
        size = min(size, BATCH)
    starts = range(0, count, size)
    return (_piece(simulator, players, first, min(size, count - first), length, key, threads) for first in starts)


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
    )
