"""SUMO grids: one controller for all lights, and policies compared by waiting, travel time and arrivals.

The lights are alike, so their data are pooled: what one light saw, did and was credited with in an episode becomes an
episode of one agent, and a single controller is learned from all of them by the parts of Dec-SBPR for many agents
(soft counts of node paths, own importance ratios, a critic, small steps; `interaction.sbpr.many_agents`). The same
controller then acts at every light, on a grid of any size. A light is credited with its own share (`pooled`); what is
reported or compared is the team's.

Every policy meets the same vehicles: one episode per demand seed, the seeds being whole numbers from TEST_SEED on,
which no learner has met (those of learning have 63 bits, the highest of them set: `episode_seed`). Reported are means
over seeds with a 95 % interval (Student's t), and the differences to another policy, seed by seed, with theirs: the
demand, which differs more from seed to seed than policies do, cancels in them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decpomdp.core import Controller, Episodes, Team
from decpomdp.core.minimal import simplified
from decpomdp.environments.sumo.grid import SumoGrid, episode_seed, pooled
from decpomdp.environments.sumo.simulation import Measures
from decpomdp.experiments.rows import mean_of
from decpomdp.interaction.sbpr.many_agents import OwnRatios, added
from decpomdp.interaction.sbpr.starts import counts_of
from decpomdp.interaction.sbpr.step import StepSize, improved
from decpomdp.learners import StickBreaking
from decpomdp.learners.posterior import Counts, updated
from decpomdp.rollouts.play import players_of

PROGRAMS = ("fixed-time", "actuated")  # SUMO's own
MEASURES = ("waiting", "travel", "arrived")
TEST_SEED = 1_000_000


@dataclass(frozen=True, slots=True)
class SharedSettings:
    """Chosen on the 4 x 4 grid with seed 0; docs/sumo.md says what else was tried."""

    episodes: int = 4  # an iteration, of as many single-light episodes each as there are lights
    horizon: int = 60  # decisions of an episode
    iterations: int = 18
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
    predicted: float  # share of the variance of the credit that the critic predicts


def shared(grid: SumoGrid, start: Controller, settings: SharedSettings, seed: int = 0) -> Iterator[Learned]:
    """Learn; the team after every iteration."""
    one = grid.agents[:1]
    counts = counts_of(Team(one, (start,), settings.discount), settings.openness, settings.strength, shown=True)[0]
    own_ratios, batches = OwnRatios(settings.cap, settings.reach, None), list[Episodes]()
    size = StepSize(settings.step, settings.shrink, settings.floor, settings.carry)
    for iteration in range(settings.iterations):
        controller = mean_controller(grid, counts)
        seeds = [episode_seed(seed, iteration * settings.episodes + k) for k in range(settings.episodes)]
        played = grid.play_seeds(players_of(everywhere(grid, controller)), seeds, settings.horizon, behaviour=True)
        batches = added(batches, pooled(grid.agents, played, settings.discount), settings.window)
        learned = own_ratios.learn(batches, Team(one, (controller,), settings.discount))
        counts = improved(counts, learned.visits[0], learned.gains[0], learned.spread, size)
        team = everywhere(grid, mean_controller(grid, counts))
        yield Learned(team, float(played.paths.rewards.mean()), learned.sample_size, learned.predicted)


def everywhere(grid: SumoGrid, controller: Controller) -> Team:
    """The same controller at every light."""
    return Team.of(grid, [controller] * len(grid.agents))


def mean_controller(grid: SumoGrid, counts: Counts) -> Controller:
    """Posterior mean of a controller with these counts, on all its nodes."""
    agent = grid.agents[0]
    posterior = updated(agent, StickBreaking().priors(agent), counts)
    return posterior.mean(np.arange(posterior.nodes))


@dataclass(frozen=True, slots=True)
class Score:
    """One episode of one policy."""

    policy: str
    seed: int
    waiting: float  # vehicle-seconds
    travel: float  # mean seconds
    arrived: int
    vehicles: int


@dataclass(frozen=True, slots=True)
class Trial:
    """How the best of the learned teams is chosen."""

    episodes: int = 4
    horizon: int = 120  # decisions
    every: int = 6  # iterations


class Interval(NamedTuple):
    """A mean and half the width of its interval."""

    mean: float
    give: float


def scores(
    grid: SumoGrid,
    policies: Mapping[str, Team],
    seeds: Sequence[int],
    horizon: int,
    programs: Sequence[str] = PROGRAMS,
    watch: Callable[[Score], None] = lambda score: None,
) -> list[Score]:
    """Every policy and every one of SUMO's programs on every seed."""
    found = []
    for name in (*programs, *policies):
        team = policies.get(name)
        players = None if team is None else players_of(team)
        control = name if team is None else "agents"
        played = grid.play_seeds(players, seeds, horizon, control=control).measures
        for seed, measures in zip(seeds, played, strict=True):
            found.append(_score(name, seed, measures))
            watch(found[-1])
    return found


def _score(name: str, seed: int, measures: Measures) -> Score:
    return Score(name, seed, measures.waiting, measures.travel, measures.arrived, measures.vehicles)


def summary(found: Sequence[Score], policy: str, measure: str) -> Interval:
    """Mean over seeds, with its interval."""
    return interval(np.array(list(_values(found, policy, measure).values())))


def difference(found: Sequence[Score], policy: str, rival: str, measure: str) -> Interval:
    """Policy less rival, seed by seed, on the seeds that both have played."""
    mine, theirs = (_values(found, name, measure) for name in (policy, rival))
    return interval(np.array([value - theirs[seed] for seed, value in mine.items() if seed in theirs]))


def _values(found: Sequence[Score], policy: str, measure: str) -> dict[int, float]:
    """By seed, in order."""
    mine = sorted((score.seed, float(getattr(score, measure))) for score in found if score.policy == policy)
    return dict(mine)


def interval(values: np.ndarray) -> Interval:
    """The mean with Student's t; a single value has an infinite interval."""
    found = mean_of(values.tolist())
    return Interval(found.value, found.half if found.count > 1 else float("inf"))


def learned(
    grid: SumoGrid,
    settings: SharedSettings | None = None,
    seed: int = 0,
    trial: Trial | None = None,
    start: Team | None = None,
) -> Iterator[tuple[int, Team, float]]:
    """Learn one controller for all lights, from `start` or longest queue first; (iteration, best so far, its ratio).

    Now and then the posterior mean and its likeliest choices are tried on a few episodes that are not learned from.
    Kept is the team whose worst ratio to longest queue first (of waiting, of travel time, of arrivals the other way
    round) is best: below 1, it gains on all three.
    """
    chosen, trying, rule = settings or SharedSettings(), trial or Trial(), grid.policies()["longest-queue"]
    seeds = [episode_seed(seed + 1, k) for k in range(trying.episodes)]
    usual = _means(grid, rule, seeds, trying.horizon)
    best = rule if start is None else transferred(start, grid)
    least = 1.0 if start is None else _worst(_means(grid, best, seeds, trying.horizon), usual)
    for iteration, state in enumerate(shared(grid, best.controllers[0], chosen, seed), 1):
        if iteration % trying.every == 0:
            for team in (state.team.decided(), state.team):
                ratio = _worst(_means(grid, team, seeds, trying.horizon), usual)
                best, least = (team, ratio) if ratio < least else (best, least)
        yield iteration, simplified(best), least


def _means(grid: SumoGrid, team: Team, seeds: Sequence[int], horizon: int) -> np.ndarray:
    """[measure]."""
    found = grid.play_seeds(players_of(team), seeds, horizon).measures
    return np.array([[getattr(one, measure) for measure in MEASURES] for one in found]).mean(axis=0)


def _worst(mine: np.ndarray, usual: np.ndarray) -> float:
    waiting, travel, arrived = mine / usual
    return float(max(waiting, travel, 1 / arrived))


def transferred(team: Team, grid: SumoGrid) -> Team:
    """The controller of the team's first light at every light of another grid."""
    return everywhere(grid, team.controllers[0])
