"""Sizes of a search for an affordable number of joint steps.

A compiled model plays ten million steps a second, a simulator written in Python perhaps a hundred thousand, and the
user may wait ten seconds or ten minutes. The portfolio should take about a fifth of the budget: one full ascent costs
at most 1/120 of the expected steps, and everything else is scaled in proportion, down to a useful minimum. If not even
eight of the smallest ascents can be afforded (a simulator of a few hundred steps a second for a minute), the minimum
sizes are reduced too.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from decpomdp.core.model import horizon_of
from decpomdp.core.run import Now
from decpomdp.interaction.search.ascent import AscentSize, ascend
from decpomdp.interaction.search.machines import constant
from decpomdp.interaction.search.players import Player, Pool
from decpomdp.interaction.search.settings import Search, SearchTuning
from decpomdp.interaction.search.trial import Stages

PROBE = 0.02  # share of the time limit for measuring the speed
PROGRESS = 0.05  # share of the time limit after which the speed of the run itself is compared with the measured one
SLOWER = 0.6  # share of the measured speed below which the sizes are reduced
UPDATES, EPISODES = 25, 20  # of the smallest useful ascent
EIGHT = 8  # such ascents: if fewer can be afforded, everything else is smaller
THREE = 3  # such ascents: if fewer can be afforded, the ascent itself is smaller
SCORING = 4  # times the first stage of a test: episodes of a score
LAST = 1 / 50  # of all steps, for the last look of a test
SHARE = 1 / 120  # of all steps, for one full ascent
CONTEST = 1 / 2000  # of all steps, for one heat of a contest between neighbours
FEW_NODES = 12  # per agent: readable controllers
MANY_NODES = 24  # in a long search, where the last thousandth of the value matters
LONG = 6e9  # steps of a long search: some minutes of a compiled model
YOUNG = 1 / 3  # of a long search, with few nodes: large machines are hard to improve
LOOKS = 2  # more looks of a test in a long search ...
FINER = 4.0  # ... and factor by which the detected gains are smaller
BOLDER = 4.0  # factor of the steps for ascents on more memory in a long search, at most


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of episodes, updates and steps for one search."""

    tuning: SearchTuning
    poor: bool  # so few steps that a round is one piece of work
    max_nodes: int  # per agent in the result
    chosen: bool  # whether `max_nodes` is the user's choice
    learning: int  # horizon of learning episodes
    testing: int  # horizon of test episodes
    full: AscentSize  # of an ascent in the portfolio
    short: AscentSize  # of an ascent after a hop
    bold: AscentSize  # of an ascent on more memory
    chain_episodes: int
    window_episodes: int
    fold_episodes: int
    race_episodes: int
    mutants: int
    contest: float  # joint steps of a heat
    stages: Stages

    def at(self, progress: float) -> "Sizes":
        """The sizes at this progress: few nodes early in a long search."""
        small = progress < YOUNG and self.max_nodes > FEW_NODES and not self.chosen
        return replace(self, max_nodes=FEW_NODES) if small else self


def horizons(settings: Search, discount: float) -> tuple[int, int]:
    """Steps of learning and of test episodes."""
    tuning = settings.tuning
    if settings.horizon is not None:
        return settings.horizon, settings.horizon
    learning, testing = tuning.learning_tail, tuning.testing_tail
    return horizon_of(discount, learning, tuning.longest), horizon_of(discount, testing, tuning.longest)


def affordable(player: Player, settings: Search, now: Now, threads: int | None) -> tuple[float, int]:
    """Joint steps that the limits allow, and the steps used to measure the speed if time is limited.

    All workers play at the same time, as they will in the search: on a busy machine they are slower than one alone.
    """
    most = float(now.steps)
    if now.seconds == np.inf:
        return most, 0
    pool = Pool(player, now, threads)
    effort = sizes_for(settings, player.discount, 0.0).short._replace(updates=2)
    before = perf_counter()
    speed, begin = _speed(pool, effort), perf_counter()
    while perf_counter() - begin < PROBE * now.seconds and pool.steps < PROBE * now.steps:
        if effort.episodes < settings.tuning.episodes:
            effort = effort._replace(episodes=2 * effort.episodes)  # small batches are slow ones
            speed = _speed(pool, effort)
        else:
            speed = (speed + _speed(pool, effort)) / 2
    left = max(0.0, now.seconds - (perf_counter() - before))
    return min(most, speed * left), pool.steps


def _speed(pool: Pool, effort: AscentSize) -> float:
    """Joint steps per second of all workers while learning."""
    begin, steps = perf_counter(), pool.steps
    done = pool.round(
        pool.threads, lambda k, player, rng: ascend(player, constant(player), effort, 0, free=True) is not None, 0
    )
    if None in done:
        pool.end()
    return (pool.steps - steps) / max(1e-6, perf_counter() - begin)


def reduced(affordable: float, steps: int, now: Now) -> float:
    """The affordable steps, reduced if the run so far was much slower than measured: other programs may have started.

    Depends on the progress only where time is limited; with limits of steps or iterations nothing changes.
    """
    if now.seconds == np.inf or now.progress < PROGRESS:
        return affordable
    expected = steps / now.progress
    return expected if expected < SLOWER * affordable else affordable


def sizes_for(settings: Search, discount: float, steps: float) -> Sizes:
    """Sizes for a search that can afford about `steps` joint steps."""
    tuning = settings.tuning
    learning, testing = horizons(settings, discount)
    full = tuning.updates * tuning.episodes * learning
    ratio = float(np.clip(steps * SHARE / full, 1e-4, 1.0))
    least = UPDATES * EPISODES * learning
    poor = float(np.clip(steps / (EIGHT * least), 0.003, 1.0)) if steps > 0 else 1.0
    fewer = poor**0.5
    first = max(round(50 * fewer), round(tuning.first_test * ratio**0.5))
    fold = max(round(200 * poor), 10, round(4000 * ratio))
    scoring = (2 * SCORING * first + fold) * testing  # steps besides an ascent: two plans are scored
    smaller = float(np.clip(min(steps / THREE, steps - scoring) / least, poor, 1.0)) ** 0.5
    updates = max(round(UPDATES * smaller), round(tuning.updates * ratio ** (1 / 3)))
    hop_updates = max(round(10 * fewer), round(tuning.hop_updates * ratio ** (1 / 3)))
    episodes = max(round(EPISODES * smaller), round(ratio * full / (updates * learning)))
    bold_updates = max(round(15 * fewer), round(tuning.bold_updates * ratio ** (1 / 3)))
    hop_episodes = max(round(EPISODES * fewer), round(tuning.hop_episodes * ratio ** (2 / 3)))
    long = steps >= LONG
    bolder = min(BOLDER, 2 * steps / LONG) if long else 1.0
    looks, smallest = (LOOKS, tuning.smallest_gain / FINER) if long else (0, tuning.smallest_gain)
    affordable_looks = 1 + np.log(max(1.0, steps * LAST / (first * testing))) / np.log(4)
    return Sizes(
        tuning=tuning,
        poor=poor < 1,
        max_nodes=settings.max_nodes or (MANY_NODES if long else FEW_NODES),
        chosen=settings.max_nodes is not None,
        learning=learning,
        testing=testing,
        full=AscentSize(updates, episodes, learning, tuning.exploration, tuning.confidence),
        bold=AscentSize(
            round(bolder**0.5 * bold_updates),
            round(bolder * episodes),
            learning,
            tuning.exploration,
            tuning.bold_confidence,
        ),
        short=AscentSize(hop_updates, hop_episodes, learning, tuning.hop_exploration, tuning.confidence),
        chain_episodes=max(round(200 * fewer), round(tuning.chain_episodes * ratio)),
        window_episodes=max(round(200 * fewer), round(tuning.window_episodes * ratio)),
        fold_episodes=fold,
        race_episodes=max(round(20 * fewer), round(200 * ratio**0.5)),
        mutants=max(4, round(64 * fewer)),
        contest=steps * CONTEST if long else 0.0,
        stages=Stages(first, int(min(tuning.stages + looks, affordable_looks)), testing, tuning.certain, smallest),
    )
