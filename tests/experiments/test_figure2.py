"""The figure's data on a small grid: every method gives its points."""

import pytest

from decpomdp.domains.traffic import Traffic
from decpomdp.experiments.figure2 import NAMES, POLICIES, fixed_policies, learning

EFFORT = {"side": 2, "iterations": 4, "episodes": 60, "every": 2, "tests": 60}


@pytest.mark.parametrize("method", NAMES)
def test_a_curve(method):
    curve = learning({"method": method, "seed": 1, **EFFORT})
    assert [point.iteration for point in curve] == [1, 2, 4]
    assert {(point.method, point.seed) for point in curve} == {(method, 1)}
    assert all(1 <= point.acting <= point.nodes <= 3 for point in curve)
    assert all(point.error > 0 for point in curve)
    seconds = [point.seconds for point in curve]
    assert seconds == sorted(seconds)
    sizes = [point.sample_size for point in curve]
    assert sizes == [None] * 3 if method == "mcem" else all(size > 30 for size in sizes)


def test_the_heuristic_is_where_one_learner_begins():
    effort = {**EFFORT, "seed": 0, "side": 3, "iterations": 1}
    first, other = (learning({"method": method, **effort})[0] for method in ("sbpr-heuristic", "sbpr-exploration"))
    assert first.value > other.value + 5
    assert first.acting == 2


def test_policies_that_need_no_learning():
    tested = fixed_policies({"side": 4, "tests": 200, "seed": 0, "policies": POLICIES})
    values = {point.method: point.value for point in tested}
    assert set(values) == {*Traffic(4).policies(), "clock"}
    assert values["clock"] > values["heuristic"]
    assert values["heuristic"] > values["random"] > values["all-row"]
