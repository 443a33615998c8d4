"""The figure's data on a small grid: every method gives its points, and the same seed gives the same ones."""

import pytest

from decpomdp.domains.traffic import Traffic
from decpomdp.experiments.figure2_claims import POLICIES
from decpomdp.experiments.traffic import METHODS, Effort, curve, curves, fixed

EFFORT = Effort(iterations=4, episodes=60, every=2, tests=60)


@pytest.mark.parametrize("method", METHODS)
def test_a_curve(method):
    points = list(curve(method, 1, EFFORT, side=2, threads=1))
    assert [point.iteration for point in points] == [1, 2, 4]
    assert {(point.method, point.seed) for point in points} == {(method, 1)}
    assert all(1 <= point.acting <= point.nodes <= 3 for point in points)
    assert all(point.error > 0 for point in points)
    seconds = [point.seconds for point in points]
    assert seconds == sorted(seconds)
    sizes = [point.sample_size for point in points]
    assert sizes == [None] * 3 if method == "mcem" else all(size > 30 for size in sizes)
    again = list(curve(method, 1, EFFORT, side=2, threads=2))
    assert [(point.value, point.nodes) for point in points] == [(point.value, point.nodes) for point in again]


def test_the_heuristic_is_where_one_learner_begins():
    first = next(curve("sbpr-heuristic", 0, EFFORT, side=3))
    other = next(curve("sbpr-exploration", 0, EFFORT, side=3))
    assert first.value > other.value + 5
    assert first.acting == 2


def test_all_curves_are_watched():
    seen = []
    effort = Effort(iterations=1, episodes=20, every=1, tests=20)
    points = curves([0, 1], effort, side=2, methods=("mcem", "sbpr-exploration"), watch=seen.append)
    assert points == seen
    assert [(point.seed, point.method) for point in points] == [
        (0, "mcem"),
        (0, "sbpr-exploration"),
        (1, "mcem"),
        (1, "sbpr-exploration"),
    ]


def test_fixed_policies():
    values = fixed(side=4, tests=200)
    assert set(values) == {*Traffic(4).policies(), "clock"} == set(POLICIES)
    assert values["clock"][0] > values["heuristic"][0]
    assert values["heuristic"][0] > values["random"][0] > values["all-row"][0]
