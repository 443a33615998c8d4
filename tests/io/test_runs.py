"""Run folders: written whole, read back, and clear words for what is not one."""

import json
import re
import warnings

import pytest

import decpomdp as dp
from decpomdp.core import Fit, FormatError, InputError
from decpomdp.io import logs
from decpomdp.io.logs import RunLog
from decpomdp.io.run_folder import new_run
from decpomdp.io.runs import find_runs, read_run, write_run

TRACE = (
    {"sweep": 0, "value": 1.5, "nodes": "1+2", "sizes": (1.0, 2.0), "gap": None},
    {"sweep": 1, "value": 2.5, "nodes": "1+1", "sizes": (1.0, 1.0), "gap": 0.5},
)
FACTS = {"problem": "dectiger", "source": "dectiger", "seed": 2**63 + 1, "discount": 0.9, "method": "search"}


def written(folder, **facts):
    folder.mkdir(parents=True)
    team = dp.Team.uniform(dp.load("dectiger"))
    value = {"value": -46.25, "method": "exact", "error": 1e-9}
    fit = Fit(team, TRACE, "steps", 1.23456, {"threads": None, "share": 0.5})
    write_run(folder, fit, {**FACTS, "value": value, "new_fact": [1, 2], **facts})
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
    assert record.settings == {"threads": None, "share": 0.5}
    assert set(record.versions) >= {"python", "decpomdp", "numpy"}
    assert record.posterior is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "expected object, got array"),
        ('{"format": "decpomdp-run/9"}', 'expected "decpomdp-run/1", got "decpomdp-run/9"'),
        ('{"format": "decpomdp-run/1"}', "missing required field"),
        ('{"format": "decpomdp-run/1", "stopped": 3, "seconds": 1, "nodes": []}', "stopped"),
        ('{"format": "decpomdp-run/1", "stopped": "", "seconds": 1, "nodes": [1.5]}', "nodes"),
        ('{"format": "decpomdp-run/1", "stopped": "", "seconds": 1, "nodes": [], "posterior": {}}', "posterior"),
    ],
)
def test_a_run_json_that_is_none(tmp_path, content, words):
    written(tmp_path / "a")
    (tmp_path / "a/run.json").write_text(content)
    with pytest.raises(FormatError, match=re.escape(words)) as caught:
        read_run(tmp_path / "a")
    assert str(caught.value).count("\n") == 0


def test_other_folders_and_broken_traces(tmp_path):
    with pytest.raises(InputError, match="expected the folder of a run"):
        read_run(tmp_path)
    written(tmp_path / "a")
    (tmp_path / "a/trace.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(FormatError, match=r"trace\.parquet: cannot be read"):
        read_run(tmp_path / "a")
    (tmp_path / "a/trace.parquet").unlink()
    with pytest.raises(FormatError, match=r"trace\.parquet: cannot be read"):
        read_run(tmp_path / "a")


def test_runs_are_found_below_a_folder(tmp_path):
    for name in ("b/deep", "a", "c"):
        written(tmp_path / name)
    (tmp_path / "empty").mkdir()
    assert find_runs(tmp_path) == [tmp_path / "a", tmp_path / "b/deep", tmp_path / "c"]
    assert find_runs(tmp_path / "a") == [tmp_path / "a"]
    with pytest.raises(InputError, match="expected a folder, got none"):
        find_runs(tmp_path / "nowhere")
    with pytest.raises(InputError, match="expected a folder, got a file"):
        find_runs(tmp_path / "a/run.json")


def test_a_failed_run_leaves_no_folder(tmp_path):
    with pytest.raises(InputError), new_run(tmp_path / "deep/er"):
        raise InputError("no")


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


def test_a_log_is_written_while_it_grows(tmp_path):
    log = RunLog(["learn"], tmp_path / "log.txt")
    log.say("one\nline, 'a  path'")
    assert log.path.read_text().endswith("Z  one line, 'a  path'\n")


def test_a_log_notes_the_command_and_the_latest_progress(monkeypatch, tmp_path):
    log, rows = RunLog(["learn", "a b.dpomdp"], tmp_path / "log.txt"), []
    watch = log.watching(rows.append, {"sweep": "sweep {}", "value": "value {:.1f}", "gap": "gap {}"})
    for row in TRACE:
        watch(row)
    assert rows == list(TRACE)
    assert said(log) == ["decpomdp learn 'a b.dpomdp'", "sweep 1 value 2.5 gap 0.5", "the end"]
    monkeypatch.setattr(logs, "EVERY", 0.0)
    watch(TRACE[0])
    watch(TRACE[1])
    watch({"sweep": float("nan"), "value": float("nan")})  # nothing is known yet: nothing is noted
    assert said(log)[3:] == ["sweep 0 value 1.5", "sweep 1 value 2.5 gap 0.5", "the end"]


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
    written(tmp_path / "a", bound=float("nan"), value={"value": float("inf")})
    told = json.loads((tmp_path / "a/run.json").read_text())
    assert told["bound"] is None
    assert told["value"] == {"value": None}
    written(tmp_path / "b")
    assert json.loads((tmp_path / "b/run.json").read_text())["new_fact"] == [1, 2]
