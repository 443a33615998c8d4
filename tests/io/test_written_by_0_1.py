"""Files that version 0.1 wrote: they still load, and the page of such a run can still be made."""

import shutil
from dataclasses import replace
from pathlib import Path

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.io.team import team_to_json

OLD = Path(__file__).parent / "written_by_0_1"


def test_a_team_is_read_and_written_byte_for_byte():
    path = OLD / "run/team.json"
    assert team_to_json(dp.Team.load(path)) == path.read_bytes()


def test_episodes_are_those_of_the_same_seed():
    old = dp.Episodes.load(OLD / "episodes.parquet")
    assert old.facts["policy"] == "random"
    assert replace(old, facts={}) == dp.simulate("broadcast", episodes=30, horizon=5, seed=1)


def test_a_run_is_read_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(OLD / "run", "run")
    record = dp.Run.load("run").record
    assert (record.method, record.stopped, record.nodes, record.finished) == ("search", "steps", [1, 1], True)
    assert code_of(["report", "run"]) == 0, capsys.readouterr().err
    assert "broadcast" in Path("run/report.html").read_text()
