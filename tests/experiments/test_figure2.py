"""The figure's data on a small grid: every method gives its points."""

from decpomdp.domains.traffic import Traffic
from decpomdp.experiments.figure2 import POLICIES, fixed_policies, learning

EFFORT = {"side": 2, "iterations": 4, "episodes": 60, "every": 2, "tests": 60}


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
