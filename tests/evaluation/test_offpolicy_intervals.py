"""The parts of off-policy intervals: betting, bootstrap, ends, and what the data lack: counted, taken in, warned of."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.core import Agent, Controller, Episodes, Team
from decpomdp.evaluation import exact_value, offpolicy_value
from decpomdp.evaluation.offpolicy.estimates import (
    Weighted,
    bootstrap,
    corrected,
    guaranteed,
    log_chances,
    log_ratios,
    log_wealth,
    mean_at_least,
    spread,
    studentised,
    weighted,
)
from decpomdp.evaluation.offpolicy.support import joined, missing_share, unsupported
from evaluation.logged import mild, seen_then_done


def test_wealth_falls_in_m_and_the_bound_is_where_it_meets_the_risk():
    values = np.random.default_rng(0).lognormal(size=300)
    wealth = [log_wealth(values, m) for m in np.linspace(0.1, 3, 40)]
    assert np.all(np.diff(wealth) < 0)
    bound = mean_at_least(values, 0.05)
    assert log_wealth(values, bound) == pytest.approx(np.log(20), abs=1e-6)
    assert 0 < bound < values.mean()
    assert mean_at_least(np.full(1000, 2.0), 0.05) == pytest.approx(2.0, rel=0.02)
    assert mean_at_least(np.zeros(10), 0.05) == 0


@pytest.mark.parametrize("tail", [0.001, 0.1])
def test_the_bound_holds_for_rare_large_values(tail):
    """Values that are 0 but for a rare large one: the case that breaks bootstrap intervals."""
    rng = np.random.default_rng(1)
    sets = (rng.random((400, 100)) < tail) / tail  # mean 1
    assert np.mean([mean_at_least(values, 0.1) > 1 for values in sets]) <= 0.1


def skewed():
    """Values with a long tail, the means of new draws with their errors, and the parts of the values in the mean."""
    rng = np.random.default_rng(0)
    values = rng.exponential(size=40)
    drawn = rng.choice(values, (4000, 40))
    return values, drawn.mean(axis=1), drawn.std(axis=1) / np.sqrt(40), (values - values.mean()) / 39


def test_intervals_of_a_skewed_mean_lean_to_the_long_tail():
    values, new, errors, gap = skewed()
    mean, error = float(values.mean()), float(values.std() / np.sqrt(39))
    plain = np.quantile(new, [0.05, 0.95])
    low, high = corrected(new, mean, gap, 0.9)
    assert low > plain[0]
    assert high > plain[1]
    low, high = studentised(new, errors, mean, error, 0.9)
    assert high - mean > 1.2 * (mean - low)


def test_few_values_that_carry_the_spread_widen_it():
    """Equal parts leave all degrees of freedom, a single one leaves two: kurtosis 1 and the number of values."""
    from scipy.stats import t

    even, one = np.resize([1.0, -1.0], 1000), np.eye(1, 1000)[0]
    assert spread(5.0, 2.0, even, 0.9) == pytest.approx(5 + 2 * np.array(t.interval(0.9, 999)), rel=1e-9)
    assert spread(5.0, 2.0, one, 0.9) == pytest.approx(5 + 2 * np.array(t.interval(0.9, 2000 / 999)), rel=1e-9)


def test_standard_errors_of_new_draws_are_those_of_the_delta_method():
    """The interval of the self-normalised estimate is that of its linear part, where there are many episodes."""
    model, behaviour, team = mild()
    logged = dp.simulate(model, behaviour, 4000, 3, seed=3)
    shares = weighted(logged, log_ratios(logged, log_chances(logged, team)), 3, 0.9)
    ends, values = bootstrap(shares, 1000, 0.9, 0)
    means = shares.gains.sum(axis=0) / shares.scaled.sum(axis=0)
    parts = ((shares.gains - means * shares.scaled) / shares.scaled.sum(axis=0)).sum(axis=1)
    half = 1.96 * np.sqrt((parts**2).sum())  # half of the risk of 0.1, both sides
    assert ends[2] == pytest.approx([values[2] - half, values[2] + half], abs=0.1 * half)


def test_the_jackknife_leaves_one_episode_out():
    model, behaviour, team = mild()
    logged = dp.simulate(model, behaviour, 20, 3, seed=3)
    shares = weighted(logged, log_ratios(logged, log_chances(logged, team)), 3, 0.9)
    assert shares.without_one() == pytest.approx(shares.estimates(1 - np.eye(20)), rel=1e-9)


def test_ends_are_within_what_rewards_allow():
    model = dp.load("dectiger")
    team = Team.of(model, [Controller.deterministic([0], [[0, 0]], 3)] * 2).exploring(0.1)
    told = offpolicy_value(dp.simulate(model, Team.uniform(model), 30, 3, seed=1), team, reward_range=(-101.0, 20.0))
    for one in (told.ordinary, told.per_decision, told.self_normalised):
        assert -101 * 2.71 - 1e-9 <= one.low <= one.value <= one.high <= 20 * 2.71 + 1e-9


def test_each_side_of_the_guarantee_has_half_of_the_risk():
    rewards = np.random.default_rng(5).uniform(size=(40, 2))
    every = Weighted(rewards, np.ones((40, 2)), np.zeros(2), rewards, np.tile(rewards.sum(axis=1)[:, None], 2))
    found = guaranteed(every, np.zeros(2), np.ones(2), 0.1)
    over, under = rewards.sum(axis=1), (1 - rewards).sum(axis=1)
    assert found == pytest.approx((mean_at_least(over, 0.05), 2 - mean_at_least(under, 0.05)), rel=1e-12)
    assert mean_at_least(over, 0.05) < mean_at_least(over, 0.1) < over.mean()


def test_what_is_missing_is_seen_and_taken_in():
    """A tenth of the team's doings is missing for sure at the second step; at the first it may be chance.

    Taken in is what may be missing at most: 1.64 standard errors more.
    """
    rng = np.random.default_rng(0)
    ratios = np.stack([rng.exponential(size=400), 0.9 + 0.1 * rng.choice([-1, 1], 400)], axis=1)
    ratios[:, 0] *= 0.97 / ratios[:, 0].mean()
    share = missing_share(ratios, False)
    assert share[0] == 0
    errors = ratios.std(axis=0) / 20
    assert share[1] == pytest.approx(1 - ratios[:, 1].mean() + 1.64 * errors[1])
    assert missing_share(np.full((9, 1), 0.995), False) == 0  # next to nothing is not worth a word
    assert missing_share(ratios, True)[0] == pytest.approx(0.03 + 1.64 * errors[0])
    rare = np.where(np.arange(100)[:, None] < 60, 0.5, 1.55)  # 0.92 on average, 1.5 errors below 1
    assert missing_share(rare, False)[0] > 0.08  # too much to be left to chance
    rewards = np.full((400, 2), 3.0)
    seen = Weighted(rewards, ratios, np.zeros(2), ratios * rewards, np.zeros((400, 2)))
    ends = np.array([[0.0, 1.0], [8.0, 9.0], [2.0, 4.0]])
    low, high = np.array([-10.0, -10.0]), np.array([5.0, 5.0])
    wide = joined(ends, seen, np.array([0.0, 0.1]), low, high)
    assert wide[2] == pytest.approx([2 - 0.1 * 13, 4 + 0.1 * 2])
    assert wide[0] == pytest.approx([0, 4.2])
    assert wide[1] == pytest.approx([0.7, 9])


def test_the_guarantee_survives_missing_support():
    """The behaviour never takes what the team always does after a sight: the interval stays right, with a warning."""
    rng = np.random.default_rng(2)
    model = making.model(rng, 2, (2, 2), (2, 2), 0.9)
    never = np.array([[1.0, 0.0]])
    one_action = Controller(np.ones(1), never, np.ones((1, 2, 2, 1)))
    uniform = Controller.uniform(2, 2)
    logged = dp.simulate(model, Team.of(model, [one_action, uniform]), 2000, 3, seed=1)
    span = (float(model.reward.min()), float(model.reward.max()))
    team = Team.uniform(model)
    told = offpolicy_value(logged, team, reward_range=span)
    value = exact_value(model, team, 3).value
    assert told.guaranteed[0] <= value <= told.guaranteed[1]
    assert told.mean_ratios == pytest.approx([0.5, 0.25, 0.125], abs=0.01)
    assert any("agent1 may take a1, which the data never show" in said for said in told.warnings)
    assert any("from step 0 the ratios average 0.5 where 1 is expected" in said for said in told.warnings)


def test_missing_support_after_some_sights_only_is_noticed():
    agents = (Agent("a", ["l", "r"], ["x", "y"]),)
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 2, (500, 1))
    actions = np.where(seen == 0, 0, rng.integers(0, 2, (500, 1)))  # r is never taken after x
    behaviour = np.where(seen == 0, 1.0, 0.5)
    logged = Episodes(agents, np.arange(501), seen, actions, behaviour, rng.random(500), 0.9)
    told = offpolicy_value(logged, Team.uniform(logged))
    ratios, situation = told.warnings
    assert ratios.startswith(f"from step 0 the ratios average {told.mean_ratios[0]:.3g} where 1 is expected")
    assert "actions that the data never show in the same situation" in situation
    assert ", the behaviour never)" in situation
    low, high = told.reward_range
    only = f"intervals allow for it only within {low:g} to {high:g}, the rewards of the file; give --reward-range"
    assert only in ratios
    assert only in situation
    given = offpolicy_value(logged, Team.uniform(logged), reward_range=(0, 1))
    assert [said.endswith("may have earned anything; intervals allow for it") for said in given.warnings] == [True] * 2


def test_impossible_episodes_leave_the_trivial_interval():
    model = dp.load("dectiger")
    listen, left = (Controller.deterministic([a], [[0, 0]], 3) for a in (0, 1))
    logged = dp.simulate(model, Team.of(model, [listen, listen]), 50, 2, seed=1)
    told = offpolicy_value(logged, Team.of(model, [left, left]), reward_range=(-101, 20))
    assert told.guaranteed == pytest.approx((-101 * 1.9, 20 * 1.9))
    assert told.sample_size == 0
    assert told.warnings[0] == "no episode of the data is possible under the team: the estimates are meaningless"
    assert not any("falls to" in said for said in told.warnings)
    for one in (told.ordinary, told.per_decision, told.self_normalised):
        assert (one.low, one.high) == pytest.approx(told.guaranteed)


def test_what_the_data_cannot_show_is_counted():
    """The mass of the actions that never occur after a sight, and what chance adds to it; by hand."""
    logged = seen_then_done([[0.4, 0.3, 0.3], [0.6, 0.4, 0.0]], 500, 1)
    acts = np.array([[0.3, 0.4, 0.3], [0.2, 0.5, 0.3]])
    chances = acts[logged.observations[:, 0], logged.actions[:, 0]][:, None]
    ratios = chances / logged.behaviour
    mass = np.where(logged.observations[:, 0] == 1, 0.3, 0.0)
    by_hand = mass.mean() + 1.64 * mass.std() / np.sqrt(500)
    assert unsupported(logged, chances, ratios).share == pytest.approx([by_hand], rel=1e-6)
    common = seen_then_done([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3]], 500, 1)
    chances = acts[common.observations[:, 0], common.actions[:, 0]][:, None]
    assert unsupported(common, chances, chances / common.behaviour).share == 0
    few = common.chosen(np.arange(3))  # where nearly nothing was tried, other actions are no rarer
    assert unsupported(few, chances[:3], chances[:3] / few.behaviour).share == 0
