"""How large a crowd's batches and tests are, given how many joint steps can be afforded.

A compiled simulator plays two hundred thousand steps a second, SUMO thirty. The sizes in the settings are upper ends.
They shrink until the loop comes to a test at least LOOPS times, with as many steps for learning as for tests.

With thousands of agents most of the time goes not into playing but into learning, some of it whatever the size of
the batch. So where time is the only limit, every iteration says how large the next batch may be (`afforded_batch`).

What can be afforded is the number of steps, if that is limited; then the sizes are a function of the settings alone.
If only the time is limited, a rehearsal measures the speed. If neither is, or the iterations are counted, a simulator
may say how slow it is by its `pace` (joint steps a second), and is given ten minutes of it; one that says nothing
is played as the settings have it.
"""

from dataclasses import replace
from time import monotonic
from typing import NamedTuple

import numpy as np

from decpomdp.core import Team
from decpomdp.interaction.sbpr_play import Ground
from decpomdp.interaction.sbpr_settings import SbprSettings

LOOPS = 4  # tests that there should be time for
TEAMS = 3  # of a test: the best so far, the new one, and its likeliest choices
LEAST = 2  # episodes of a batch and of a test
SECONDS = 600.0  # that a simulator with a pace is given when nothing says how long
PROBE = 0.02  # share of the time after which the speed is not measured any further


class Spent(NamedTuple):
    """What an iteration took."""

    batch: int  # episodes
    on_batch: float  # seconds of playing them and of learning from them
    beside: float  # seconds that a smaller batch would not have saved


def affordable(ground: Ground, iterations: int | None, episodes: int, horizon: int) -> float:
    """Joint steps that there are to spend; at most `episodes` of `horizon` steps are played to find out."""
    if ground.limit is not None:
        return float(ground.limit)
    pace = getattr(ground.simulator, "pace", None)
    if ground.time_limit is None or iterations is not None:
        return np.inf if pace is None else SECONDS * float(pace)
    if ground.left() <= 0:
        return 0.0
    speed = measured(ground, episodes, horizon)
    return speed * max(0.0, ground.left())


def measured(ground: Ground, most: int, horizon: int) -> float:
    """Joint steps a second, the best of a few attempts: small batches are slow ones."""
    team, limit = Team.uniform(ground.simulator), ground.time_limit or 0.0
    _played(ground, team, 1, 1)  # what is not compiled or started yet would seem slow
    episodes, speed, begin = 1, 0.0, monotonic()
    while speed == 0.0 or (episodes < most and monotonic() - begin < PROBE * limit):
        episodes, before = min(2 * episodes, most), monotonic()
        steps = _played(ground, team, episodes, horizon)
        ground.steps += steps
        speed = max(speed, steps / max(1e-6, monotonic() - before))
    return speed


def _played(ground: Ground, team: Team, episodes: int, horizon: int) -> int:
    """Joint steps of episodes that nobody looks at."""
    return sum(part.steps for part in ground.stream(team, episodes, horizon, 0))


def scaled(settings: SbprSettings, steps: float, learning: int, testing: int) -> SbprSettings:
    """The settings for about so many joint steps; `learning`, `testing`: steps of an episode of either kind."""
    iterations = LOOPS * settings.crowd_pause
    if steps >= iterations * settings.crowd_batch * learning + LOOPS * TEAMS * settings.tests * testing:
        return settings
    batch = _within(steps / 2 / (iterations * learning), settings.crowd_batch)
    tests = _within(steps / 2 / (LOOPS * TEAMS * testing), settings.tests)
    return replace(settings, crowd_batch=batch, tests=tests)


def afforded_batch(settings: SbprSettings, spent: Spent, time_limit: float) -> int:
    """Episodes of the next batch; a share of half the time, or as long as everything beside it takes, if that is more.

    >>> afforded_batch(SbprSettings(), Spent(500, 4.0, 0.2), 40.0), afforded_batch(SbprSettings(), Spent(8, 2, 4), 40.0)
    (100, 16)
    """
    share = time_limit / 2 / (LOOPS * settings.crowd_pause)
    seconds = max(share - spent.beside, spent.beside)
    return _within(spent.batch * seconds / max(1e-6, spent.on_batch), settings.crowd_batch)


def _within(wanted: float, most: int) -> int:
    return int(np.clip(round(wanted), min(LEAST, most), most))
