"""The paper's loop: counts, starts, and whole runs on models and simulators."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.api import learn
from decpomdp.core import InputError, Team
from decpomdp.core.run import Inputs
from decpomdp.evaluation import exact_value
from decpomdp.filtering.filter import log_likelihood
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.iteration import renewed
from decpomdp.interaction.sbpr.method import SbprLoopMethod
from decpomdp.interaction.sbpr.settings import SbprLoop, SbprTuning
from decpomdp.interaction.sbpr.starts import counts_of, last_observation, memories, replays, tree
from decpomdp.learners.weighing import by_decision, returns_to_go, utilities, weigh
from decpomdp.rollouts import simulate

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
BRIEF = SbprLoop(
    tests=100,
    patience=2,
    tuning=SbprTuning(
        random_episodes=1000,
        lengths=(3, 5),
        elites=4,
        generations=1,
        replays=1,
        pool=2,
        race=15,
        round=10,
        settling=5,
    ),
)
KEYS = {
    *("iteration", "seconds", "steps", "exploration", "nodes"),
    *("mean_nodes", "bound", "value", "error", "sample_size"),
}


@pytest.fixture
def broadcast():
    return dp.load("broadcast", 0.9)


def test_choices_so_far_count_as_a_few_visits():
    counts, found = np.array([[3.0, 1.0], [30.0, 10.0]]), np.array([[0.0, 60.0], [0.0, 0.0]])
    after = renewed(counts, found, memory=20.0, carry=0.9)
    np.testing.assert_allclose(after[0], 60 * np.array([15.0, 65.0]) / 80)  # as strong as its visits
    np.testing.assert_allclose(after[1], 0.9 * counts[1])
    np.testing.assert_allclose(renewed(counts, -found, 20.0, 0.9), 0.9 * counts)


def test_decisions_count_by_the_utility_of_what_follows():
    rng = np.random.default_rng(2)
    problem = making.model(rng)
    team = making.team(rng, problem, nodes=2)
    data = simulate(problem, team, 50, 6, seed=3)
    steps = by_decision(data)
    weights = np.cumsum(steps.gain.reshape(50, 6)[:, ::-1], axis=1)[:, ::-1]  # of the decision at every step
    returns = returns_to_go(data).reshape(50, 6)
    np.testing.assert_allclose(returns[:, 0], data.returns())
    for t in range(6):
        own = utilities(returns[:, t])
        np.testing.assert_allclose(weights[:, t], data.discount**t * own / own.mean(), rtol=1e-2)
    logs = log_likelihood(data, team).reshape(50, 6)
    own_logs = np.diff(logs, axis=1, prepend=0.0)  # of every decision alone
    assert weigh(steps, logs.ravel(), 0.0).log_mean == pytest.approx((weights * own_logs).sum() / 50)


def test_memories_remember():
    np.testing.assert_array_equal(last_observation(2), [[1, 2]] * 3)
    np.testing.assert_array_equal(tree(3, 2), [[1, 2], [3, 4], [5, 6], [0, 0], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(tree(1, 2), [[0, 0]])


def test_memories_too_large_are_left_out():
    model = making.model(np.random.default_rng(0), observations=(2, 5))
    assert [team.nodes for team in memories(model, 15)] == [(3, 6), (3, 6)]


def test_replays_are_the_best_episodes(broadcast):
    data = simulate(broadcast, Team.uniform(broadcast), 500, 3, seed=0)
    first, second = list(replays(data, 3, 1))
    best = data.actions[3 * data.returns().argmax() :][:3]
    for team in (first, second):
        assert [c.action.argmax(axis=1).tolist() for c in team.controllers] == best.T.tolist()
    assert first.controllers[0].transition[2, 0, 0].argmax() == 0
    assert second.controllers[0].transition[2, 0, 0].argmax() == 2
    assert len(list(replays(data, 2, 3))) == 6


def test_counts_say_the_team_with_its_start_first():
    problem = making.model(np.random.default_rng(0))
    team = making.team(np.random.default_rng(1), problem, nodes=3)
    for counts, controller in zip(counts_of(team, 0.0, 10.0, shown=False), team.controllers, strict=True):
        start = controller.initial.argmax()
        np.testing.assert_allclose(counts.visits[0], 10 * controller.action[start])
        assert not counts.firsts.any()


def test_it_beats_the_paper_on_broadcast_within_seconds(broadcast):
    fit = learn(broadcast, SbprLoop(tuning=SbprTuning(elites=6, generations=0)), iterations=20, seed=1)
    assert exact_value(broadcast, fit.team).value >= 9.20
    assert fit.stopped == "iterations"
    assert max(fit.team.nodes) <= 8
    assert fit.posterior is not None
    assert fit.mean is not None


def test_every_row_tells_the_same_things(broadcast):
    rows = []
    fit = learn(broadcast, BRIEF, iterations=18, seed=0, watch=rows.append)
    assert tuple(rows) == fit.trace
    assert all(set(row) == KEYS for row in rows)
    assert [row["iteration"] for row in rows] == [0, 0, *range(1, 19)]  # replays of random episodes, and of replays
    assert all(np.isfinite(row["value"]) and row["nodes"] for row in rows)
    assert [row["steps"] for row in rows] == sorted(row["steps"] for row in rows)
    assert rows[0]["steps"] < 0.6 * rows[2]["steps"]
    rows = rows[2:]
    rates = [row["exploration"] for row in rows[:15]]
    assert rates[0] == pytest.approx(0.3)  # a replay comes first
    assert rates[-1] < 0.2 * rates[0]
    assert all(np.isfinite(row["bound"]) for row in rows)


def test_the_result_does_not_depend_on_threads(broadcast):
    one, two = (learn(broadcast, BRIEF, iterations=20, seed=3, threads=n) for n in (1, 2))
    assert one.team == two.team
    assert [row["bound"] for row in one.trace] == [row["bound"] for row in two.trace]
    other = learn(broadcast, BRIEF, iterations=20, seed=4)
    assert [row["bound"] for row in one.trace] != [row["bound"] for row in other.trace]


def test_an_early_stop_leads_to_the_best_replay(broadcast):
    """Before the first round: better than the uniform team."""
    fit = learn(broadcast, BRIEF, steps=100_000, seed=0, watch=lambda row: True)
    assert [row["iteration"] for row in fit.trace] == [0]
    assert fit.stopped == "callback"
    assert exact_value(broadcast, fit.team).value > exact_value(broadcast, Team.uniform(broadcast)).value + 1
    assert all(size >= nodes for size, nodes in zip(fit.posterior.sizes, fit.team.nodes, strict=True))  # a replay's


def test_steps_of_batches_and_of_tests_are_counted(broadcast):
    player, team = EpisodePlayer(broadcast, Inputs(seed=0)), Team.uniform(broadcast)
    player.play(team, 20, 5)
    assert player.steps == 100
    player.all_tested([team, team], 30, 7, 1)
    assert player.steps == 100 + 2 * 30 * 7


def test_it_converges_and_respects_the_clock(broadcast):
    short = msgspec.structs.replace(BRIEF.tuning, race=5, round=5)
    assert learn(broadcast, msgspec.structs.replace(BRIEF, patience=1, tuning=short)).stopped == "converged"
    fit = learn(broadcast, BRIEF, time_limit=0)
    assert (fit.stopped, fit.team) == ("time limit", Team.uniform(broadcast))
    assert len(fit.posterior.sizes) == 2


def test_the_last_iteration_of_a_round_is_tested_before_the_iterations_are_over(broadcast):
    whole, more = (learn(broadcast, BRIEF, iterations=count, seed=3) for count in (15, 16))
    assert whole.team == more.team
    assert [row["iteration"] for row in whole.trace][-1] == 15


def test_a_resumed_run_is_the_same_run(broadcast, resumed):
    resumed(SbprLoopMethod(broadcast, BRIEF, Inputs(seed=2)), [1, 2, 3, 6, 17, 22], 30)


def test_a_given_behaviour_plays_first(broadcast):
    good = learn(broadcast, BRIEF, iterations=1, seed=1).team
    brief = SbprLoop(tests=50, tuning=SbprTuning(random_episodes=1, elites=1))
    fit = learn(broadcast, brief, iterations=1, begin=good)
    assert exact_value(broadcast, fit.team).value >= 9.0
    with pytest.raises(InputError, match="fit"):
        learn(broadcast, "sbpr", begin=Team.uniform(dp.load("dectiger")))


@pytest.mark.parametrize("agents", [2, pytest.param(3, marks=pytest.mark.slow), 4])
def test_simulators_that_end_and_show_something_first(corridor, agents):
    world = corridor(agents=agents)
    fit = learn(world, BRIEF, iterations=30, seed=0)
    test = simulate(world, fit.team, 300, 40, seed=9).returns()
    assert test.mean() > 3  # going right is worth 10 less the way, chance about -8


def test_a_first_observation_is_learned_from(echo):
    fit = learn(echo, BRIEF, iterations=60, seed=0)
    assert all(controller.initial_given is not None for controller in fit.team.controllers)
    test = simulate(echo, fit.team, 2000, 15, seed=9)
    assert test.rewards[test.times() == 0].mean() > 0.5  # chance: 1/8


@pytest.mark.parametrize("method", ["sbpr", "mcem"])
def test_the_unit_of_rewards_does_not_matter(broadcast, method):
    large = replace(broadcast, reward=broadcast.reward * 2.0**120)
    small = replace(broadcast, reward=broadcast.reward * 2.0**-120)
    teams = [learn(problem, method, steps=60_000, seed=0).team for problem in (broadcast, large, small)]
    assert teams[0] == teams[1]
    assert teams[0] == teams[2]


@pytest.mark.parametrize("method", ["search", "sbpr", "mcem"])
def test_a_simulator_without_discount_has_a_horizon_of_its_own(corridor, method):
    class Short(corridor):
        discount = 1.0

    with pytest.raises(InputError, match="horizon: expected a number of steps, because the discount is 1"):
        learn(Short(), method, steps=2000)
    Short.horizon = 7
    own, same, other = (learn(Short(), method, steps=2000, horizon=horizon) for horizon in (None, 7, 3))
    assert own.team == same.team
    assert own.trace != other.trace
