"""Intervals of means and of differences, ranks and signs: by scipy, by hand, and by how often they err."""

import numpy as np
import pytest
from scipy import stats

from decpomdp.experiments.experiment import texts_of
from decpomdp.experiments.rows import above, compare, half_of_difference, mean_of, size_verdict, steadier, verdict


def test_the_rule_of_agreement():
    ours = mean_of([1.0, 2.0, 3.0])
    assert ours.half == pytest.approx(4.302652729911275 / 3**0.5)  # Student's t with two degrees of freedom
    assert [verdict(value, ours) for value in (-0.5, 2.0, 4.4, 4.5)] == ["higher", "agrees", "agrees", "lower"]
    assert mean_of([5.0], test_error=0.5).half == pytest.approx(0.98)
    assert verdict(5.9, mean_of([5.0], test_error=0.5)) == "agrees"
    assert above(mean_of([5.0, 5.1]), mean_of([1.0, 1.1])) == "above"
    assert above(mean_of([1.0, 1.1]), mean_of([5.0, 5.1])) == "below"
    assert above(mean_of([1.0, 9.0]), mean_of([2.0, 7.0])) == "level"
    assert above(mean_of([1.0 + 1e-12, 1.0 + 1e-12]), mean_of([1.0, 1.0])) == "level"
    gaps = ([1.0, 1.1], [-1.0, -1.1], [1.0, -1.1])
    assert [compare(each, [0.0, 0.0], same_data=True).side for each in gaps] == ["above", "below", "level"]
    assert steadier([1.0], [[1.0, 5.0]]) == (0.0, float("inf"))  # one seed has no spread
    assert [size_verdict(size, ours) for size in (0.5, 1, 3, 4)] == ["more", "agrees", "agrees", "fewer"]


def test_the_interval_of_a_difference_is_welchs():
    for sizes in [(3, 3), (3, 6), (5, 2)]:
        rng = np.random.default_rng(sum(sizes))
        one, other = rng.normal(0, 1, sizes[0]), rng.normal(5, 7, sizes[1])
        low, high = stats.ttest_ind(one, other, equal_var=False).confidence_interval()
        half = half_of_difference(mean_of(one), mean_of(other))
        assert half == pytest.approx((high - low) / 2)
        for gap, found in ((1.001 * half, "above"), (0.999 * half, "level"), (-0.999 * half, "level")):
            assert above(mean_of(one - one.mean() + gap), mean_of(other - other.mean())) == found
        assert above(mean_of(one - one.mean() - 1.001 * half), mean_of(other - other.mean())) == "below"


def test_a_side_without_spread_leaves_the_others_interval():
    ours = mean_of([1.0, 2.0, 4.0])
    tested = mean_of([1.0, 2.0, 4.0], test_error=0.7)
    for single in (mean_of([9.0]), mean_of([9.0, 9.0])):
        assert half_of_difference(ours, single) == pytest.approx(ours.half)
        assert half_of_difference(single, tested) == pytest.approx(tested.half)
    assert half_of_difference(ours, mean_of([9.0], test_error=0.7)) == pytest.approx(tested.half)
    assert half_of_difference(mean_of([1.0]), mean_of([2.0])) == 0.0
    tiny = mean_of([1e-200, 2e-200, 3e-200])
    assert half_of_difference(tiny, tiny) < 1e-190  # squares of squares would be 0 / 0


def test_against_a_single_number_signs_have_a_say():
    for values, found in [
        ([1.0, 2.0, 3.0, 4.0, -90.0], "below"),
        ([9.0, 8.0, 7.0, 6.0, 90.0], "above"),
        ([1.0, 2.0, 3.0, -90.0], "level"),  # four on one side are chance: 1 of 16
        ([1.0, 2.0, 3.0, 5.0 + 1e-9, -90.0], "level"),  # one is the same team's
        ([1.0, 2.0, 3.0, 6.0, -90.0], "level"),
        ([4.0, 4.1, 4.2], "below"),  # by the interval
    ]:
        assert compare(values, [5.0]).side == found


def test_seeds_around_a_single_number_are_seldom_told_from_it():
    """The rate that the page names, 8 of 100, with room for 800 trials."""
    for seeds, most in [(4, 0.05), (5, 0.08), (6, 0.08)]:
        trials = np.random.default_rng(seeds).standard_normal((800, seeds))
        wrong = sum(compare(list(trial), [0.0]).side != "level" for trial in trials)
        assert wrong <= (most + 0.02) * len(trials)
        assert "at most 8 of 100" in texts_of("judge").about
        bad = [[*trial[:-1] - 6, -900.0] for trial in trials]  # one seed is so bad that no interval tells anything
        assert all(compare(values, [0.0]).side == ("below" if seeds >= 5 else "level") for values in bad)


def test_equal_methods_are_seldom_told_apart():
    """The rate that the page names, 8 of 100, with room for 500 trials; and different ones are told apart."""
    for seeds in [3, 12]:
        for same_data in [False, True]:
            assert "else one is above (by mistake in at most 8 of 100 cases" in texts_of("judge").about
            rng = np.random.default_rng(seeds)
            pairs = rng.standard_normal((500, 2, seeds))
            wrong = sum(compare(list(one), list(other), same_data).side != "level" for one, other in pairs)
            right = sum(compare(list(one + 6), list(other), same_data).side == "above" for one, other in pairs)
            assert wrong <= (0.08 + 0.02) * len(pairs)
            assert right >= 0.6 * len(pairs)
