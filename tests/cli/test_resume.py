"""Runs of the command that are killed, interrupted and resumed. The driver itself is tested in core/test_run.py."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.io.checkpoints import STATE
from decpomdp.io.run_folder import locked

COMMAND = [sys.executable, "-m", "decpomdp"]
SEARCH = ["learn", "broadcast", "--steps", "6000000", "--seed", "3"]
PLAN = ["plan", "dectiger", "--method", "fb-hsvi", "--iterations", "2", "--epsilon", "0.1"]
BARE = ["--no-report"]


def started(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def until_checkpoint(process: "subprocess.Popen[str]", run: Path) -> None:
    while process.poll() is None and not (run / STATE).exists():
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def cut(folder: Path, arguments: list[str], number: int = signal.SIGKILL) -> "subprocess.Popen[str]":
    """A run that gets a signal as soon as it has a checkpoint."""
    with started(folder, *arguments, "--out", "cut", "--checkpoint-every", "0", "--json", *BARE) as process:
        until_checkpoint(process, folder / "cut")
        process.send_signal(number)
        process.wait(30)
    return process


def content(run: Path) -> tuple[bytes, dict, dict]:
    """What must be the same: the team, and the trace and the record without times and folder."""
    trace = pq.read_table(run / "trace.parquet").to_pydict()
    record = json.loads((run / "run.json").read_text())
    for timed in (trace, record):
        timed.pop("seconds")
    record.pop("working_folder")
    return (run / "team.json").read_bytes(), trace, record


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of a run that was killed."""
    folder = tmp_path_factory.mktemp("killed")
    cut(folder, SEARCH)
    assert not json.loads((folder / "cut/run.json").read_text())["finished"]
    return folder / "cut"


@pytest.fixture
def unfinished(killed, tmp_path):
    """A copy of it."""
    return shutil.copytree(killed, tmp_path / "cut")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of the same run, never interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert code_of([*SEARCH, "--out", str(folder), "--quiet", *BARE]) == 0
    return folder


@pytest.mark.parametrize("arguments", [SEARCH, PLAN], ids=["search", "fb-hsvi"])
def test_killed_and_resumed(run, tmp_path, arguments, killed):
    assert run(*arguments, "--out", "whole", "--quiet", *BARE)[0] == 0
    if arguments is SEARCH:
        shutil.copytree(killed, tmp_path / "cut")
    else:
        cut(tmp_path, arguments)
    code, out, err = run(arguments[0], "--resume", "cut", "--quiet", *BARE)
    assert code == 0, err
    assert "written to cut" in out
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
    assert {path.name for path in (tmp_path / "cut").iterdir()} == {
        path.name for path in (tmp_path / "whole").iterdir()
    }
    code, _, err = run(arguments[0], "--resume", "cut")
    assert (code, err) == (0, "cut: the run is finished; nothing to do\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_the_best_team_and_the_run_can_be_resumed(run, tmp_path, whole, number, code):
    process = cut(tmp_path, SEARCH, number)
    assert process.returncode == code
    record = json.loads((tmp_path / "cut/run.json").read_text())
    assert record["stopped"] == {130: "interrupted", 143: "terminated"}[code]
    assert not record["finished"]
    assert dp.Team.load(tmp_path / "cut/team.json").problem == "broadcast"
    assert run("learn", "--resume", "cut", "--quiet", *BARE)[0] == 0
    assert content(tmp_path / "cut") == content(whole)


def test_a_run_that_another_process_finished_before_the_lock_is_left_alone(run, unfinished, whole, monkeypatch):
    def late(folder):  # the other process wins the race for the lock
        shutil.copytree(whole, folder, dirs_exist_ok=True)
        (folder / "team.json").write_bytes(b"of the other")
        return locked(folder)

    monkeypatch.setattr("decpomdp.io.run_folder.locked", late)
    code, _, err = run("learn", "--resume", unfinished)
    assert (code, err) == (0, f"{unfinished}: the run is finished; nothing to do\n")
    assert (unfinished / "team.json").read_bytes() == b"of the other"


def edited(run: Path, **changes: object) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | changes))


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({}, ["--seed", "4"], "--seed: not allowed with --resume"),
        ({}, ["--max-nodes", "4"], "--max-nodes: not allowed with --resume"),
        ({"digest": "0"}, [], "broadcast: changed since the run started; cannot resume"),
        ({"versions": {"python": "2.7"}}, [], "the run started with python 2.7, the installed version is"),
        ({"command": "plan"}, [], "expected a run of `decpomdp learn`, got a run of `decpomdp plan`"),
        ({"settings": {"method": "magic"}}, [], "run.json: Invalid value 'magic'"),
        ({"seed": 5}, [], "the checkpoint belongs to a different run"),
        ({"format": "decpomdp-run/9"}, [], 'format: expected "decpomdp-run/2"'),
    ],
)
def test_a_mistake_is_one_line(run, unfinished, changes, arguments, words):
    edited(unfinished, **changes)
    code, _, err = run("learn", "--resume", unfinished, *arguments)
    assert code == 2
    assert words in err
    assert sum(line.startswith("error: ") for line in err.splitlines()) == 1


def test_folders_that_hold_no_run(run, tmp_path):
    code, _, err = run("learn", "--resume", "nowhere")
    assert (code, err) == (2, "error: nowhere: expected a run folder, got none\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/begun.json").write_text("{}")
    code, _, err = run("learn", "--resume", "old")
    assert code == 2
    assert "a run of version 0.1 cannot be resumed" in err


def test_without_a_checkpoint_the_run_starts_again(run, unfinished):
    (unfinished / STATE).unlink()
    code, out, err = run("learn", "--resume", unfinished, "--quiet", *BARE)
    assert code == 0
    assert "no checkpoint; the run starts from the beginning" in err
    assert "written to" in out


def test_an_interrupt_before_the_saved_result_is_reached_keeps_it(run, tmp_path, whole, monkeypatch):
    folder = shutil.copytree(whole, tmp_path / "run")
    edited(folder, finished=False)
    before = content(folder)
    early = dp.Fit(dp.Team.uniform(dp.load("broadcast")), trace=({"value": 0.0},), stopped="interrupted")
    monkeypatch.setattr("decpomdp.api.execute", lambda *_, **__: early)
    code, _, err = run("learn", "--resume", folder, "--quiet", *BARE)
    assert code == 130
    assert f"no improvement over the saved result; {folder} is unchanged" in err
    assert content(folder) == before


def test_an_unfinished_run_is_not_overwritten(run, unfinished):
    code, _, err = run(*SEARCH, "--out", unfinished)
    assert code == 2
    assert f"got an unfinished run (--resume {unfinished})" in err


def test_a_file_is_found_from_another_folder(run, tmp_path, monkeypatch):
    dp.load("broadcast").save(tmp_path / "mine.dpomdp")
    own = ["learn", "mine.dpomdp", *SEARCH[2:]]
    cut(tmp_path, own)
    monkeypatch.chdir(os.sep)
    assert run("learn", "--resume", tmp_path / "cut", "--quiet", *BARE)[0] == 0
