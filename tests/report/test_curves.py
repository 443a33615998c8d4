"""Curves: round ticks, nothing of a long trace lost, all columns that say something."""

import re
from xml.etree import ElementTree

import numpy as np

from decpomdp.report.curves import RunTrace, curves, step_for, thinned, ticks


def figures(*traces, names=("a", "b")):
    sources = [RunTrace(name, trace, ("agent1", "agent2")) for name, trace in zip(names, traces, strict=False)]
    drawn = curves(sources)
    return [] if drawn is None else ElementTree.fromstring(drawn).findall(".//figure")


def titles(found, axis):
    return [figure.find("figcaption/b").text for figure in found if figure.get("data-axis") == axis]


def test_ticks_are_round_and_inside():
    for low, high in ((-3.2, 9.6), (0, 1e-7), (1e6, 3e7), (-2, -1.999), (0, 0.3)):
        found = ticks(low, high, step_for(high - low, 5))
        assert 3 <= len(found) <= 12
        assert all(low - 1e-9 * (high - low) <= tick <= high + 1e-9 * (high - low) for tick in found)
        mantissa = step_for(high - low, 5) / 10 ** np.floor(np.log10(step_for(high - low, 5)) + 1e-9)
        assert min(abs(mantissa - m) for m in (1, 2, 5)) < 1e-6


def test_thinning_keeps_ends_and_extremes():
    rng = np.random.default_rng(0)
    x, y = np.arange(20000.0), rng.normal(size=20000)
    y[777], y[12345] = 50.0, -60.0
    thin_x, thin_y = thinned(x, y, 100)
    assert len(thin_x) <= 400
    assert (thin_x[0], thin_x[-1]) == (0.0, 19999.0)
    assert (max(thin_y), min(thin_y)) == (50.0, -60.0)
    assert all(y[int(a)] == b for a, b in zip(thin_x, thin_y, strict=True))
    assert thin_x == sorted(thin_x)


def test_the_columns_of_a_search():
    trace = {
        "seconds": [0.0, 1.0, 2.0], "steps": [0, 10, 20], "phase": ["a", "b", "c"], "value": [float("nan"), 1.0, 2.0],
        "error": [float("nan"), 0.5, 0.2], "nodes": ["1+1", "2+3", "2+2"], "hops": [0, 1, 2],
    }  # fmt: skip
    found = figures(trace)
    assert titles(found, "steps") == titles(found, "seconds") == ["Value", "Nodes per agent"]
    assert [path.get("class") for path in found[0].iter("path")] == ["band c0", "curve c0"]
    assert [path.get("data-name") for path in found[1].iter("path")] == ["agent1", "agent2"]


def test_the_columns_of_planners_and_of_others():
    trace = {
        "iteration": [1, 2, 3], "lower": [0.0, 1.0, 1.5], "upper": [9.0, 5.0, 2.0], "gap": [9.0, 4.0, 0.5],
        "nodes": [[1, 1], [2, 2], [2, 3]], "points_kept": [3, 4, 5], "words": ["x", "y", "z"],
    }  # fmt: skip
    found = figures(trace)
    assert titles(found, "iteration") == [
        "Proved bounds of the best value",
        "Gap between the bounds",
        "Nodes per agent",
        "Points kept",
    ]
    assert [path.get("data-name") for path in found[0].iter("path")] == ["lower", "upper"]


def test_a_far_beginning_is_cut_off_and_told():
    bound = [-1e6, *np.linspace(90, 100, 60)]
    figure = figures({"sweep": list(range(61)), "bound": bound})[0]
    assert [span.text for span in figure.findall("figcaption/span")] == ["begins at -1.00M"]
    _, _, low, high = map(float, figure.find("svg").get("data-range").split())
    assert 80 < low < 90 < 100 < high < 110


def test_several_runs_in_one_chart():
    one = {"steps": [0, 5, 9], "value": [1.0, 2.0, 3.0], "bound": [1.0, 2.0, 3.0]}
    other = {"steps": [0, 8], "value": [5.0, 5.0]}
    found = figures(one, other)
    assert titles(found, "steps") == ["Value"]
    assert [path.get("data-name") for path in found[0].iter("path")] == ["a", "b"]


ODD = [[np.inf] * 3, [0.0, 1.0, np.inf], [0.0, 0.0, 5e-324], [-1e308, 0.0, 1e308]]


def test_nothing_to_draw():
    for trace in [
        {},
        {"steps": [], "value": []},
        {"steps": [0, 1], "value": [None, None]},
        {"steps": [10], "value": [1.0]},
        *({"steps": steps, "value": [1.0, 2.0, 3.0]} for steps in ODD),
    ]:
        assert figures(trace) == []


def test_long_traces_stay_small():
    rows = 50_000
    rng = np.random.default_rng(1)
    trace = {"steps": list(range(rows)), "value": rng.normal(size=rows).tolist(), "error": [0.1] * rows}
    drawn = curves([RunTrace("", trace, ("x",))])
    assert len(drawn) < 40_000
    assert not re.search("nan|inf", drawn)


def test_a_curve_that_never_changes_is_drawn():
    found = figures({"steps": [0, 10, 20], "value": [5.0, 5.0, 5.0], "accepted": [0, 0, 0]})
    assert titles(found, "steps") == ["Value", "Changes accepted"]
    for figure in found:
        _, _, low, high = map(float, figure.find("svg").get("data-range").split())
        assert low < float(5.0 if figure is found[0] else 0.0) < high
        assert len(figure.findall(".//circle")) == 3  # few points: each is marked
        assert len(figure.findall("svg/g[@class='grid']/text")) >= 2


def test_compared_times_begin_with_the_first_row():
    """One run compiled for a minute before its first row: the axis is not squeezed by it."""
    slow = {"seconds": [60.0, 61.0, 62.0], "value": [1.0, 2.0, 3.0]}
    quick = {"seconds": [0.5, 1.5, 2.5], "value": [1.0, 2.0, 3.0]}
    both = [figure.find("svg") for figure in figures(slow, quick)]
    assert all(chart.get("data-range").startswith("0 2 ") for chart in both)
    assert all("seconds since the first row" in chart.get("aria-label") for chart in both)
    (alone,) = (figure.find("svg") for figure in figures(slow))
    assert alone.get("data-range").startswith("60 62 ")
    assert "since the first row" not in alone.get("aria-label")
