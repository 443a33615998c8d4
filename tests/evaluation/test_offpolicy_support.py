"""What the logged data lack of the team's doings: it is counted, taken into the intervals and warned of."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.core import Agent, Controller, Episodes, Team
from decpomdp.evaluation import exact_value, offpolicy_value
from decpomdp.evaluation.offpolicy.estimates import Weighted
from decpomdp.evaluation.offpolicy.support import joined, missing_share, unsupported
from evaluation.logged import part_of, seen_then_done


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


def test_intervals_hold_the_value_when_much_is_missing():
    """Half of what the team does is never done by the behaviour: intervals take it in, whatever it earned."""
    agents = (Agent("a", ["l", "r"], ["o"]),)
    rewards = np.random.default_rng(1).normal(1.0, 0.1, 300).clip(0, 2)
    zeros = np.zeros((300, 1), int)
    logged = Episodes(agents, np.arange(301), zeros, zeros, np.ones((300, 1)), rewards, 1.0)
    told = offpolicy_value(logged, Team.uniform(logged), reward_range=(-4.0, 2.0))
    for one in (told.ordinary, told.per_decision, told.self_normalised):
        assert one.low == pytest.approx(0.5 * 1 + 0.5 * -4, abs=0.05)
        assert one.high == pytest.approx(0.5 * 1 + 0.5 * 2, abs=0.05)
    assert "may have earned anything" in told.warnings[1]


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
    assert told.warnings[0] == "no episode of the data is possible under the team: the estimates mean nothing"
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
    few = part_of(common, 0, 3)  # where nearly nothing was tried, other actions are no rarer than those that were
    assert unsupported(few, chances[:3], chances[:3] / few.behaviour).share == 0
