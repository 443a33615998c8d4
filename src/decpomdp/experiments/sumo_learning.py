"""One controller for all lights of a SUMO grid, learned from what every light went through.

The lights are alike, so their data are pooled: what one light saw, did and was credited with in an episode becomes an
episode of one agent, and a single controller is learned from all of them by the parts of Dec-SBPR for many agents
(soft counts of node paths, own importance ratios, a critic, small steps; `interaction.sbpr.many_agents`). The same
controller then acts at every light, on a grid of any size.

A light is credited with what is its own (`sumo.pooling`). Whatever is reported or compared is the team's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decpomdp.core import Controller, Episodes, Team
from decpomdp.environments.sumo.episodes import episode_seed, pooled
from decpomdp.environments.sumo.grid import SumoGrid
from decpomdp.interaction.sbpr.many_agents import OwnRatios, added
from decpomdp.interaction.sbpr.starts import counts_of
from decpomdp.interaction.sbpr.step import StepSize, improved
from decpomdp.learners import StickBreaking
from decpomdp.learners.posterior import Counts, updated
from decpomdp.rollouts.play import players_of


@dataclass(frozen=True, slots=True)
class SharedSettings:
    """Chosen on the 4 x 4 grid with seed 0; docs/sumo.md says what else was tried."""

    episodes: int = 4  # an iteration, of as many single-light episodes each as there are lights
    horizon: int = 60  # decisions of an episode
    iterations: int = 18
    neighbours: float = 0.0  # weight of what is on its way next door
    discount: float = 0.98  # of the credit
    reach: float = 0.9  # share of a gain that a decision one step earlier is credited with
    window: int = 1  # iterations learned from at a time
    cap: float = 20.0  # of importance ratios
    step: float = 0.4  # change of a typical log probability in an iteration
    shrink: float = 100.0  # visits' worth of doubt about every advantage
    floor: float = 0.0  # no advantage is taken for noise
    carry: float = 0.9  # of a row's strength stays when it is not visited any more
    openness: float = 0.1  # share of every choice that the start leaves open
    strength: float = 1000.0  # soft counts per row of the start


class Learned(NamedTuple):
    """After an iteration."""

    team: Team  # posterior means
    reward: float  # mean team reward of a decision in the batch just played
    sample_size: float
    foretold: float  # share of the variance of the credit that the critic foretells


def shared(grid: SumoGrid, start: Controller, settings: SharedSettings, seed: int = 0) -> Iterator[Learned]:
    """Learn; the team after every iteration."""
    one = grid.agents[:1]
    counts = counts_of(Team(one, (start,), settings.discount), settings.openness, settings.strength, shown=True)[0]
    own_ratios, batches = OwnRatios(settings.cap, settings.reach, None), list[Episodes]()
    size = StepSize(settings.step, settings.shrink, settings.floor, settings.carry)
    for iteration in range(settings.iterations):
        controller = mean_of(grid, counts)
        seeds = [episode_seed(seed, iteration * settings.episodes + k) for k in range(settings.episodes)]
        played = grid.play_seeds(players_of(everywhere(grid, controller)), seeds, settings.horizon, behaviour=True)
        batches = added(batches, pooled(grid.agents, played, settings.discount, settings.neighbours), settings.window)
        learned = own_ratios.learn(batches, Team(one, (controller,), settings.discount))
        counts = improved(counts, learned.visits[0], learned.gains[0], learned.spread, size)
        team = everywhere(grid, mean_of(grid, counts))
        yield Learned(team, float(played.paths.rewards.mean()), learned.sample_size, learned.predicted)


def everywhere(grid: SumoGrid, controller: Controller) -> Team:
    """The same controller at every light."""
    return Team.of(grid, [controller] * len(grid.agents))


def mean_of(grid: SumoGrid, counts: Counts) -> Controller:
    """Posterior mean of a controller with these counts, on all its nodes."""
    agent = grid.agents[0]
    posterior = updated(agent, StickBreaking().priors(agent), counts)
    return posterior.mean(np.arange(posterior.nodes))
