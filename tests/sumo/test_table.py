"""Learning one controller for all lights, and the table of policies."""

from pathlib import Path

import numpy as np
import pytest

from decpomdp.core import Team
from decpomdp.environments.sumo.grid import Played, SumoGrid, episode_seed, pooled
from decpomdp.environments.sumo.simulation import Measures
from decpomdp.kernels.rollout import Paths
from decpomdp.rollouts.play import players_of


@pytest.fixture
def lights(monkeypatch):
    """The module of the benchmark."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
    import shared_lights

    return shared_lights


def test_every_light_becomes_an_episode_of_its_own():
    grid = SumoGrid(4)
    rng = np.random.default_rng(0)
    seen, acted = rng.integers(15, size=(6, 16)).astype(np.int16), rng.integers(2, size=(6, 16)).astype(np.int16)
    chance, present = rng.random((6, 16)).astype(np.float32), rng.random((6, 16))
    paths = Paths(seen, acted, np.zeros_like(acted), chance, np.zeros(6))
    episodes = pooled(grid.agents, Played(paths, 0 * present, present, [Measures(0.0, 0.0, 0, 0)] * 2), 0.9)
    assert episodes.count == 32
    assert episodes.discount == 0.9
    for k in range(2):
        for n in range(16):
            rows = slice((16 * k + n) * 3, (16 * k + n + 1) * 3)
            own = slice(3 * k, 3 * k + 3)
            assert np.array_equal(episodes.observations[rows, 0], seen[own, n])
            assert np.array_equal(episodes.actions[rows, 0], acted[own, n])
            assert np.array_equal(episodes.behaviour[rows, 0], chance[own, n])
            assert np.array_equal(episodes.rewards[rows], -present[own, n])


def test_intervals_and_paired_differences(lights):
    told = lights.interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert np.isclose(told.mean, 3)
    assert np.isclose(told.give, 2.7764451 * np.sqrt(2.5 / 5))  # Student's t, 4 degrees of freedom
    assert lights.interval(np.ones(1)).give == np.inf
    made = [lights.Score(name, seed, value, 0.0, 0, 0) for name, seed, value in
            (("a", 1, 10.0), ("a", 2, 30.0), ("b", 2, 31.0), ("b", 1, 11.0))]  # fmt: skip
    assert lights.summary(made, "a", "waiting").mean == 20
    assert lights.difference(made, "a", "b", "waiting") == (-1, 0)  # seed by seed, in whatever order
    made.append(lights.Score("a", 3, 99.0, 0.0, 0, 0))
    assert lights.difference(made, "a", "b", "waiting") == (-1, 0)  # on the seeds that both have played


@pytest.mark.slow  # needs libsumo
def test_scores_and_learning(lights):
    grid = SumoGrid(4, rate=150.0, workers=2)
    start = grid.policies()["longest-queue"]
    settings = lights.SharedSettings(episodes=2, horizon=8, iterations=2)
    runs = [list(lights.learned(grid, settings, 1, lights.Trial(episodes=2, horizon=8, every=1))) for _ in range(2)]
    assert [one[2] for one in runs[0]] == [one[2] for one in runs[1]]  # a function of the seed
    (iteration, team, ratio), (_, again, _) = runs[0][-1], runs[1][-1]
    assert team == again
    assert iteration == 2
    trials = [episode_seed(2, k) for k in range(2)]
    before, after = (grid.play_seeds(players_of(one), trials, 8).measures for one in (start, team))
    assert np.mean([one.waiting for one in after]) <= ratio * np.mean([one.waiting for one in before]) + 1e-9
    assert np.mean([one.travel for one in after]) <= ratio * np.mean([one.travel for one in before]) + 1e-9
    assert np.mean([one.arrived for one in after]) >= np.mean([one.arrived for one in before]) / ratio - 1e-9
    assert isinstance(team, Team)
    teams, seeds = {"start": start, "learned": lights.transferred(team, grid)}, [lights.TEST_SEED, lights.TEST_SEED + 1]
    found = lights.scores(grid, teams, seeds, 3)
    assert [score.policy for score in found] == [
        name for name in ("fixed-time", "actuated", "start", "learned") for _ in (0, 1)
    ]
    assert lights.summary(found, "start", "arrived").mean > 0
    grid.close()
