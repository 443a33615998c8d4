"""The parts of off-policy intervals: the bound by betting, the bootstrap's corrections and the ends."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core import Controller, Team
from decpomdp.evaluation import offpolicy_value
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
from evaluation.logged import mild


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
