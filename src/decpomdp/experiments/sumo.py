"""Policies on a SUMO grid, compared by what drivers mind: waiting, travel time, and how many get through.

Every policy meets the same vehicles: one episode per demand seed, the seeds being whole numbers from TEST_SEED on,
which no learner has met (those of learning have 63 bits, the highest of them set: `episode_seed`). Reported are means
over seeds with a 95 % interval (Student's t), and the differences to a rival, seed by seed, with theirs: the demand,
which differs more from seed to seed than policies do, drops out of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decpomdp.core import Team
from decpomdp.core.minimal import simplified
from decpomdp.environments.sumo.episodes import episode_seed
from decpomdp.environments.sumo.grid import SumoGrid
from decpomdp.environments.sumo.simulation import Measures
from decpomdp.experiments.sumo_learning import SharedSettings, everywhere, shared
from decpomdp.rollouts.play import players_of

PROGRAMS = ("fixed-time", "actuated")  # SUMO's own
MEASURES = ("waiting", "travel", "arrived")
TEST_SEED = 1_000_000
CONFIDENCE = 0.95


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
    """What chooses between the teams that were learned."""

    episodes: int = 4
    horizon: int = 120  # decisions
    every: int = 6  # iterations


class Interval(NamedTuple):
    """A mean and what it is known to, give or take."""

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
        told = grid.play_seeds(players, seeds, horizon, control=control).measures
        for seed, measures in zip(seeds, told, strict=True):
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
    """Student's t; one value alone is known to nothing."""
    from scipy.stats import t

    if len(values) < 2:
        return Interval(float(values.mean()), float("inf"))
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    return Interval(float(values.mean()), float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error)


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
