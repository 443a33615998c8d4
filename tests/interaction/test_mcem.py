"""MCEM: weights, updates, and whole runs."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.api import learn
from decpomdp.core.run import Inputs, unlimited
from decpomdp.evaluation import exact_value
from decpomdp.interaction.afford import FEWEST, MCEM_TESTED, mcem_sizes
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.mcem.method import (
    McemMethod,
    NodeTables,
    Recorded,
    mean_worths,
    normalised,
    play_recorded,
    reward_range,
    worth,
)
from decpomdp.interaction.mcem.settings import Mcem, McemTuning
from decpomdp.rollouts import simulate

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
BRIEF = Mcem(episodes=60, updates=20, tests=200, patience=2, tuning=McemTuning(random_episodes=1000, elites=5))


@pytest.fixture
def broadcast():
    return dp.load("broadcast", 0.9)


def played(seed=0, episodes=30, horizon=4):
    rng = np.random.default_rng(seed)
    problem = making.model(rng)
    team = making.team(rng, problem, nodes=3)
    return team, play_recorded(EpisodePlayer(problem, Inputs(seed, 1)), team, episodes, horizon)


def test_worth_is_the_scaled_return_to_go():
    _, data = played()
    bounds = reward_range(data, (np.inf, -np.inf))
    found = worth(data, 0.9, bounds).reshape(30, 4)
    rewards = (data.paths.rewards.reshape(30, 4) - bounds[0]) / (bounds[1] - bounds[0])
    assert rewards.min() == 0
    assert rewards.max() == 1
    for k in range(30):
        for t in range(4):
            assert found[k, t] == pytest.approx(sum(0.9**s * rewards[k, s] for s in range(t, 4)))


def test_after_its_end_an_episode_earns_nothing():
    _, data = played(episodes=1, horizon=2)
    ended = Recorded(data.paths._replace(rewards=np.array([-1.0, 1.0])), data.lengths, np.array([True]))
    np.testing.assert_allclose(worth(ended, 0.5, (-1.0, 1.0)), [0.5 + 0.25, 0.5 + 0.25])


def test_expected_counts_are_probability_times_mean_worth():
    """Against the definition, decision by decision."""
    team, data = played(episodes=2000)
    bounds = reward_range(data, (np.inf, -np.inf))
    controller = team.controllers[1]
    tables = NodeTables(np.tile(controller.initial, (3, 1)), controller.action, controller.transition)
    found = mean_worths(data, 1, tables, 0.9, bounds)
    value, usual = worth(data, 0.9, bounds), 0.9 ** data.times().astype(float)
    node, action = data.paths.nodes[:, 1], data.paths.actions[:, 1]
    for i in range(3):
        means = []
        for a in range(2):
            here = (node == i) & (action == a)
            means.append((value[here].sum(), usual[here].sum()))
        row = sum(v for v, _ in means) / sum(u for _, u in means)
        shrunk = np.array([(v + 5 * row) / (u + 5) for v, u in means])
        np.testing.assert_allclose(found.act[i], shrunk / (controller.action[i] @ shrunk))


def test_stride_one_is_plain_em_and_larger_goes_further():
    table, value = np.array([[0.5, 0.5]]), np.array([[1.2, 0.8]])
    np.testing.assert_allclose(normalised(table, value, 1.0, 0.0), [[0.6, 0.4]])
    further = normalised(table, value, 2.0, 0.0)
    np.testing.assert_allclose(further, [[1.44 / 2.08, 0.64 / 2.08]])
    assert normalised(np.array([[1.0, 0.0]]), value, 1.0, 0.1)[0, 1] == pytest.approx(0.05)


@pytest.mark.parametrize(("name", "iterations", "published"), [("broadcast", 100, 9.15), ("recycling", 310, 30.78)])
def test_it_reaches_the_published_value(name, iterations, published):
    fit = learn(name, "mcem", iterations=iterations, seed=1)
    assert exact_value(dp.load(name), fit.team).value >= published
    assert max(fit.team.nodes) <= 3


def test_rows_limits_and_reproducibility(broadcast):
    rows = []
    one = learn(broadcast, BRIEF, iterations=30, seed=2, threads=1, watch=rows.append)
    two = learn(broadcast, BRIEF, iterations=30, seed=2, threads=2)
    assert one.team == two.team
    assert one.stopped == "iterations"
    assert [row["iteration"] for row in rows] == list(range(1, 31))
    assert len({tuple(row) for row in rows}) == 1
    assert learn(broadcast, BRIEF).stopped == "converged"
    limited = learn(broadcast, BRIEF, steps=500_000)
    assert limited.stopped in ("steps", "converged")
    assert limited.trace[-1]["steps"] <= 500_000


def test_the_last_update_of_a_start_is_tested_before_the_iterations_are_over(broadcast):
    whole, more = (learn(broadcast, BRIEF, iterations=count, seed=3) for count in (20, 21))
    assert whole.team == more.team
    assert [row["value"] for row in more.trace[:20]] == [row["value"] for row in whole.trace]


def test_a_resumed_run_is_the_same_run(broadcast, resumed):
    resumed(McemMethod(broadcast, BRIEF, Inputs(seed=2)), [1, 3, 9, 30, 40], 60)


@pytest.mark.parametrize("agents", [2, 3, 4])
def test_simulators_that_end_and_show_something_first(corridor, agents):
    world = corridor(agents=agents)
    fit = learn(world, BRIEF, iterations=100, seed=0)
    assert simulate(world, fit.team, 300, 40, seed=9).returns().mean() > 3


def test_a_first_observation_is_learned_from(echo):
    fit = learn(echo, BRIEF, iterations=200, seed=0)
    test = simulate(echo, fit.team, 2000, 15, seed=9)
    assert test.rewards[test.times() == 0].mean() > 0.3  # chance: 1/8


def sizes(problem, settings=None, **left):
    """Those of a run that begins with these limits."""
    player = EpisodePlayer(problem, Inputs())
    player.begin(player.random, 0, unlimited()._replace(**left))
    return mcem_sizes(settings or Mcem(), player)


@pytest.mark.parametrize("steps", [3_600, 36_000, pytest.param(360_000, marks=pytest.mark.slow)])
def test_few_steps_are_enough_for_a_start(steps):
    """A third each for the updates, the replays and the tests."""
    grid = dp.load("traffic:3")
    small = sizes(grid, steps=steps)
    updates, replays = small.updates * small.episodes, 4 * small.elites * small.episodes
    assert 29 * (updates + replays + MCEM_TESTED * small.tests) <= steps
    assert min(small.updates, small.episodes, small.tests) >= FEWEST
    fit = learn(grid, Mcem(), steps=steps)
    assert fit.facts == small._asdict()
    assert fit.trace[-1]["iteration"] >= small.updates
    assert np.isfinite(fit.trace[-1]["value"])


def test_only_slow_problems_are_played_less():
    full, grid, model = Mcem(), dp.load("traffic:3"), dp.load("broadcast")
    for many in (sizes(model, seconds=1.0), sizes(grid, seconds=1000.0), sizes(grid, steps=10**8)):
        assert (many.updates, many.episodes, many.tests) == (full.updates, full.episodes, full.tests)
    assert sizes(model, steps=10_000).tests < full.tests
    least = sizes(grid, steps=10)
    assert (least.updates, least.episodes, least.elites, least.tests) == (2, 2, 1, 2)
    assert sizes(grid, Mcem(tests=1), steps=10).tests == 1
