"""MCEM: weights, updates, and whole runs."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.evaluation import exact_value
from decpomdp.interaction.mcem import FEWEST, TESTED, McemSettings, mcem, scaled
from decpomdp.interaction.mcem_counts import Lived, Tables, counted, lived, normalised, reward_range, worth
from decpomdp.interaction.sbpr_play import Ground
from decpomdp.rollouts import simulate

BRIEF = McemSettings(episodes=60, updates=20, random_episodes=1000, elites=5, tests=200, patience=2)


@pytest.fixture
def broadcast():
    return dp.load("broadcast", 0.9)


def played(seed=0, episodes=30, horizon=4):
    rng = np.random.default_rng(seed)
    problem = making.model(rng)
    team = making.team(rng, problem, nodes=3)
    return team, lived(Ground(problem, None, None, seed, 1), team, episodes, horizon)


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


def test_who_has_ended_earns_nothing_for_ever():
    _, data = played(episodes=1, horizon=2)
    ended = Lived(data.paths._replace(rewards=np.array([-1.0, 1.0])), data.lengths, np.array([True]))
    np.testing.assert_allclose(worth(ended, 0.5, (-1.0, 1.0)), [0.5 + 0.25, 0.5 + 0.25])


def test_expected_counts_are_probability_times_mean_worth():
    """Against the definition, decision by decision."""
    team, data = played(episodes=2000)
    bounds = reward_range(data, (np.inf, -np.inf))
    controller = team.controllers[1]
    tables = Tables(np.tile(controller.initial, (3, 1)), controller.action, controller.transition)
    found = counted(data, 1, tables, 0.9, bounds)
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


def test_it_reaches_the_published_value_on_broadcast(broadcast):
    fit = mcem(broadcast, iterations=100, seed=1)
    assert exact_value(broadcast, fit.team).value >= 9.15
    assert max(fit.team.nodes) <= 3


def test_it_reaches_the_published_value_on_recycling():
    problem = dp.load("recycling", 0.9)
    fit = mcem(problem, iterations=310, seed=1)
    assert exact_value(problem, fit.team).value >= 30.78


def test_rows_limits_and_reproducibility(broadcast):
    rows = []
    one = mcem(broadcast, iterations=30, seed=2, threads=1, settings=BRIEF, watch=rows.append)
    two = mcem(broadcast, iterations=30, seed=2, threads=2, settings=BRIEF)
    assert one.team == two.team
    assert one.stopped == "iterations"
    assert [row["iteration"] for row in rows if "phase" not in row] == list(range(1, 31))
    assert len({tuple(row) for row in rows}) == 1
    assert mcem(broadcast, settings=BRIEF).stopped == "converged"
    assert mcem(broadcast, time_limit=0, settings=BRIEF).stopped == "time limit"
    limited = mcem(broadcast, steps=500_000, settings=BRIEF)
    assert limited.stopped in ("steps", "converged")
    assert limited.trace[-1]["steps"] <= 500_000


def test_settings_tell_what_shaped_the_result(broadcast):
    asked = {"seed": 5, "iterations": 2, "horizon": 9, "steps": 10**8, "time_limit": 60.0}
    fit = mcem(broadcast, settings=BRIEF, **asked)
    assert {key: fit.settings[key] for key in asked} == asked
    assert fit.settings["nodes"] == BRIEF.nodes


def test_an_interrupt_returns_the_best_so_far(broadcast):
    def interrupt(row):
        raise KeyboardInterrupt

    fit = mcem(broadcast, settings=BRIEF, watch=interrupt)
    assert fit.stopped == "interrupted"
    assert exact_value(broadcast, fit.team).value > 8


@pytest.mark.parametrize("agents", [2, 3, 4])
def test_simulators_that_end_and_show_something_first(corridor, agents):
    world = corridor(agents=agents)
    fit = mcem(world, iterations=100, seed=0, settings=BRIEF)
    assert simulate(world, fit.team, 300, 40, seed=9).returns().mean() > 3


def test_a_first_observation_is_learned_from(echo):
    fit = mcem(echo, iterations=200, seed=0, settings=BRIEF)
    test = simulate(echo, fit.team, 2000, 15, seed=9)
    assert test.rewards[test.times() == 0].mean() > 0.3  # chance: 1/8


def test_bad_settings_are_refused(broadcast):
    with pytest.raises(InputError, match="nodes"):
        McemSettings(nodes=0)
    with pytest.raises(InputError, match="exploration"):
        McemSettings(exploration=1.0)
    with pytest.raises(InputError, match="iterations"):
        mcem(broadcast, iterations=0)


@pytest.mark.parametrize("steps", [3_600, 36_000, pytest.param(360_000, marks=pytest.mark.slow)])
def test_what_a_slow_simulator_can_play_is_enough_for_a_start(steps):
    """A third each for the updates, the replays and the tests."""
    settings, grid = McemSettings(), dp.load("traffic:3")
    small = scaled(settings, Ground(grid, None, steps, 0, None), None, None)
    updates, replays = small.updates * small.episodes, 4 * small.elites * small.episodes
    assert 29 * (updates + replays + TESTED * small.tests) <= steps
    assert min(small.updates, small.episodes, small.tests) >= FEWEST
    fit = mcem(grid, steps=steps, settings=small)
    assert fit.trace[-1]["iteration"] >= small.updates
    assert np.isfinite(fit.trace[-1]["value"])


def test_only_what_is_slow_is_played_less():
    settings, grid = McemSettings(), dp.load("traffic:3")
    model = dp.load("broadcast")
    assert scaled(settings, Ground(model, 1.0, None, 0, None), None, None) is settings
    assert scaled(settings, Ground(model, None, 10_000, 0, None), None, None).tests < settings.tests  # steps count
    assert scaled(settings, Ground(grid, 1000.0, None, 0, None), None, None) is settings
    assert scaled(settings, Ground(grid, None, 10**8, 0, None), None, None) is settings
    least = scaled(settings, Ground(grid, None, 10, 0, None), None, None)
    assert (least.updates, least.episodes, least.elites, least.tests) == (2, 2, 1, 2)
    assert scaled(McemSettings(tests=1), Ground(grid, None, 10, 0, None), None, None).tests == 1
