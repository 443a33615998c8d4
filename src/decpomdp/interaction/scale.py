"""How large everything is, given how many joint steps can be afforded.

A compiled model plays ten million steps a second, a simulator written in Python perhaps a hundred thousand, and the
user may wait ten seconds or ten minutes. The portfolio should take about a fifth of whatever there is: one full core
step costs at most 1/120 of the steps that are expected, and everything else shrinks in the same proportion.
"""

from dataclasses import dataclass

import numpy as np

from decpomdp.interaction.ascent import Effort
from decpomdp.interaction.settings import SearchSettings
from decpomdp.interaction.trial import Stages

SHARE = 1 / 120  # of all steps, for one full core step


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of episodes, updates and steps for one search."""

    settings: SearchSettings
    learning: int  # horizon of learning episodes
    testing: int  # horizon of test episodes
    full: Effort  # of a core step in the portfolio
    short: Effort  # of a core step after a hop
    chain_episodes: int
    window_episodes: int
    fold_episodes: int
    race_episodes: int
    mutants: int
    stages: Stages


def horizons(settings: SearchSettings, discount: float, given: int | None) -> tuple[int, int]:
    """Steps of learning and of test episodes."""
    if given is not None:
        return given, given
    tails = (settings.learning_tail, settings.testing_tail)
    if discount <= 0:
        return 1, 1
    return tuple(min(settings.longest, int(np.ceil(np.log(tail) / np.log(discount)))) for tail in tails)  # type: ignore[return-value]


def sizes_for(settings: SearchSettings, discount: float, horizon: int | None, steps: float) -> Sizes:
    """Sizes for a search that can afford about `steps` joint steps."""
    learning, testing = horizons(settings, discount, horizon)
    full = settings.updates * settings.episodes * learning
    ratio = float(np.clip(steps * SHARE / full, 1e-4, 1.0))
    updates = max(25, round(settings.updates * ratio ** (1 / 3)))
    hop_updates = max(10, round(settings.hop_updates * ratio ** (1 / 3)))
    episodes = max(20, round(ratio * full / (updates * learning)))
    first = max(50, round(settings.first_test * ratio**0.5))
    most = max(1, int(np.log(max(4.0, steps / 50 / (first * testing))) / np.log(4)) + 1)
    return Sizes(
        settings=settings,
        learning=learning,
        testing=testing,
        full=Effort(updates, episodes, learning, settings.exploration, settings.confidence),
        short=Effort(hop_updates, episodes, learning, settings.hop_exploration, settings.confidence),
        chain_episodes=max(200, round(settings.chain_episodes * ratio)),
        window_episodes=max(200, round(settings.window_episodes * ratio)),
        fold_episodes=max(200, round(4000 * ratio)),
        race_episodes=max(20, round(200 * ratio**0.5)),
        mutants=64,
        stages=Stages(first, min(settings.stages, most), testing, settings.certain, settings.smallest_gain),
    )
