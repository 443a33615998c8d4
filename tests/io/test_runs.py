"""Run folders: written whole, read back, and clear words for what is not one; files that version 0.1 wrote."""

import json
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core import Fit, FormatError, InputError
from decpomdp.io import run_folder
from decpomdp.io.run_folder import RunLog, new_run
from decpomdp.io.runs import RunRecord, ValueRecord, find_runs, read_run, write_fit
from decpomdp.io.team import team_to_json

TRACE = (
    {"sweep": 0, "value": 1.5, "nodes": "1+2", "sizes": (1.0, 2.0), "gap": None},
    {"sweep": 1, "value": 2.5, "nodes": "1+1", "sizes": (1.0, 1.0), "gap": 0.5},
)
FACTS = {"problem": "dectiger", "source": "dectiger", "seed": 2**63 + 1, "discount": 0.9, "method": "search"}
FACTS["settings"] = {"method": "search", "max_nodes": None}


def written(folder, **facts):
    folder.mkdir(parents=True)
    team = dp.Team.uniform(dp.load("dectiger"))
    record = RunRecord(**{**FACTS, "value": ValueRecord(value=-46.25, method="exact", error=1e-9), **facts})
    write_fit(folder, Fit(team, TRACE, "steps", 1.23456, facts={"speed": 0.5}), record)
    return team


def test_a_run_comes_back(tmp_path):
    team = written(tmp_path / "a")
    run = read_run(tmp_path / "a")
    assert run.team == team
    assert run.name == "a"
    assert run.trace["value"] == [1.5, 2.5]
    assert run.trace["sizes"] == [[1.0, 2.0], [1.0, 1.0]]
    assert run.trace["gap"] == [None, 0.5]
    record = run.record
    assert (record.seed, record.stopped, record.seconds, record.nodes) == (2**63 + 1, "steps", 1.235, [1, 1])
    assert (record.value.value, record.value.method, record.value.standard_error) == (-46.25, "exact", None)
    assert record.settings == {"method": "search", "max_nodes": None}
    assert record.facts == {"speed": 0.5}
    assert record.posterior is None


def test_a_run_json_that_is_none(tmp_path):
    written(tmp_path / "a")
    for content, words in [
        ("{", "Input data was truncated"),
        ('{"format": "decpomdp-run/9"}', 'expected "decpomdp-run/2", got "decpomdp-run/9"'),
        ('{"format": "decpomdp-run/2", "stopped": 3}', "stopped"),
        ('{"format": "decpomdp-run/2", "posterior": {}}', "posterior"),
    ]:
        (tmp_path / "a/run.json").write_text(content)
        with pytest.raises(FormatError, match=re.escape(words)) as caught:
            read_run(tmp_path / "a")
        assert str(caught.value).count("\n") == 0


def test_other_folders_and_broken_traces(tmp_path):
    with pytest.raises(InputError, match="expected a run folder"):
        read_run(tmp_path)
    written(tmp_path / "a")
    (tmp_path / "a/trace.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(FormatError, match=r"trace\.parquet: cannot be read"):
        read_run(tmp_path / "a")


def test_runs_are_found_below_a_folder(tmp_path):
    for name in ("b/deep", "a", "c"):
        written(tmp_path / name)
    (tmp_path / "empty").mkdir()
    assert find_runs(tmp_path) == [tmp_path / "a", tmp_path / "b/deep", tmp_path / "c"]
    assert find_runs(tmp_path / "a") == [tmp_path / "a"]
    with pytest.raises(InputError, match="expected a folder, got a file"):
        find_runs(tmp_path / "a/run.json")


def test_a_failed_run_leaves_no_log(tmp_path):
    def failing():
        with new_run(tmp_path / "deep/er") as folder:
            RunLog(["learn"], folder / "log.txt")
            raise InputError("no")

    with pytest.raises(InputError):
        failing()
    assert list(tmp_path.iterdir()) == []


def said(log):
    log.close("the end")
    return [line.split("  ", 1)[1] for line in log.path.read_text().splitlines()]


def test_a_log_notes_the_command_and_the_latest_progress(monkeypatch, tmp_path):
    log = RunLog(["learn", "a b.dpomdp"], tmp_path / "log.txt")
    watch = log.watch
    for row in TRACE:
        watch(row)
    assert said(log) == ["decpomdp learn 'a b.dpomdp'", "sweep 1 value 2.5000 nodes 1+1", "the end"]
    monkeypatch.setattr(run_folder, "EVERY", 0.0)
    watch(TRACE[0])
    watch(TRACE[1])
    watch({"sweep": float("nan"), "value": float("nan")})  # nothing is known yet: nothing is noted
    assert said(log)[3:] == ["sweep 0 value 1.5000 nodes 1+2", "sweep 1 value 2.5000 nodes 1+1", "the end"]


def test_a_log_notes_warnings_and_passes_them_on(monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_, **__: shown.append(str(message)))
    log = RunLog([], tmp_path / "log.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with log:
            warnings.warn("something\n is odd", UserWarning, stacklevel=1)
        warnings.warn("after it", UserWarning, stacklevel=1)
    assert said(log) == ["decpomdp", "warning: something is odd", "the end"]
    assert shown == ["something\n is odd", "after it"]


def test_nothing_that_is_not_a_number_gets_into_a_run(tmp_path):
    written(tmp_path / "a", bound=float("nan"), value=ValueRecord(value=float("inf")))
    record = json.loads((tmp_path / "a/run.json").read_text())
    assert record["bound"] is None
    assert record["value"]["value"] is None


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


def test_a_world_is_stored_with_numbers_for_labels_that_its_file_cannot_hold(tmp_path):
    model = dp.load("recycling")
    labels = tuple(f"speed < {edge}" for edge in range(len(model.agents[0].observations)))
    agents = (dp.Agent("a b", model.agents[0].actions, labels), model.agents[1])
    world = replace(model, agents=agents)
    team = dp.Team.uniform(world)
    (tmp_path / "run").mkdir()
    write_fit(tmp_path / "run", dp.WorldFit(team, world=world), RunRecord())
    stored = dp.load(tmp_path / "run" / "world.dpomdp")
    assert [agent.name for agent in stored.agents] == ["agent1", "agent2"]
    assert dp.evaluate(team, stored).value == pytest.approx(dp.evaluate(team, world).value)
