"""Runs in a line each: what is no number is marked, nothing is cut."""

from pathlib import Path

from decpomdp.io.runs import RunRecord, ValueRecord
from decpomdp.report.listing import COLUMNS, NO_NUMBER, NONE, cells, complete, facts_of, fitting, unsupported
from decpomdp.report.page import tiles


def record(**more):
    return RunRecord(stopped="steps", seconds=1.5, nodes=more.pop("nodes", [2, 3]), **more)


def test_values_that_cannot_be_relied_on_are_marked():
    for more, said in [
        ({"value": ValueRecord(1.25, "exact")}, "1.25"),
        ({"value": ValueRecord(None, "exact")}, NO_NUMBER),
        ({"value": ValueRecord(float("nan"), "exact")}, NO_NUMBER),
        ({"value": ValueRecord(float("-inf"), "exact")}, "minus infinite"),
        ({}, NONE),
        ({"value": ValueRecord(-6e15, "weighted"), "sample_size": 1.0}, "-6e+15 !"),
        ({"value": ValueRecord(None, "weighted"), "sample_size": 1.0}, NO_NUMBER),
        ({"value": ValueRecord(3.0, "weighted"), "sample_size": 200.0}, "3"),
    ]:
        one = record(**more)
        assert cells(one, Path("x"))[COLUMNS.index("value")] == said
        tile = tiles(one)
        assert said.split(" !")[0] in tile
        assert ('class="odd"' in tile) == (said not in ("1.25", "3"))
        assert unsupported(one) == ("!" in said or more.get("sample_size") == 1.0)


def test_programs_get_every_column_on_one_line():
    one = record(value=ValueRecord(0.1, "exact,\tby\nhand"), seed=3, nodes=[2] * 100, problem="a\tb")
    row = dict(zip(facts_of(one, Path("x")), complete(one, Path("x")), strict=True))
    assert row["value"] == "0.1"
    assert row["how"] == "exact, by hand"
    assert row["problem"] == "a b"
    assert row["nodes"].count("2") == 100
    assert row["discount"] == ""


def test_columns_fit_or_are_left_out_whole():
    rows = [cells(record(value=ValueRecord(1.0, "exact"), problem="p" * 30), Path("run-" + "x" * 20))]
    assert fitting(rows, 500) == list(COLUMNS)
    assert fitting(rows, 10) == ["run", "value"]
    for width in range(30, 130, 7):
        kept = fitting(rows, width)
        used = sum(max(len(name), len(rows[0][COLUMNS.index(name)])) + 2 for name in kept) - 2
        assert used <= width or kept == ["run", "value"]
        assert kept == sorted(kept, key=COLUMNS.index)
