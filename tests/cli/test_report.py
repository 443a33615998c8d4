"""`decpomdp learn` leaves a page behind; `report` makes it again, or one of several runs; `export`."""

import json
import shutil
import subprocess
import sys
import warnings
from contextlib import chdir
from xml.etree import ElementTree

import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.io.runs import source_digest
from decpomdp.report.export import FORMATS, exported


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two short runs by playing, the first by the program itself; one from episodes."""
    place = tmp_path_factory.mktemp("runs")
    first = [sys.executable, "-m", "decpomdp.cli.main", "learn", "gridsmall", "--steps", "200000", "--seed", "3"]
    subprocess.run([*first, "--out", "one"], cwd=place, check=True, capture_output=True)
    for arguments in (
        ["learn", "gridsmall", "--steps", "200000", "--seed", "3", "--threads", "1", "--out", "again"],
        ["simulate", "broadcast", "--episodes", "80", "--horizon", "5", "--out", "e.parquet"],
        ["learn", "e.parquet", "--method", "sbpr", "--sweeps", "5", "--truncation", "4", "--out", "logged"],
    ):
        with chdir(place), warnings.catch_warnings(action="ignore"):
            assert code_of(arguments) == 0
    return place


def copied(folder, tmp_path, *names):
    for name in names:
        (shutil.copytree if (folder / name).is_dir() else shutil.copy)(folder / name, tmp_path / name)


def test_a_run_folder_is_complete_and_repeatable(folder):
    assert {path.name for path in (folder / "one").iterdir()} == {
        "team.json", "trace.parquet", "run.json", "log.txt", "report.html", "performance.bin",
    }  # fmt: skip
    assert (folder / "one/team.json").read_bytes() == (folder / "again/team.json").read_bytes()
    log = (folder / "one/log.txt").read_text().splitlines()
    assert log[0].endswith("decpomdp learn gridsmall --steps 200000 --seed 3 --out one")
    assert "value" in log[-2]
    assert "stopped: steps" in log[-1]
    record = json.loads((folder / "one/run.json").read_text())
    assert record["digest"] == dp.load("gridsmall").digest()
    page = (folder / "one/report.html").read_text()
    assert "The team, played on the model." in page
    assert len(page) < 500_000


def test_learning_from_episodes_keeps_its_posterior(folder):
    record = json.loads((folder / "logged/run.json").read_text())
    assert {len(agent["nodes"]) for agent in record["posterior"]["agents"]} <= set(range(1, 5))
    assert (folder / "logged/team-mean.json").exists()
    assert "Uncertainty of the learner" in (folder / "logged/report.html").read_text()


def test_the_page_is_made_again(run, folder, tmp_path):
    copied(folder, tmp_path, "one")
    before = (tmp_path / "one/report.html").read_bytes()
    (tmp_path / "one/report.html").unlink()
    code, out, err = run("report", "one")
    assert (code, out, err) == (0, "written to one/report.html\n", "")
    assert (tmp_path / "one/report.html").read_bytes() == before
    code, out, _ = run("report", "one", "--out", "page.html", "--json")
    assert code == 0
    assert json.loads(out) == {"page": "page.html", "runs": ["one"], "bytes": len(before)}


def test_several_runs_need_a_place(run, folder, tmp_path):
    copied(folder, tmp_path, "one", "again", "logged", "e.parquet")
    code, _, err = run("report", "one", "again")
    assert code == 2
    assert "--out: expected a file" in err
    assert run("report", "one", "again", "logged", "--out", "all.html")[0] == 0
    assert "3 runs compared" in (tmp_path / "all.html").read_text()


def test_episodes_that_are_gone_are_said_so(run, folder, tmp_path):
    copied(folder, tmp_path, "logged")
    code, _, err = run("report", "logged")
    assert code == 0
    assert err == "logged: no replay: e.parquet no longer exists\n"
    code, _, err = run("report", "logged", "--problem", "broadcast")
    assert (code, err) == (0, "")
    assert "The team, played on the model." in (tmp_path / "logged/report.html").read_text()


def test_data_that_changed_are_noticed(run, folder, tmp_path):
    copied(folder, tmp_path, "logged", "e.parquet")
    record = json.loads((tmp_path / "logged/run.json").read_text())
    assert record["digest"] == source_digest(dp.Episodes.load(tmp_path / "e.parquet"))
    assert run("report", "logged") == (0, "written to logged/report.html\n", "")
    dp.simulate("broadcast", episodes=80, horizon=5, seed=1).save(tmp_path / "e.parquet")
    code, _, err = run("report", "logged")
    assert (code, err) == (0, "logged: no replay: e.parquet has changed: it is not the same data\n")


def test_an_animation_beside_the_page(run, folder, tmp_path):
    copied(folder, tmp_path, "one", "logged")
    code, out, err = run("report", "one", "--animate", "moving.svg")
    assert (code, err) == (0, "")
    assert out == "written to one/report.html\nanimation written to moving.svg\n"
    assert ElementTree.parse(tmp_path / "moving.svg").getroot().tag.endswith("svg")
    code, out, _ = run("report", "one", "--animate", "moving.gif", "--json")
    assert code == 0
    assert json.loads(out)["animation_bytes"] == (tmp_path / "moving.gif").stat().st_size
    code, _, err = run("report", "logged", "--animate", "other.svg")
    assert (code, err.count("\n")) == (2, 1)
    assert "nothing to draw" in err
    assert not (tmp_path / "other.svg").exists()


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = dp.Team.of(dp.load("dectiger"), [controller()] * 2)
    made.save("team.json")
    return made


@pytest.mark.parametrize("form", FORMATS)
def test_printed_and_written_are_the_same(team, form, capsys, tmp_path):
    assert code_of(["export", "team.json", "--agent", "agent2", "--format", form]) == 0
    printed = capsys.readouterr().out
    assert printed == exported(team, "agent2", form)
    assert code_of(["export", "team.json", "--agent", "agent2", "--format", form, "--out", "x"]) == 0
    assert capsys.readouterr().out == f"agent2 (6 nodes) as {form}, written to x\n"
    assert (tmp_path / "x").read_text(encoding="utf-8") == printed
