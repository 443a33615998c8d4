"""Signed step weights: against the paper's counts, and against a finite difference of the empirical value."""

import numpy as np
import pytest
from learners.data import episodes
from oracles import making

from decpomdp.core import Episodes, Team
from decpomdp.evaluation import exact_value
from decpomdp.filtering.filter import cumulated, filtered, tables_of
from decpomdp.filtering.layout import lay_out
from decpomdp.learners.credit import mean_credit, normalised, optimistic_credit, weighted_quantile
from decpomdp.learners.posterior import Counts, updated
from decpomdp.learners.priors import ExpectationMaximisation
from decpomdp.learners.sweep import Evaluated, Task, count
from decpomdp.learners.weighing import Steps, Weighed
from decpomdp.rollouts import simulate


def counted(data: Episodes, team: Team, nu: np.ndarray) -> list[Counts]:
    layout = lay_out(data, max(team.nodes))
    tables = tuple(tables_of(team, n) for n in range(len(team.agents)))
    logs, kept = filtered(layout, tables, keep=True)
    steps = Steps(nu, cumulated(logs, data), data.offsets)
    prior = ExpectationMaximisation()
    posterior = tuple(
        updated(agent, prior.priors(agent), Counts(np.zeros((c.observations, c.nodes)), c.action, c.transition))
        for agent, c in zip(team.agents, team.controllers, strict=True)
    )
    task = Task(layout, steps, float(data.count), 1.0, 1)
    return count(task, Evaluated(posterior, tables, Weighed(nu, 0.0, 0.0), 0.0, kept))


@pytest.mark.parametrize("ended", [False, True])
def test_visit_weights_sum_to_the_discount_of_every_step(ended):
    data = episodes(np.random.default_rng(1), ended=ended)
    visit = mean_credit(data, np.ones(data.steps)).visit
    for k in range(data.count):
        rows = visit[data.offsets[k] : data.offsets[k + 1]]
        np.testing.assert_allclose(np.cumsum(rows[::-1])[::-1], 0.9 ** np.arange(len(rows)))


def test_gains_are_the_papers_counts_without_the_shift():
    """Linear: counts with rewards above any floor = counts of gains + counts of the usual rewards above it."""
    rng = np.random.default_rng(2)
    problem = making.model(rng)
    team = making.team(rng, problem, nodes=2)
    data = simulate(problem, team, 50, 6, seed=3)
    credit, times = mean_credit(data, np.ones(data.steps)), data.times()
    usual = np.bincount(times, data.rewards) / data.count
    discounts, floor = 0.9 ** times.astype(float), float(data.rewards.min())
    paper = counted(data, team, discounts * (data.rewards - floor))
    gains, rest = counted(data, team, credit.gain), counted(data, team, discounts * (usual[times] - floor))
    for whole, one, other in zip(paper, gains, rest, strict=True):
        np.testing.assert_allclose(whole.visits, one.visits + other.visits, atol=1e-9)
        np.testing.assert_allclose(whole.moves, one.moves + other.moves, atol=1e-9)


def test_gains_are_the_gradient_of_the_value():
    """Mean gains[i, a] = action[i, a] dV / d action[i, a] up to a multiple of the visits: compared within a row."""
    rng = np.random.default_rng(4)
    problem = making.model(rng)
    team = making.team(rng, problem, nodes=2)
    data = simulate(problem, team, 40_000, 5, seed=5)
    credit = mean_credit(data, np.ones(data.steps))
    found = counted(data, team, credit.gain)[0].visits / data.count
    visits = counted(data, team, credit.visit)[0].visits / data.count
    worth, small = (found / visits), 1e-5
    first = team.controllers[0]
    for node in range(2):
        shifted = first.action.copy()
        shifted[node] += [small, -small]
        other = Team.of(problem, [type(first)(first.initial, shifted, first.transition), team.controllers[1]])
        slope = (exact_value(problem, other, 5).value - exact_value(problem, team, 5).value) / small
        total = visits[node].sum()
        assert total * (worth[node, 0] - worth[node, 1]) == pytest.approx(slope, abs=0.05)


def test_who_ends_early_misses_the_usual_rewards():
    data = episodes(np.random.default_rng(6), agents=1, count=2, longest=1)
    data = Episodes(
        data.agents, [0, 1, 4], [[-1], [-1], [0], [0]], [[0]] * 4, [[0.5]] * 4, [0.0, 0.0, 1.0, 1.0], 0.5, [True, False]
    )
    gain = mean_credit(data, np.ones(4)).gain
    assert gain[0] == pytest.approx(-(0.5 * 0.5 + 0.25 * 0.5))  # the others earn 1 each with probability one half
    assert gain.sum() == pytest.approx(0.0)


def test_optimism_credits_only_the_best_at_their_last_step():
    data = episodes(np.random.default_rng(7), count=10)
    credit = optimistic_credit(data, np.ones(data.steps), 0.8)
    last = data.offsets[1:] - 1
    others = np.setdiff1d(np.arange(data.steps), last)
    assert not credit.gain[others].any()
    assert (credit.gain[last] > 0).sum() <= 2
    assert credit.gain.sum() == pytest.approx(0.0)
    visits = mean_credit(data, np.ones(data.steps)).visit  # as many visits in all
    lengths = np.repeat(credit.visit[last], data.lengths).sum()
    together = sum(visits[r : data.offsets[k + 1]].sum() for k in range(10) for r in range(*data.offsets[k : k + 2]))
    assert lengths == pytest.approx(together)


def test_ratios_are_normalised_step_by_step():
    times = np.array([0, 1, 0, 1, 0])
    weight = normalised(np.array([1.0, 4.0, 2.0, 0.0, 3.0]), times)
    np.testing.assert_allclose(weight, [0.5, 2.0, 1.0, 0.0, 1.5])


def test_weighted_quantile():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    assert [weighted_quantile(values, weights, q) for q in (0.0, 0.25, 0.3, 0.75, 0.8, 1.0)] == [1, 1, 2, 2, 3, 3]
