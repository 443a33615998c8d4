"""`decpomdp runs`: what lies below a folder, in a table."""

import csv
import json
import re

import pytest

import decpomdp as dp
from decpomdp.core import Fit
from decpomdp.io.runs import RunRecord, ValueRecord, write_fit
from terminal import in_terminal


@pytest.fixture
def folder(tmp_path):
    team = dp.Team.uniform(dp.load("dectiger"))
    told = {
        "tiger-search-0": {
            "method": "search",
            "value": ValueRecord(value=13.4486, method="exact, from the model"),
            "seed": 0,
        },
        "deep/logged": {"value": ValueRecord(method="importance-weighted mean"), "seed": 7},
    }
    for name, facts in told.items():
        place = tmp_path / "runs" / name
        place.mkdir(parents=True)
        settings = {} if "method" in facts else {"prior": "dp"}
        record = RunRecord(problem="dectiger", source="dectiger", settings=settings, **facts)
        write_fit(place, Fit(team, ({"steps": 1},), "time limit", 2.5), record)
    return tmp_path / "runs"


def test_the_table(folder):
    told = in_terminal("-m", "decpomdp.cli.main", "runs", str(folder), COLUMNS="120")
    lines = [line.split() for line in re.sub("\x1b\\[[0-9;]*m", "", told).splitlines()]
    assert lines[0] == ["run", "problem", "method", "value", "how", "nodes", "seconds", "seed", "stopped"]
    logged = ["deep/logged", "dectiger", "dp", "not", "a", "number", "importance-weighted", "1+1", "2.5", "7"]
    assert lines[1] == [*logged, "time", "limit"]
    assert lines[2] == ["tiger-search-0", "dectiger", "search", "13.4486", "exact", "1+1", "2.5", "0", "time", "limit"]
    assert len(lines) == 3


def test_a_pipe_gets_everything(run, folder):
    code, out, err = run("runs", folder)
    assert (code, err) == (0, "")
    header, *rows = csv.reader(out.splitlines(), delimiter="\t")
    told = [dict(zip(header, row, strict=True)) for row in rows]
    assert told[0]["value"] == "nan"
    assert told[0]["how"] == "importance-weighted mean"
    assert told[1]["value"] == "13.4486"
    assert told[1]["nodes"] == "1+1"
    assert told[1]["stopped"] == "time limit"
    assert told[1]["steps"] == ""


def test_for_programs(run, folder):
    code, out, _ = run("runs", folder, "--json")
    assert code == 0
    told = json.loads(out)["runs"]
    assert [one["value"] for one in told] == [None, 13.4486]
    assert told[1] == {
        "run": "tiger-search-0", "problem": "dectiger", "method": "search", "value": 13.4486,
        "how": "exact, from the model", "nodes": [1, 1], "seconds": 2.5, "seed": 0, "stopped": "time limit",
        "discount": None, "steps": None, "sample_size": None,
    }  # fmt: skip


def test_what_cannot_be_read_is_left_out_and_said(run, folder):
    (folder / "tiger-search-0/run.json").write_text("{}")
    code, out, err = run("runs", folder)
    assert code == 0
    assert "tiger-search-0" not in out
    assert err.startswith("skipped: ")
    assert err.count("\n") == 1


def test_nothing_there(run, tmp_path):
    assert run("runs", tmp_path) == (0, f"no runs below {tmp_path}\n", "")
    assert json.loads(run("runs", tmp_path, "--json")[1]) == {"runs": []}
    code, _, err = run("runs", tmp_path / "nowhere")
    assert (code, err.count("\n")) == (2, 1)
