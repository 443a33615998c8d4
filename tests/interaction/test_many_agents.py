"""Learning with many agents: own ratios, reach, and whole runs on small grids."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.api import learn
from decpomdp.core import Episodes, Team
from decpomdp.core.run import Inputs
from decpomdp.domains.traffic import Traffic
from decpomdp.filtering.filter import log_likelihood, tables_of
from decpomdp.interaction.sbpr.many_agents import OwnRatios, added, counted
from decpomdp.interaction.sbpr.many_method import ManyAgentsMethod
from decpomdp.interaction.sbpr.method import SbprLoopMethod, sbpr_method
from decpomdp.interaction.sbpr.settings import ManyAgents, SbprLoop, SbprTuning
from decpomdp.interaction.sbpr.starts import by_action
from decpomdp.rollouts import simulate

PAUSE = 3
TUNING = SbprTuning(settling=5, many=ManyAgents(pause=PAUSE, patience=2))
BRIEF = SbprLoop(batch=100, tests=60, patience=1, tuning=TUNING)


@pytest.fixture
def played():
    rng = np.random.default_rng(0)
    problem = making.model(rng)
    team = making.team(rng, problem)
    return problem, team, simulate(problem, team, 60, 5, seed=1)


def brute_counts(data, n, nu, reach):
    """[a]: gains of a one-node controller's actions, one decision and one later step at a time."""
    found = np.zeros(len(data.agents[n].actions))
    for k in range(data.count):
        first, end = data.offsets[k], data.offsets[k + 1]
        for row in range(first, end):
            for later in range(row, end):
                found[data.actions[row, n]] += reach ** (later - row) * nu[later]
    return found


@pytest.mark.parametrize("reach", [1.0, 0.7])
def test_gains_reach_back(played, reach):
    problem, _, _ = played
    data = simulate(problem, Team.uniform(problem), 30, 6, seed=0)
    nu = np.random.default_rng(1).normal(size=data.steps)
    for n in range(len(problem.agents)):
        tables = tables_of(Team.uniform(problem), n)
        visits, gains, sizes = counted([data], [np.ones(data.steps)], [nu], tables, n, 20.0, reach)
        np.testing.assert_allclose(gains.visits[0], brute_counts(data, n, nu, reach), atol=1e-4)
        np.testing.assert_allclose(visits.visits[0], brute_counts(data, n, np.ones(data.steps), 1.0), rtol=1e-5)
        np.testing.assert_allclose(sizes, 30, rtol=1e-5)


def test_on_policy_it_counts_what_the_sweep_counts(played, monkeypatch):
    from decpomdp.filtering.filter import lay_out
    from decpomdp.interaction.sbpr.starts import counts_of
    from decpomdp.learners import StickBreaking
    from decpomdp.learners.posterior import updated
    from decpomdp.learners.sweep import Evaluated, Task, count
    from decpomdp.learners.weighing import Steps, Weighed

    monkeypatch.setattr("decpomdp.learners.sweep.SMALL", 0)  # filters again where nothing was kept
    problem, team, data = played
    nu = np.random.default_rng(2).random(data.steps)
    tables = tuple(tables_of(team, n) for n in range(2))
    agents = tuple(
        updated(agent, StickBreaking().priors(agent), found)
        for agent, found in zip(problem.agents, counts_of(team, 0.0, 1.0, shown=False), strict=True)
    )
    layout = lay_out(data, max(team.nodes))
    steps = Steps(nu, log_likelihood(data, team), data.offsets)
    task = Task(layout, steps, float(data.count), 1.0, 1)
    whole = count(task, Evaluated(agents, tables, Weighed(nu, 0.0, 0.0), 0.0, [None] * len(layout.pieces)))
    for n in range(2):
        visits, gains, _ = counted([data], [nu], [nu], tables[n], n, 20.0, 1.0)
        np.testing.assert_allclose(visits.visits, whole[n].visits, rtol=1e-5)
        np.testing.assert_allclose(gains.moves, whole[n].moves, rtol=1e-5, atol=1e-9)


def test_an_agents_ratios_are_its_own(played):
    """What became of another agent since does not matter; what became of the agent itself does."""
    _, team, data = played
    nu = np.ones(data.steps)
    table = tables_of(team, 0)

    def with_behaviour(n, factor):
        behaviour = np.array(data.behaviour)
        behaviour[:, n] *= factor
        return Episodes(data.agents, data.offsets, data.observations, data.actions, behaviour, data.rewards, 0.9)

    plain = counted([data], [nu], [nu], table, 0, 1e9, 1.0)[0].visits.sum()
    other = counted([with_behaviour(1, 0.5)], [nu], [nu], table, 0, 1e9, 1.0)[0].visits.sum()
    own = counted([with_behaviour(0, 0.5)], [nu], [nu], table, 0, 1e9, 1.0)[0].visits.sum()
    assert other == plain
    assert own > 1.5 * plain


def test_the_joint_ratio_of_many_agents_collapses_and_the_own_one_does_not():
    grid = Traffic(6)
    old = by_action(grid, 0.5)
    rng = np.random.default_rng(0)
    new = Team.of(
        grid,
        [dp.Controller(c.initial, _tilted(c.action, rng), c.transition, c.initial_given) for c in old.controllers],
    )
    data = simulate(grid, old, 300, 20, seed=0)
    joint = np.exp(log_likelihood(data, new) - log_likelihood(data, old))[data.times() == 19]
    assert joint.sum() ** 2 / (joint**2).sum() < 20
    assert OwnRatios(20.0, 1.0, 1).learn([data], new).sample_size > 60


def _tilted(table, rng):
    changed = table * np.exp(rng.normal(scale=0.25, size=table.shape))
    return changed / changed.sum(axis=-1, keepdims=True)


def test_the_window_keeps_the_newest_batches():
    grid = Traffic(3)
    team = by_action(grid, 0.8)
    own_ratios, batches = OwnRatios(20.0, 0.9, 1), []
    for seed in range(3):
        batches = added(batches, simulate(grid, team, 10 + seed, 5, seed), 2)
    assert [batch.count for batch in batches] == [11, 12]
    learned = own_ratios.learn(batches, team)
    assert learned.episodes == 23
    assert learned.sample_size == pytest.approx(23, rel=1e-4)
    two = own_ratios.learn(batches, team)
    np.testing.assert_array_equal(learned.gains[4].moves, two.gains[4].moves)


def test_many_agents_learn_from_exploration_alone():
    grid = Traffic(3)
    fit = learn(grid, BRIEF, iterations=12, seed=0)
    chance, learned = (simulate(grid, team, 300, 60, 9).returns().mean() for team in (Team.uniform(grid), fit.team))
    assert learned > chance + 10
    assert fit.stopped in ("iterations", "converged")
    assert max(fit.team.nodes) <= 2
    assert {"iteration", "value", "error", "nodes", "sample_size", "exploration", "predicted"} <= set(fit.trace[0])
    assert fit.trace[0]["exploration"] == pytest.approx(1.0)


def test_threads_and_limits():
    grid = Traffic(3)
    one, two = (learn(grid, BRIEF, iterations=4, seed=2, threads=n) for n in (1, 2))
    assert one.team == two.team
    assert [row["value"] for row in one.trace[-1:]] == [row["value"] for row in two.trace[-1:]]
    assert learn(grid, BRIEF, steps=9000, seed=0).trace[-1]["steps"] <= 9000


def test_the_number_of_agents_decides():
    assert isinstance(sbpr_method(Traffic(2), SbprLoop(), Inputs()), SbprLoopMethod)
    assert isinstance(sbpr_method(Traffic(3), SbprLoop(), Inputs()), ManyAgentsMethod)


def test_a_resumed_run_is_the_same_run(resumed):
    resumed(ManyAgentsMethod(Traffic(3), BRIEF, Inputs(seed=2)), [1, 3, 4, 6, 9], 12)


@pytest.mark.parametrize("iterations", [1, PAUSE, PAUSE + 1])
def test_the_last_iteration_is_tested(iterations):
    """However few iterations there are, the team is one that was learned, and its value is known."""
    fit = learn(Traffic(3), BRIEF, iterations=iterations, seed=0)
    assert len(fit.trace) == iterations
    assert np.isfinite(fit.trace[-1]["value"])
    assert fit.team != Team.uniform(Traffic(3))
