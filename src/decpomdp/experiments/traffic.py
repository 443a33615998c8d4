"""The paper's second figure on the reconstructed traffic problem: test reward and controller size per iteration.

Three learners on the same grid, the same number of episodes an iteration, the same test episodes:

  sbpr-heuristic    Dec-SBPR that begins with the behaviour of the hand-coded rule
  sbpr-exploration  Dec-SBPR that begins at random: its exploration strategy only
  mcem              Monte-Carlo EM, three nodes per agent

After every few iterations the learner's team plays test episodes, as it is and with its likeliest choices only; the
better of the two is the point of the curve. Nothing is kept from the best iteration: a curve may fall.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np

from decpomdp.core import Controller, Team
from decpomdp.core.minimal import simplified
from decpomdp.core.run import Inputs, unlimited
from decpomdp.domains.traffic import ACTIONS, COLUMN, OBSERVATIONS, ROW, Traffic
from decpomdp.engines.threads import serial_products
from decpomdp.interaction.afford import mcem_sizes
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.mcem.method import McemMethod
from decpomdp.interaction.mcem.settings import Mcem
from decpomdp.interaction.sbpr.many_method import ManyLearner
from decpomdp.interaction.sbpr.settings import SbprLoop, SbprTuning
from decpomdp.learners import StickBreaking

METHODS = ("sbpr-heuristic", "sbpr-exploration", "mcem")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is played."""

    iterations: int = 100
    episodes: int = 500  # an iteration
    every: int = 5  # iterations between tests
    tests: int = 500  # episodes of a test


@dataclass(frozen=True, slots=True)
class Point:
    """One test on one curve."""

    method: str
    seed: int
    iteration: int
    seconds: float  # of the processor, for learning; tests left out
    value: float
    error: float  # standard error of the value
    nodes: float  # per controller: occupied in the posterior, or the fixed size
    acting: float  # per controller of the tested team after merging nodes that act alike
    sample_size: float | None  # smallest effective number of episodes over agents and steps


Told = tuple[Team, float, float | None]  # team, nodes, sample size


def curve(method: str, seed: int, effort: Effort, side: int = 10, threads: int | None = None) -> Iterator[Point]:
    """One learner's tests, as they happen."""
    grid, inputs = Traffic(side), Inputs(seed, threads)
    player = EpisodePlayer(grid, inputs)
    learner = _mcem(grid, inputs, effort) if method == "mcem" else _sbpr(player, effort, method == "sbpr-heuristic")
    horizon = player.horizon(None, SbprTuning().testing_tail, 1000)
    spent = 0.0
    for iteration in range(1, effort.iterations + 1):
        begin = process_time()
        team, nodes, size = next(learner)
        spent += process_time() - begin
        if iteration % effort.every == 0 or iteration == 1:
            played = [player.tested(one, effort.tests, horizon, seed) for one in (team, team.decided())]
            best = max(played, key=lambda one: one.value)
            acting = float(np.mean(simplified(best.team).nodes))
            yield Point(method, seed, iteration, spent, best.value, best.error, nodes, acting, size)


def curves(
    seeds: Sequence[int],
    effort: Effort,
    side: int = 10,
    methods: Sequence[str] = METHODS,
    threads: int | None = None,
    watch: Callable[[Point], None] = lambda point: None,
) -> list[Point]:
    """All curves; `watch` is called with every new point."""
    points = []
    for seed in seeds:
        for method in methods:
            for point in curve(method, seed, effort, side, threads):
                watch(point)
                points.append(point)
    return points


def unlearned(side: int) -> dict[str, Team]:
    """The policies that need no learning: the problem's own, and a clock that all lights keep."""
    grid = Traffic(side)
    after = [[COLUMN] * len(OBSERVATIONS), [ROW] * len(OBSERVATIONS)]  # row, column, row ... whatever is seen
    clock = Controller.deterministic([ROW, COLUMN], after, len(ACTIONS))
    return {**grid.policies(), "clock": Team.of(grid, [clock] * len(grid.agents))}


def fixed(side: int = 10, tests: int = 2000, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Value and standard error of the policies that need no learning."""
    player = EpisodePlayer(Traffic(side), Inputs(seed))
    horizon = player.horizon(None, SbprTuning().testing_tail, 1000)
    played = {name: player.tested(team, tests, horizon, seed) for name, team in unlearned(side).items()}
    return {name: (one.value, one.error) for name, one in played.items()}


def _sbpr(player: EpisodePlayer, effort: Effort, heuristic: bool) -> Iterator[Told]:
    learner = ManyLearner(player, StickBreaking(), SbprLoop(batch=effort.episodes))
    grid = Traffic(round(len(player.simulator.agents) ** 0.5))
    start = learner.start_from(grid.policies()["heuristic"]) if heuristic else learner.start()
    state = learner.begin_many(start, effort.episodes)
    while True:
        with serial_products():
            state, facts, _ = learner.iterate_many(state, effort.episodes)
        posterior = learner.posterior(state.counts)
        size = facts["sample_size"]
        yield posterior.mean(), float(np.mean(posterior.sizes)), float(size) if isinstance(size, float) else None


def _mcem(grid: Traffic, inputs: Inputs, effort: Effort) -> Iterator[Told]:
    settings, now = Mcem(episodes=effort.episodes, updates=effort.iterations), unlimited()
    method = McemMethod(grid, settings, inputs)
    state = method.init(now)._replace(sizes=mcem_sizes(settings, method.player))
    while True:
        state, row = method.step(state, now)
        if row is not None and state.climb is not None:
            yield method.team(state.climb.tables), float(settings.nodes), None
