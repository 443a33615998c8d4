"""Curves: all columns that say something, nothing of a long trace lost, sensible ranges."""

import json
from xml.etree import ElementTree

import numpy as np

from decpomdp.report.curves import RunTrace, curves, thinned


def drawn(*traces, names=("a", "b")):
    """The figures, and the data from which the page's script draws them."""
    made = curves([RunTrace(name, trace, ("agent1", "agent2")) for name, trace in zip(names, traces, strict=False)])
    if made is None:
        return [], None
    root = ElementTree.fromstring(made)
    return root.findall(".//figure"), json.loads(root.find("script").text)


def titles(figures):
    return [figure.find("figcaption/b").text for figure in figures]


def names(chart):
    return [curve["name"] for curve in chart["curves"]]


def test_thinning_keeps_ends_and_extremes():
    y = np.random.default_rng(0).normal(size=20000)
    y[777], y[12345], y[5] = 50.0, -60.0, np.nan
    rows = thinned(y, 100)
    assert len(rows) <= 400
    assert (rows[0], rows[-1]) == (0, 19999)
    assert {777, 12345} < set(rows)
    assert 5 not in rows
    assert rows == sorted(rows)


def test_the_columns_of_a_search():
    trace = {
        "seconds": [0.0, 1.0, 2.0], "steps": [0, 10, 20], "phase": ["a", "b", "c"], "value": [float("nan"), 1.0, 2.0],
        "error": [float("nan"), 0.5, 0.2], "nodes": ["1+1", "2+3", "2+2"], "hops": [0, 1, 2],
    }  # fmt: skip
    figures, content = drawn(trace)
    assert titles(figures) == ["Value", "Nodes per agent"]
    assert content["axes"] == {"steps": "joint steps", "seconds": "seconds"}
    value, nodes = content["charts"]
    assert value["curves"][0]["y"] == [1.0, 2.0]
    assert value["curves"][0]["error"] == [0.5, 0.2]
    assert value["curves"][0]["x"] == {"steps": [10, 20], "seconds": [1, 2]}
    assert names(nodes) == ["agent1", "agent2"]
    assert nodes["whole"]


def test_the_columns_of_planners_and_of_others():
    trace = {
        "iteration": [1, 2, 3], "lower": [0.0, 1.0, 1.5], "upper": [9.0, 5.0, 2.0], "gap": [9.0, 4.0, 0.5],
        "nodes": [[1, 1], [2, 2], [2, 3]], "points_kept": [3, 4, 5], "words": ["x", "y", "z"],
    }  # fmt: skip
    figures, content = drawn(trace)
    assert titles(figures) == [
        "Proved bounds of the best value", "Gap between the bounds", "Nodes per agent", "Points kept",
    ]  # fmt: skip
    assert names(content["charts"][0]) == ["lower", "upper"]


def test_a_far_beginning_is_cut_off_and_the_caption_says_so():
    bound = [-1e6, *np.linspace(90, 100, 60)]
    (figure,), content = drawn({"sweep": list(range(61)), "bound": bound})
    assert [span.text for span in figure.findall("figcaption/span")] == ["begins at -1e+06"]
    low, high = content["charts"][0]["range"]
    assert 80 < low < 90 < 100 < high < 110


def test_several_runs_in_one_chart():
    """Only common columns; times begin with the first row, because one run may have compiled before it."""
    one = {"seconds": [60.0, 61.0, 62.0], "value": [1.0, 2.0, 3.0], "bound": [1.0, 2.0, 3.0]}
    other = {"seconds": [0.5, 1.5], "value": [5.0, 5.0]}
    figures, content = drawn(one, other)
    assert titles(figures) == ["Value"]
    assert names(content["charts"][0]) == ["a", "b"]
    assert [curve["x"]["seconds"] for curve in content["charts"][0]["curves"]] == [[0, 1, 2], [0, 1]]
    assert content["axes"] == {"seconds": "seconds since the first row"}
    assert drawn(one)[1]["charts"][0]["curves"][0]["x"]["seconds"] == [60, 61, 62]


ODD = [[np.inf] * 3, [0.0, 1.0, np.inf], [0.0, 0.0, 5e-324], [-1e308, 0.0, 1e308]]


def test_nothing_to_draw():
    for trace in [
        {},
        {"steps": [], "value": []},
        {"steps": [0, 1], "value": [None, None]},
        {"steps": [10], "value": [1.0]},
        *({"steps": steps, "value": [1.0, 2.0, 3.0]} for steps in ODD),
    ]:
        assert drawn(trace) == ([], None)


def test_numbers_too_large_for_a_chart_are_left_out():
    values = [1e308, -1e308, np.inf, np.nan, 1e300, -1e300, 5e-324, 0.0, 10**400]
    trace = {"steps": list(range(9)), "value": values, "error": values[::-1], "gap": [1e308] * 9}
    figures, content = drawn(trace)
    assert titles(figures) == ["Value"]
    assert content["charts"][0]["curves"][0]["y"] == [1e300, -1e300, 5e-324, 0.0]


def test_a_curve_that_never_changes_has_room_around_it():
    _, content = drawn({"steps": [0, 10, 20], "value": [5.0, 5.0, 5.0], "gap": [0, 1e-320, 0], "accepted": [0, 0, 0]})
    for chart, value in zip(content["charts"], (5.0, 0.0, 0.0), strict=True):
        low, high = chart["range"]
        assert low + 0.4 < value < high - 0.4
