"""Off-policy intervals over many data sets: they hold the exact value as often as they say."""

import numpy as np
import offpolicy_coverage as table
import pytest

import decpomdp as dp
from decpomdp.evaluation import exact_value, offpolicy_value
from evaluation.logged import doing, mild, seen_then_done


@pytest.fixture(scope="module")
def many():
    """100 data sets of 150 episodes: what is said about each, the exact value, and the range of the model's rewards."""
    model, behaviour, team = mild()
    span = (float(model.reward.min()), float(model.reward.max()))
    logged = dp.simulate(model, behaviour, 100 * 150, 3, seed=4)
    sets = [logged.chosen(np.arange(150 * i, 150 * (i + 1))) for i in range(100)]
    told = [offpolicy_value(part, team, reward_range=span, confidence=0.9, resamples=200) for part in sets]
    return told, exact_value(model, team, 3).value


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


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("number", range(17))
def test_the_bootstrap_covers_where_ratios_are_skewed(number, confidence):
    """150 data sets of every case of the table, warned or not; its seeds and those of the choice are others."""
    held, widths, _, _ = table.measure(table.cases()[number], 150, confidence, seed=3_000_000)
    allowed = 3 * np.sqrt(confidence * (1 - confidence) / len(held))  # standard errors of the count
    assert held.mean(axis=0).min() >= confidence - allowed
    assert np.median(widths[:, 2]) < np.median(widths[:, 3])  # and the self-normalised one says more than the guarantee


@pytest.mark.slow
@pytest.mark.parametrize("number", range(17, 50))
def test_attacks_are_warned_of_or_covered(number):
    """Both where a warning is given and where none is: nobody may rely on what holds too seldom."""
    assert len(table.cases()) == 50
    held, _, warned, _ = table.measure(table.cases()[number], 100, 0.9, seed=4_000_000)
    for part in (held[warned], held[~warned]):
        assert len(part) == 0 or part.mean(axis=0).min() >= 0.9 - 3 * np.sqrt(0.09 / len(part))


@pytest.mark.parametrize(("little", "often", "count"), [(0.0005, 0.08, 200), (0.0, 0.03, 500)])
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
