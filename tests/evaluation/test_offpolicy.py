"""Off-policy evaluation: against enumeration, against exact values over many data sets, and what it warns of."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracles import importance, making

import decpomdp as dp
from decpomdp.core import Agent, Controller, Episodes, InputError, Team
from decpomdp.evaluation import exact_value, offpolicy_value
from decpomdp.evaluation.offpolicy_bootstrap import bootstrap, corrected, spread, studentised
from decpomdp.evaluation.offpolicy_estimates import Weighted, weighted
from decpomdp.evaluation.offpolicy_intervals import log_wealth, mean_at_least
from decpomdp.evaluation.offpolicy_missing import joined, missing_share
from decpomdp.evaluation.offpolicy_ratios import log_ratios
from decpomdp.evaluation.offpolicy_support import unsupported


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


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("horizon", [1, 3, 4])
def test_estimates_equal_the_book(first, horizon):
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


@pytest.mark.parametrize("sparse", [False, True])
def test_expectations_over_all_trajectories_are_the_exact_value(sparse):
    rng = np.random.default_rng(3)
    model = making.model(rng, 2, (2, 2), (2, 1), 0.9)
    behaviour, team = making.team(rng, model, 2), making.team(rng, model, 2, sparse=sparse)
    value = exact_value(model, team, 3).value
    assert importance.expected(model, behaviour, team, 3) == pytest.approx([value, value, 1.0], rel=1e-9)


def test_ratios_are_one_for_the_behaviour_itself_and_the_same_for_any_threads():
    model = dp.load("dectiger")
    team = making.team(np.random.default_rng(0), model, 3)
    logged = dp.simulate(model, team, 1500, 6, seed=1)
    assert log_ratios(logged, team) == pytest.approx(0, abs=1e-5)  # recorded with 24 bits
    other = making.team(np.random.default_rng(1), model, 4)
    assert np.array_equal(log_ratios(logged, other, threads=1), log_ratios(logged, other, threads=3))
    one, again = (offpolicy_value(logged, other, seed=5, resamples=200, threads=n) for n in (1, 2))
    assert one == again
    assert one != offpolicy_value(logged, other, seed=6, resamples=200)


def mild():
    """A tiny model, a behaviour and a team that are not far apart."""
    rng = np.random.default_rng(11)
    model = making.model(rng, 2, (2, 2), (2, 2), 0.9)
    team = making.team(rng, model, 2)
    return model, team.exploring(0.5), team


@pytest.fixture(scope="module")
def many():
    """200 data sets of 150 episodes: what is said about each, the exact value, and the range of the model's rewards."""
    model, behaviour, team = mild()
    span = (float(model.reward.min()), float(model.reward.max()))
    logged = dp.simulate(model, behaviour, 200 * 150, 3, seed=4)
    sets = [part_of(logged, 150 * i, 150 * (i + 1)) for i in range(200)]
    told = [offpolicy_value(part, team, reward_range=span, confidence=0.9, resamples=200) for part in sets]
    return told, exact_value(model, team, 3).value


def part_of(episodes, first, last):
    """Episodes first to last."""
    rows = slice(episodes.offsets[first], episodes.offsets[last])
    return Episodes(
        episodes.agents,
        episodes.offsets[first : last + 1] - episodes.offsets[first],
        episodes.observations[rows],
        episodes.actions[rows],
        episodes.behaviour[rows],
        episodes.rewards[rows],
        episodes.discount,
    )


def test_estimates_are_unbiased_over_many_data_sets(many):
    told, value = many
    for name in ("ordinary", "per_decision"):
        values = np.array([getattr(one, name).value for one in told])
        assert abs(values.mean() - value) < 4 * values.std() / np.sqrt(len(values))
    normal = np.array([one.self_normalised.value for one in told])
    decision = np.array([one.per_decision.value for one in told])
    ordinary = np.array([one.ordinary.value for one in told])
    assert abs(normal.mean() - value) < 0.1 * normal.std()
    assert decision.std() < ordinary.std()


def test_the_guaranteed_interval_covers_at_least_as_often_as_it_says(many):
    told, value = many
    covered = [one.guaranteed[0] <= value <= one.guaranteed[1] for one in told]
    assert np.mean(covered) >= 0.9
    widths = [one.guaranteed[1] - one.guaranteed[0] for one in told]
    trivial = (told[0].reward_range[1] - told[0].reward_range[0]) * (1 + 0.9 + 0.81)
    assert np.median(widths) < 0.5 * trivial  # and it says something


def covers(told, value, confidence=0.9):
    """Every estimate's interval holds the value as often as it says, but for three standard errors of the count."""
    for name in ("ordinary", "per_decision", "self_normalised"):
        held = [getattr(one, name).low <= value <= getattr(one, name).high for one in told]
        assert np.mean(held) >= confidence - 3 * np.sqrt(confidence * (1 - confidence) / len(told)), name


def test_the_bootstrap_covers_as_often_as_it_says(many):
    told, value = many
    covers(told, value)
    widths = [[one.ordinary.high - one.ordinary.low, one.guaranteed[1] - one.guaranteed[0]] for one in told]
    assert np.median(widths, axis=0)[0] < 0.5 * np.median(widths, axis=0)[1]  # and it says more than the guarantee


def half_of(one):
    return replace(one, low=(one.low + one.value) / 2, high=(one.high + one.value) / 2)


def test_too_narrow_intervals_are_noticed(many):
    told, value = many
    half = [replace(one, ordinary=half_of(one.ordinary)) for one in told]
    with pytest.raises(AssertionError, match="ordinary"):
        covers(half, value)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("number", range(17))
def test_the_bootstrap_covers_where_ratios_are_skewed(number, confidence, monkeypatch):
    """150 data sets of every case of the table, warned or not; its seeds and those of the choice are others."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
    import offpolicy_coverage as table

    held, widths, _, _ = table.measure(table.cases()[number], 150, confidence, seed=3_000_000)
    allowed = 3 * np.sqrt(confidence * (1 - confidence) / len(held))  # standard errors of the count
    assert held.mean(axis=0).min() >= confidence - allowed
    assert np.median(widths[:, 2]) < np.median(widths[:, 3])  # and the self-normalised one says more than the guarantee


@pytest.mark.slow
@pytest.mark.parametrize("number", range(17, 50))
def test_attacks_are_warned_of_or_covered(number, monkeypatch):
    """Both where a warning is given and where none is: nobody may rely on what holds too seldom."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmarks")
    import offpolicy_coverage as table

    assert len(table.cases()) == 50
    held, _, warned, _ = table.measure(table.cases()[number], 100, 0.9, seed=4_000_000)
    for part in (held[warned], held[~warned]):
        assert len(part) == 0 or part.mean(axis=0).min() >= 0.9 - 3 * np.sqrt(0.09 / len(part))


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
    assert "what the data never show in the same situation, where the behaviour never does it" in situation
    low, high = told.reward_range
    only = f"intervals allow for it only within {low:g} to {high:g}, the rewards of the file; give --reward-range"
    assert only in ratios
    assert only in situation
    given = offpolicy_value(logged, Team.uniform(logged), reward_range=(0, 1))
    assert [said.endswith("may have earned anything; intervals allow for it") for said in given.warnings] == [True] * 2


def one_step(actions, behaviour):
    """Episodes of one step of one agent with two actions and one sight."""
    agents, count = (Agent("a", ["l", "r"], ["x"]),), len(actions)
    zeros, rewards = np.zeros((count, 1), int), np.linspace(0, 1, count)
    return Episodes(
        agents, np.arange(count + 1), zeros, np.array(actions)[:, None], np.array(behaviour)[:, None], rewards, 0.9
    )


@pytest.mark.parametrize(
    ("recorded", "chance", "words"),
    [
        (1.0, 1.0, "always does what the data never show in the same situation, where the behaviour never does it"),
        (0.9999, 1.0, "always does what the data never show in the same situation, where the behaviour does it with"),
        (1.0, 0.999, "does, perhaps always, what the data never show"),
        (1.0, 0.5, "does with probability 0.5 or less what the data never show"),
    ],
)
def test_how_often_is_said_as_it_is(recorded, chance, words):
    logged = one_step([0] * 100, [recorded] * 100)
    team = Team(logged.agents, (Controller(np.ones(1), np.array([[1 - chance, chance]]), np.ones((1, 2, 1, 1))),), 0.9)
    told = offpolicy_value(logged, team)
    assert any(words in said for said in told.warnings), told.warnings
    possible = chance < 1
    assert told.warnings[0].startswith("a may take r" if possible else "no episode of the data is possible")
    assert told.warnings[0 if possible else 1].endswith(
        "which the data never show: the estimates leave it out; intervals allow for it only within 0 to 1, "
        "the rewards of the file; give --reward-range (reward_range=)"
    )


def test_a_team_far_from_the_data_is_called_so():
    model = dp.load("dectiger")
    logged = dp.simulate(model, Team.uniform(model), 500, 2, seed=1)
    listen = Controller.deterministic([0], [[0, 0]], 3)
    told = offpolicy_value(logged, Team.of(model, [listen, listen]))
    assert told.sample_size < 10
    assert any("effective sample size falls to" in said for said in told.warnings)
    assert told.guaranteed[0] <= -2 * 1.9 <= told.guaranteed[1]
    far = offpolicy_value(logged, Team.of(model, [Controller.deterministic([1], [[0, 0]], 3)] * 2))
    assert any("falls to" in said or "no episode" in said for said in far.warnings)


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


def test_own_data_need_no_warning_and_agree_with_the_mean():
    model, behaviour, _ = mild()
    logged = dp.simulate(model, behaviour, 400, 3, seed=2)
    told = offpolicy_value(logged, behaviour)
    assert told.warnings == ()
    assert told.sample_sizes == pytest.approx([400] * 3, rel=1e-6)
    for name in ("ordinary", "per_decision", "self_normalised"):
        assert getattr(told, name).value == pytest.approx(logged.returns().mean(), rel=1e-5)


def test_very_long_episodes_stay_finite():
    model = dp.load("dectiger")
    listen = Controller.deterministic([0], [[0, 0]], 3).exploring(1e-9)
    logged = dp.simulate(model, Team.of(model, [listen, listen]).exploring(0.999), 20, 2000, seed=1)
    told = offpolicy_value(logged, Team.of(model, [listen, listen]), resamples=100)
    assert np.isfinite([told.ordinary.high, told.per_decision.high, told.self_normalised.high]).all()
    reverse = offpolicy_value(
        dp.simulate(model, Team.of(model, [listen, listen]), 20, 2000, seed=1), Team.uniform(model)
    )
    assert np.isfinite(reverse.ordinary.value)
    assert told.warnings


@pytest.mark.parametrize(("size", "refused"), [(1e150, False), (1e308, True)])
def test_huge_rewards_are_added_up_or_refused(size, refused):
    model, behaviour, team = mild()
    logged = dp.simulate(model, behaviour, 50, 3, seed=1)
    huge = replace(logged, rewards=np.sign(logged.rewards) * size)
    if refused:
        with pytest.raises(InputError, match="too large to be added up"):
            offpolicy_value(huge, team)
    else:
        assert np.isfinite(offpolicy_value(huge, team).guaranteed).all()


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


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"horizon": 4}, "horizon: expected a whole number from 1 to 3"),
        ({"confidence": 1.0}, "confidence: expected a number between 0 and 1"),
        ({"reward_range": (0.0, 0.1)}, "reward range: expected the data's rewards"),
        ({"reward_range": (1.0, -1.0)}, "reward range: expected the smaller one first"),
        ({"reward_range": (0.0, float("inf"))}, "reward range.* is inf, expected a finite number"),
        ({"reward_range": (0.0,)}, "reward range.*: expected shape"),
        ({"discount": 2}, "discount: expected a number from 0 to 1"),
        ({"resamples": 3}, "resamples: expected a whole number"),
    ],
)
def test_mistakes_are_named(changed, word):
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


def test_draws_without_an_error_leave_an_end_open():
    new, errors = np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    assert studentised(new, errors, 2.0, 1.0, 0.9) == (0.0, np.inf)
    assert studentised(new, errors * 0, 2.0, 0.0, 0.9) == (2.0, 2.0)


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
    shares = weighted(logged, log_ratios(logged, team), 3, 0.9)
    ends, values = bootstrap(shares, 1000, 0.9, 0)
    means = shares.gains.sum(axis=0) / shares.scaled.sum(axis=0)
    parts = ((shares.gains - means * shares.scaled) / shares.scaled.sum(axis=0)).sum(axis=1)
    half = 1.96 * np.sqrt((parts**2).sum())  # half of the risk of 0.1, both sides
    assert ends[2] == pytest.approx([values[2] - half, values[2] + half], abs=0.1 * half)


def test_ends_are_within_what_rewards_allow():
    model = dp.load("dectiger")
    team = Team.of(model, [Controller.deterministic([0], [[0, 0]], 3)] * 2).exploring(0.1)
    told = offpolicy_value(dp.simulate(model, Team.uniform(model), 30, 3, seed=1), team, reward_range=(-101.0, 20.0))
    for one in (told.ordinary, told.per_decision, told.self_normalised):
        assert -101 * 2.71 - 1e-9 <= one.low <= one.value <= one.high <= 20 * 2.71 + 1e-9


def test_equal_rewards_are_no_range():
    model, behaviour, team = mild()
    logged = dp.simulate(model, behaviour, 200, 3, seed=2)
    dull = replace(logged, rewards=np.zeros(logged.steps))
    (said,) = offpolicy_value(dull, team).warnings
    assert said.startswith("every reward of the data is 0, and the guarantee takes it that no other is possible")
    assert offpolicy_value(dull, team, reward_range=(0.0, 1.0)).warnings == ()
    assert offpolicy_value(logged, team).warnings == ()


@pytest.mark.parametrize(
    ("behaviour", "team", "rewards", "count"),
    [
        ([0.9245, 0.075, 0.0005], [0.1, 0.6, 0.3], [0.0, 1.0, 10.0], 200),
        ([0.8, 0.195, 0.005], [0.2, 0.6, 0.2], [0.0, 1.0, 10.0], 100),
        ([0.7, 0.29, 0.01], [0.4, 0.45, 0.15], [0.0, 1.0, 5.0], 60),
        ([0.8, 0.1995, 0.0005], [0.3, 0.6, 0.1], [0.0, 1.0, 10.0], 200),
    ],
)
def test_intervals_hold_where_the_behaviour_hardly_ever_does_what_the_team_does(behaviour, team, rewards, count):
    """Most data sets lack the action that earns most; standard errors lack its large ratios, too."""
    agent = dp.Agent("x", ("a", "b", "c"), ("o",))
    one = dp.Team((agent,), (dp.Controller([1.0], [team], np.ones((1, 3, 1, 1))),), 0.9)
    exact, held = float(np.dot(team, rewards)), []
    for seed in range(60):
        did = np.random.default_rng(900 + seed).choice(3, count, p=behaviour)
        logged = Episodes(
            (agent,),
            np.arange(count + 1),
            np.full((count, 1), -1),
            did[:, None],
            np.array(behaviour)[did][:, None],
            np.array(rewards)[did],
            0.9,
        )
        found = offpolicy_value(logged, one, reward_range=(0.0, max(rewards)), confidence=0.9, resamples=200, seed=seed)
        estimates = (found.ordinary, found.per_decision, found.self_normalised)
        held.append([each.low <= exact <= each.high for each in estimates])
    assert (np.mean(held, axis=0) >= 0.9 - 2 * np.sqrt(0.09 / 60)).all()


def seen_then_done(behaviour, count, seed, earned=((0.0, 1.0, 1.0), (0.0, 1.0, 100.0))):
    """One agent that sees `x` or `y` and then does one thing; behaviour[o, a], earned[o, a]."""
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, 2, count)
    did = np.array([rng.choice(3, p=behaviour[o]) for o in seen])
    recorded, rewards = np.array(behaviour)[seen, did], np.array(earned)[seen, did]
    agent = dp.Agent("x", ("a", "b", "c"), ("x", "y"))
    return Episodes((agent,), np.arange(count + 1), seen[:, None], did[:, None], recorded[:, None], rewards, 0.9)


def doing(logged, acts):
    """The team that does acts[o] after seeing o."""
    controller = Controller([0.5, 0.5], acts, np.full((2, 3, 2, 2), 0.5), np.eye(2))
    return Team(logged.agents, (controller,), 0.9)


@pytest.mark.parametrize(("little", "often", "count"), [(0.0005, 0.08, 200), (0.002, 0.03, 500), (0.0, 0.03, 500)])
def test_intervals_hold_what_is_rare_in_one_situation_and_dear(little, often, count):
    """Elsewhere the action is common, and what is missing of the ratios is less than their noise."""
    acts, earned = np.array([[0.3, 0.4, 0.3], [0.2, 0.8 - often, often]]), np.array([[0, 1, 1], [0, 1, 100]])
    exact, held = float((acts * earned).sum() / 2), []
    for seed in range(25):
        logged = seen_then_done([[0.4, 0.3, 0.3], [0.6, 0.4 - little, little]], count, 7000 + seed)
        team = doing(logged, acts)
        found = offpolicy_value(logged, team, reward_range=(0.0, 100.0), confidence=0.9, resamples=100, seed=seed)
        held.append([each.low <= exact <= each.high for each in (found.ordinary, found.self_normalised)])
        rare = (logged.observations[:, 0] == 1) & (logged.actions[:, 0] == 2)
        assert rare.any() or any("never show in the same situation" in said for said in found.warnings)
    assert np.mean(held, axis=0).min() >= 0.9 - 3 * np.sqrt(0.09 / 25)


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


def test_several_probabilities_of_one_action_are_no_alarm():
    """A behaviour that knows more than its agent does the same thing with this or that probability."""
    rng = np.random.default_rng(3)
    agent, part = dp.Agent("x", ("a", "b", "c"), ("o",)), rng.integers(0, 2, 400)
    chance = np.full((400, 3), 0.1)
    chance[np.arange(400), part] = 0.8
    did = np.array([rng.choice(3, p=row) for row in chance])
    did[did == 2] = part[did == 2]  # and never c
    recorded = chance[np.arange(400), did][:, None]
    logged = Episodes((agent,), np.arange(401), np.full((400, 1), -1), did[:, None], recorded, np.ones(400), 0.9)
    chances = np.full((400, 1), 1 / 3)
    assert unsupported(logged, chances, chances / recorded).share == 0
