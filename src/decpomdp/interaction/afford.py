"""Sizes of batches and tests for an affordable number of joint steps.

A compiled model plays millions of steps a second, a compiled grid of traffic lights two hundred thousand, SUMO thirty.
The sizes in the settings are upper limits. They are reduced if a slow simulator or few steps would leave no time for a
test, because a team is only returned after a test.

With a step limit the sizes are a function of the settings alone. If only the time is limited, a probe measures the
speed. Without limits, or with a limit of iterations, a simulator may declare its speed as `pace` (joint steps a
second); the sizes are then for ten minutes. Otherwise the sizes of the settings are used.
"""

import math
from time import monotonic
from typing import NamedTuple

import numpy as np

from decpomdp.core import Team
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.mcem.settings import Mcem
from decpomdp.interaction.sbpr.settings import SbprLoop
from decpomdp.rollouts import DenseSimulator

SECONDS = 600.0  # for a simulator with a pace if nothing limits the run
PROBE = 0.02  # share of the time limit for measuring the speed
TEAMS = 3  # of a test: the best so far, the new one, and its likeliest choices

FEWEST = 2  # episodes, updates and tests of MCEM
MCEM_TESTED = 10  # teams that MCEM tests by the end of its first start: random, the best replays, the learned one

BATCH, PATIENCE = 200, 20  # of `SbprLoop` if not set
ROUGHLY = 20  # divisor of the episodes of a test for a rough test
STARTING = 1 / 3  # of the steps, for finding starts
ROUNDS = 4  # at least, with the other steps
LARGE = 1e9  # steps for which joint moves have their full sizes
SMALLER = 0.8  # factor of the sizes from one attempt to the next
SMALLEST = 1e-4  # share of the settings, the last attempt

MANY_BATCH, MANY_PATIENCE = 500, 2  # of `SbprLoop` if not set, with many agents: each has a small part
LOOPS = 4  # tests, at least
LEAST = 2  # episodes of a batch and of a test of many agents


def affordable(player: EpisodePlayer, episodes: int, horizon: int) -> float:
    """Joint steps to spend; for a time limit, up to `episodes` episodes of `horizon` steps are played to measure it."""
    now = player.now
    if math.isfinite(player.limit):
        return player.limit
    if math.isinf(now.seconds) or math.isfinite(now.iterations):
        pace = getattr(player.simulator, "pace", None)
        return math.inf if pace is None else SECONDS * float(pace)
    began = monotonic()
    speed = measured_speed(player, episodes, horizon)
    return speed * max(0.0, now.seconds - (monotonic() - began))


def measured_speed(player: EpisodePlayer, most: int, horizon: int) -> float:
    """Joint steps a second in the last and largest of a few batches: small batches are slow."""
    team, limit = Team.uniform(player.simulator), player.now.seconds
    _played(player, team, 1, 1)  # the first episode may start a process
    episodes, speed, began = 1, 0.0, monotonic()
    while speed == 0.0 or (episodes < most and monotonic() - began < PROBE * limit):
        episodes, before = min(2 * episodes, most), monotonic()
        steps = _played(player, team, episodes, horizon)
        player.steps += steps
        speed = steps / max(1e-6, monotonic() - before)
    return speed


def _played(player: EpisodePlayer, team: Team, episodes: int, horizon: int) -> int:
    steps = 0
    for part in player.stream(team, episodes, horizon, 0):
        steps += part.steps
        player.now.check()
    return steps


def _unlimited_model(player: EpisodePlayer) -> bool:
    return isinstance(player.simulator, DenseSimulator) and math.isinf(player.limit)


class McemSizes(NamedTuple):
    """Sizes of MCEM."""

    episodes: int  # of an iteration
    updates: int  # from one start
    elites: int
    tests: int
    random_episodes: int
    testing: int  # steps of a test episode


def mcem_sizes(settings: Mcem, player: EpisodePlayer) -> McemSizes:
    """Sizes of a run: a third of the steps each for updates, replays and tests."""
    tuning = settings.tuning
    learning, testing = (
        player.horizon(settings.horizon, tail, tuning.longest) for tail in (tuning.learning_tail, tuning.testing_tail)
    )
    full = McemSizes(
        settings.episodes, settings.updates, tuning.elites, settings.tests, tuning.random_episodes, testing
    )
    if _unlimited_model(player):
        return full
    chains = 2 * max(1, settings.nodes - 1)  # replays of one elite
    parts = full.updates * full.episodes, full.elites * chains * full.episodes, MCEM_TESTED * full.tests
    spent = affordable(player, full.episodes, learning)
    episodes = (1 - tuning.random_share) * spent / learning  # the rest is for random episodes
    ratios = [episodes / len(parts) / part for part in parts]
    if min(ratios) >= 1:
        return full

    def fewer(number: int, ratio: float, least: int = FEWEST) -> int:
        return min(number, max(least, int(ratio * number)))

    root = min(1.0, max(1e-9, ratios[0])) ** 0.5  # fewer updates with fewer episodes each
    return McemSizes(
        episodes=fewer(full.episodes, root),
        updates=fewer(full.updates, root),
        elites=fewer(full.elites, ratios[1] / root, 1),
        tests=fewer(full.tests, ratios[2]),
        random_episodes=fewer(full.random_episodes, ratios[1]),
        testing=player.horizon(settings.horizon, max(tuning.testing_tail, tuning.learning_tail), tuning.longest),
    )


class LoopSizes(NamedTuple):
    """Sizes of the loop with few agents."""

    batch: int  # episodes
    race: int  # iterations of a start
    round: int  # iterations of a later round
    tests: int  # episodes
    elites: int
    pool: int
    replays: int
    generations: int


def loop_sizes(settings: SbprLoop, player: EpisodePlayer, learning: int, testing: int) -> LoopSizes:
    """The sizes of a run; `learning`, `testing`: steps of an episode of either kind."""
    tuning, batch = settings.tuning, settings.batch or BATCH
    full = LoopSizes(
        *(batch, tuning.race, tuning.round, settings.tests),
        *(tuning.elites, tuning.pool, tuning.replays, tuning.generations),
    )
    if _unlimited_model(player):
        return full
    return shrunk(full, tuning.lengths, affordable(player, batch, learning), learning, testing)


def shrunk(full: LoopSizes, lengths: tuple[int, ...], steps: float, learning: int, testing: int) -> LoopSizes:
    """Reduce the sizes until finding the starts takes at most a third of the steps and the rest suffices for rounds.

    >>> full, lengths = LoopSizes(200, 75, 50, 1000, 12, 12, 3, 2), (3, 4, 5, 6, 7, 8)
    >>> shrunk(full, lengths, 1e9, 29, 66) == full
    True
    >>> shrunk(full, lengths, 60_000, 29, 66)
    LoopSizes(batch=24, race=9, round=6, tests=14, elites=1, pool=2, replays=1, generations=0)
    """
    share, smaller = 1.0, full
    while share > SMALLEST and not _fits(smaller, lengths, steps, learning, testing):
        share *= SMALLER
        smaller = _times(full, share)
    return smaller


def _times(full: LoopSizes, share: float) -> LoopSizes:
    def fewer(number: int, power: float, least: int) -> int:
        return min(number, max(least, round(number * share**power)))

    return LoopSizes(
        batch=fewer(full.batch, 0.5, 4),
        race=fewer(full.race, 0.5, 4),
        round=fewer(full.round, 0.5, 4),
        tests=fewer(full.tests, 1.0, 8),
        elites=fewer(full.elites, 1.0, 1),
        pool=fewer(full.pool, 1.0, 2),
        replays=fewer(full.replays, 0.5, 1),
        generations=fewer(full.generations, 1.0, 0),
    )


def _fits(sizes: LoopSizes, lengths: tuple[int, ...], steps: float, learning: int, testing: int) -> bool:
    a_round = _round_steps(sizes, learning, testing)
    return starting_steps(sizes, lengths, testing) <= STARTING * steps and ROUNDS * a_round <= (1 - STARTING) * steps


def _round_steps(sizes: LoopSizes, learning: int, testing: int) -> int:
    return max(sizes.race, sizes.round) * sizes.batch * learning + TEAMS * sizes.tests * testing


def proposal_steps(sizes: LoopSizes, settings: SbprLoop, learning: int, testing: int) -> float:
    """Joint steps by which joint moves are sized: as many as the loop's sizes were shrunk for."""
    if sizes.tests == settings.tests:
        return LARGE
    return ROUNDS * _round_steps(sizes, learning, testing) / (1 - STARTING)


def starting_steps(sizes: LoopSizes, lengths: tuple[int, ...], testing: int) -> int:
    """Joint steps for finding the starts, without the random episodes."""
    chains = 2 * sizes.elites * len(lengths)
    later = sizes.pool + sizes.replays * chains
    varied = sizes.replays * sizes.tests * max(lengths)
    tests = _test_episodes(sizes, chains) + sizes.generations * _test_episodes(sizes, later) + 2 * sizes.tests
    return testing * tests + sizes.generations * varied


def _test_episodes(sizes: LoopSizes, teams: int) -> int:
    """Episodes of a test of `teams` teams: few for all, more for the better quarter."""
    return teams * max(1, sizes.tests // ROUGHLY) + max(sizes.pool, teams // 4) * max(1, sizes.tests // 4)


class ManySizes(NamedTuple):
    """Sizes of the loop with many agents."""

    batch: int  # episodes, at most
    tests: int  # episodes


class Duration(NamedTuple):
    """Duration of an iteration with many agents."""

    batch: int  # episodes
    on_batch: float  # seconds of playing them and of learning from them
    rest: float  # other seconds, independent of the batch


def many_sizes(settings: SbprLoop, steps: float, learning: int, testing: int) -> ManySizes:
    """For about `steps` steps: LOOPS tests at least, with as many steps for learning as for tests."""
    iterations, most = LOOPS * settings.tuning.many.pause, settings.batch or MANY_BATCH
    if steps >= iterations * most * learning + LOOPS * TEAMS * settings.tests * testing:
        return ManySizes(most, settings.tests)
    batch = _within(steps / 2 / (iterations * learning), most)
    return ManySizes(batch, _within(steps / 2 / (LOOPS * TEAMS * testing), settings.tests))


def next_batch(most: int, pause: int, last: Duration, time_limit: float) -> int:
    """Episodes of the next batch: its share of half the time, or as long as the rest of an iteration if that is longer.

    >>> next_batch(500, 5, Duration(500, 4.0, 0.2), 40.0), next_batch(500, 5, Duration(8, 2.0, 4.0), 40.0)
    (100, 16)
    """
    share = time_limit / 2 / (LOOPS * pause)
    seconds = max(share - last.rest, last.rest)
    return _within(last.batch * seconds / max(1e-6, last.on_batch), most)


def _within(wanted: float, most: int) -> int:
    return int(np.clip(round(wanted), min(LEAST, most), most))
