"""Off-policy estimates: against enumeration and sixty digits, for long, short and huge data, and what is refused."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from oracles import decimals, importance, making

import decpomdp as dp
from decpomdp.core import Agent, Controller, Episodes, InputError, Team
from decpomdp.evaluation import exact_value, offpolicy_value
from decpomdp.evaluation.offpolicy.estimates import log_chances, log_ratios, weighted
from evaluation.logged import mild


def pieces(episodes):
    """Episodes one by one, as the oracle wants them."""
    for first, last in zip(episodes.offsets, episodes.offsets[1:], strict=False):
        part = slice(first, last)
        yield (
            episodes.actions[part],
            episodes.observations[part],
            episodes.behaviour[part],
            episodes.rewards[part],
        )


def mixed_lengths(rng, first=False):
    """Logged episodes of different lengths, some with a first observation, and a team that plays the same alphabet."""
    model = making.model(rng, 2, (2, 3), (2, 2), 0.8)
    team = making.team(rng, model, (2, 3), first=first)
    lengths = rng.integers(1, 5, 12)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    observations = rng.integers(0, 2, (offsets[-1], 2))
    observations[offsets[:-1]] = rng.integers(-1, 2, (12, 2))
    actions = np.stack([rng.integers(0, 2, offsets[-1]), rng.integers(0, 3, offsets[-1])], axis=1)
    behaviour = rng.uniform(0.1, 0.9, actions.shape).astype(np.float32)
    rewards = rng.normal(size=offsets[-1])
    return Episodes(model.agents, offsets, observations, actions, behaviour, rewards, 0.8), team


def test_estimates_equal_the_book():
    for horizon in [1, 3, 4]:
        for first in [False, True]:
            episodes, team = mixed_lengths(np.random.default_rng(1), first)
            told = offpolicy_value(episodes, team, horizon, resamples=100)
            ordinary, decision, normal, sizes = importance.estimates(team, list(pieces(episodes)), 0.8, horizon)
            assert told.ordinary.value == pytest.approx(ordinary, rel=1e-9)
            assert told.per_decision.value == pytest.approx(decision, rel=1e-9)
            assert told.self_normalised.value == pytest.approx(normal, rel=1e-9)
            assert told.sample_sizes == pytest.approx(sizes, rel=1e-9)
            assert told.sample_size == pytest.approx(min(sizes))


def test_the_book_sees_a_changed_probability():
    episodes, team = mixed_lengths(np.random.default_rng(1))
    changed = replace(episodes, behaviour=np.minimum(episodes.behaviour * np.float32(1.001), 1))
    values = importance.estimates(team, list(pieces(changed)), 0.8, 4)
    assert offpolicy_value(episodes, team, 4, resamples=100).ordinary.value != pytest.approx(values[0], rel=1e-9)


def test_expectations_over_all_trajectories_are_the_exact_value():
    for sparse in [False, True]:
        rng = np.random.default_rng(3)
        model = making.model(rng, 2, (2, 2), (2, 1), 0.9)
        behaviour, team = making.team(rng, model, 2), making.team(rng, model, 2, sparse=sparse)
        value = exact_value(model, team, 3).value
        assert importance.expected(model, behaviour, team, 3) == pytest.approx([value, value, 1.0], rel=1e-9)


def test_ratios_are_one_for_the_behaviour_itself_and_the_same_for_any_threads():
    model = dp.load("dectiger")
    team = making.team(np.random.default_rng(0), model, 3)
    logged = dp.simulate(model, team, 1500, 6, seed=1)
    assert log_ratios(logged, log_chances(logged, team)) == pytest.approx(0, abs=1e-5)  # recorded with 24 bits
    other = making.team(np.random.default_rng(1), model, 4)
    assert np.array_equal(log_chances(logged, other, threads=1), log_chances(logged, other, threads=3))
    one, again = (offpolicy_value(logged, other, seed=5, resamples=200, threads=n) for n in (1, 2))
    assert one == again
    assert one != offpolicy_value(logged, other, seed=6, resamples=200)


def test_own_data_need_no_warning_and_agree_with_the_mean():
    model, behaviour, _ = mild()
    logged = dp.simulate(model, behaviour, 400, 3, seed=2)
    told = offpolicy_value(logged, behaviour)
    assert told.warnings == ()
    assert told.sample_sizes == pytest.approx([400] * 3, rel=1e-6)
    for name in ("ordinary", "per_decision", "self_normalised"):
        assert getattr(told, name).value == pytest.approx(logged.returns().mean(), rel=1e-5)


def test_shorter_episodes_earn_nothing_after_their_end():
    """Ended episodes with rewards of 1: the range must hold the 0 that follows, the value is the mean length."""
    agents = (Agent("a", ["x", "y"], ["o"]),)
    lengths = np.array([1, 2, 3, 2, 1, 3] * 50)
    rows = int(lengths.sum())
    logged = Episodes(
        agents,
        np.concatenate([[0], np.cumsum(lengths)]),
        np.zeros((rows, 1), int),
        np.zeros((rows, 1), int),
        np.full((rows, 1), 0.5),
        np.ones(rows),
        1.0,
        np.ones(len(lengths), bool),
    )
    told = offpolicy_value(logged, Team.uniform(logged))
    assert told.reward_range == (0, 1)
    assert told.self_normalised.value == pytest.approx(2)
    assert told.guaranteed[0] < 2 < told.guaranteed[1]


def test_mistakes_are_named():
    for changed, word in [
        ({"horizon": 4}, "horizon: expected a whole number from 1 to 3"),
        ({"confidence": 1.0}, "confidence: expected a number between 0 and 1"),
        ({"reward_range": (0.0, 0.1)}, "reward range: expected the data's rewards"),
        ({"reward_range": (1.0, -1.0)}, "reward range: expected the smaller one first"),
        ({"reward_range": (-100.0, 1e308)}, "reward range.* is 1e.308, expected at most 1e.40 in size"),
        ({"resamples": 3}, "resamples: expected a whole number"),
    ]:
        model, behaviour, team = mild()
        with pytest.raises(InputError, match=word):
            offpolicy_value(dp.simulate(model, behaviour, 5, 3), team, **changed)


def test_unknown_probabilities_and_single_episodes_are_refused():
    model, behaviour, team = mild()
    logged = dp.simulate(model, behaviour, 5, 3)
    unknown = np.array(logged.behaviour)
    unknown[4, 1] = np.nan
    with pytest.raises(InputError, match="episode 1, step 1, agent agent2: expected the probability"):
        offpolicy_value(replace(logged, behaviour=unknown), team)
    with pytest.raises(InputError, match="expected at least 2"):
        offpolicy_value(dp.simulate(model, behaviour, 1, 3), team)
    with pytest.raises(InputError, match="team does not fit"):
        offpolicy_value(logged, Team.uniform(dp.load("dectiger")))


AGENTS = (Agent("x", ("a", "b"), ("o",)),)


def logged(rewards, steps):
    """Episodes of `steps` steps each."""
    rows, count = len(rewards), len(rewards) // steps
    seen = np.zeros((rows, 1), int)
    seen[::steps] = -1
    did, chances = np.zeros((rows, 1), int), np.full((rows, 1), 0.5)
    return Episodes(AGENTS, np.arange(count + 1) * steps, seen, did, chances, np.asarray(rewards, float), 0.9)


def test_self_normalised_estimates_and_sample_sizes():
    for sizes in [0, 39]:
        for spread in [1.0, 2000.0]:
            for middle in [-2000.0, 2000.0]:
                rng = np.random.default_rng(int(spread))
                rewards = rng.normal(size=18) * 10.0 ** rng.uniform(-sizes, sizes, 18)
                logs = middle + rng.uniform(-spread, spread, 18)
                episodes = logged(rewards, 3)
                with np.errstate(
                    over="ignore", invalid="ignore"
                ):  # the other two estimates may be too large for a number
                    shares = weighted(episodes, logs, 3, episodes.discount)
                    estimates = shares.estimates(np.ones((1, 6)))
                sizes_found, wanted = shares.sample_sizes(), Decimal(0)
                for t in range(3):
                    at = slice(t, None, 3)
                    mean, size = decimals.self_normalised(
                        [Decimal(float(r)) for r in rewards[at]], [Decimal(float(x)) for x in logs[at]]
                    )
                    with decimals.localcontext(decimals.DIGITS):
                        wanted += mean * Decimal(episodes.discount) ** t
                    assert sizes_found[t] == pytest.approx(float(size), rel=1e-11)
                assert estimates[0, 2] == pytest.approx(float(wanted), rel=1e-10)
                assert np.isfinite(shares.ratios).all()


@pytest.mark.parametrize("size", [pytest.param(1e-30, marks=pytest.mark.slow), 1e40])
def test_ten_thousand_steps_of_a_team_far_away(size):
    """Numbers or a refusal, never nonsense: estimates within what the rewards allow, warned of."""
    rng = np.random.default_rng(0)
    episodes = logged(size * rng.random(40_000), 10_000)
    rare = Controller(np.ones(1), np.array([[1e-3, 0.999]]), np.ones((1, 2, 1, 1)))
    told = offpolicy_value(episodes, Team.of(episodes, [rare]), resamples=100)
    assert told.sample_size == pytest.approx(4.0)  # equally unlikely, all of them
    assert told.self_normalised.value == pytest.approx(episodes.returns().mean(), rel=1e-9)
    assert told.ordinary.value == 0
    low, high = told.guaranteed
    assert low <= told.self_normalised.value <= high
    assert told.warnings
