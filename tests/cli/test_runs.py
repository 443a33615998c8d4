"""`decpomdp runs`: what lies below a folder, in a table."""

import json

import pytest

import decpomdp as dp
from decpomdp.core import Fit
from decpomdp.io.runs import write_run


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def folder(tmp_path):
    team = dp.Team.uniform(dp.load("dectiger"))
    told = {
        "tiger-search-0": {
            "method": "search",
            "value": {"value": 13.4486, "method": "exact, from the model"},
            "seed": 0,
        },
        "deep/logged": {"value": {"value": None, "method": "importance-weighted mean"}, "seed": 7},
    }
    for name, facts in told.items():
        place = tmp_path / "runs" / name
        place.mkdir(parents=True)
        settings = {} if "method" in facts else {"prior": "dp"}
        fit = Fit(team, ({"steps": 1},), "time limit", 2.5, settings)
        write_run(place, fit, {"problem": "dectiger", "source": "dectiger", **facts})
    return tmp_path / "runs"


def test_the_table(run, folder):
    code, out, err = run("runs", folder)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["run", "problem", "method", "value", "how", "nodes", "seconds", "seed", "stopped"]
    assert lines[1] == ["deep/logged", "dectiger", "dp", "importance-weighted", "1+1", "2.5", "7", "time", "limit"]
    assert lines[2] == ["tiger-search-0", "dectiger", "search", "13.4486", "exact", "1+1", "2.5", "0", "time", "limit"]


def test_for_programs(run, folder):
    code, out, _ = run("runs", folder, "--json")
    assert code == 0
    told = json.loads(out)["runs"]
    assert [one["value"] for one in told] == [None, 13.4486]
    assert told[1] == {
        "run": "tiger-search-0", "problem": "dectiger", "method": "search", "value": 13.4486,
        "how": "exact, from the model", "nodes": [1, 1], "seconds": 2.5, "seed": 0, "stopped": "time limit",
        "discount": None, "steps": None,
    }  # fmt: skip


def test_what_cannot_be_read_is_left_out_and_said(run, folder):
    (folder / "tiger-search-0/run.json").write_text("{}")
    code, out, err = run("runs", folder)
    assert code == 0
    assert "tiger-search-0" not in out
    assert err.startswith("left out: ")
    assert err.count("\n") == 1


def test_nothing_there(run, tmp_path):
    assert run("runs", tmp_path) == (0, f"no runs below {tmp_path}\n", "")
    assert json.loads(run("runs", tmp_path, "--json")[1]) == {"runs": []}
    code, _, err = run("runs", tmp_path / "nowhere")
    assert (code, err.count("\n")) == (2, 1)
