"""FB-HSVI on random problems: no exception, valid bounds, true values (`benchmarks/fb_hsvi_robust.py`)."""

import fb_hsvi_robust as robust
import pytest


@pytest.mark.parametrize("first", [0, 20, 40])  # two, three, four agents
def test_bounds_and_values_on_every_kind_of_problem(first):
    for number in range(first, first + len(robust.KINDS), 3):
        assert robust.failures(number, 0.1)[0] == []


@pytest.mark.slow
def test_bounds_and_values_on_two_hundred_problems():
    failed = {number: robust.failures(number, 2.0)[0] for number in range(200)}
    assert {number: lines for number, lines in failed.items() if lines} == {}


def test_a_wrong_value_is_reported(monkeypatch):
    monkeypatch.setattr(robust, "value_of", lambda model, team, horizon: 1e9)
    assert any("claimed value" in line for line in robust.failures(1, 0.1)[0])
