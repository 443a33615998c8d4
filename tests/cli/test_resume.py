"""Real processes, killed for good and continued: the team is the one of a run that nobody disturbed, byte for byte."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

import decpomdp as dp
from decpomdp.io.checkpoints import NAMES
from decpomdp.io.run_folder import BEGUN, begin, finish, locked

COMMAND = [sys.executable, "-m", "decpomdp.cli.start"]
OFTEN = ["--checkpoint-every", "0.05", "--quiet"]
SEARCH = ["learn", "dectiger", "--steps", "8000000", "--seed", "1"]
SHORT = ["learn", "broadcast", "--steps", "4000000"]  # six rows, soon


@cache
def searched():
    """What several tests compare with, computed once."""
    return dp.learn("dectiger", steps=8_000_000, seed=1)


RUNS = {
    "search": (SEARCH, lambda _: searched()),
    "episodes": (
        ["learn", "e.parquet", "--truncation", "12", "--sweeps", "40", "--cap", "10"],
        lambda folder: dp.learn(folder / "e.parquet", settings=dp.LearnSettings(truncation=12, sweeps=40, cap=10.0)),
    ),
    "sbpr": (
        ["learn", "dectiger", "--method", "sbpr", "--iterations", "30", "--seed", "1"],
        lambda _: dp.learn("dectiger", "sbpr", iterations=30, seed=1),
    ),
    "em": (
        ["plan", "dectiger", "--method", "em", "--nodes", "3", "--seed", "1"],
        lambda _: dp.plan("dectiger", "em", nodes=3, seed=1),
    ),
}


def whole(name, folder):
    """The team.json of a run that nobody disturbed."""
    dp.write_team(RUNS[name][1](folder).team, folder / "whole.json")
    return (folder / "whole.json").read_bytes()


def start(folder, *arguments):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def kept(run):
    """When the checkpoints were written."""
    return [path.stat().st_mtime_ns for path in (run / name for name in NAMES) if path.exists()]


def newer(process, run, before):
    """Wait for a checkpoint that was not there `before`; whether the process is still at work."""
    while process.poll() is None and kept(run) == before:
        time.sleep(0.01)
    return process.poll() is None


def killed(folder, *arguments):
    """Run until there is a new checkpoint and a little more, then kill; whether it came to that."""
    run, before = folder / "cut", kept(folder / "cut")
    with start(folder, *arguments) as process:
        alive = newer(process, run, before)
        time.sleep(random.Random(len(before)).uniform(0, 0.3))
        process.kill()
    return alive


def ended(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("sbpr", "em")]


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("name", ["search", "episodes", *SLOW])
def test_killed_and_continued(run, tmp_path, name):
    if name == "episodes":
        model = dp.load("dectiger")
        dp.write_episodes(dp.simulate(model, dp.Team.uniform(model), 4000, 10, seed=1), tmp_path / "e.parquet")
    arguments, _ = RUNS[name]
    assert killed(tmp_path, *arguments, "--out", "cut", *OFTEN)
    assert (tmp_path / "cut" / BEGUN).exists()
    killed(tmp_path, arguments[0], "--resume", "cut", "--quiet")
    assert run(arguments[0], "--resume", "cut", "--json")[0] == 0
    assert (tmp_path / "cut/team.json").read_bytes() == whole(name, tmp_path)
    left = {"team.json", "trace.parquet", "run.json", "log.txt", "report.html"}
    assert {path.name for path in (tmp_path / "cut").iterdir()} - {"team-decided.json"} == left
    before = {path.name: path.read_bytes() for path in (tmp_path / "cut").iterdir()}
    for name in (*NAMES, ".lock"):  # what is left by a kill while checkpoints are removed
        (tmp_path / "cut" / name).write_bytes(b"left")
    assert run(arguments[0], "--resume", "cut") == (
        0,
        "",
        f"{tmp_path}/cut: the run is finished; nothing was done\n",
    )
    assert {path.name: path.read_bytes() for path in (tmp_path / "cut").iterdir()} == before


@pytest.fixture(scope="module")
def killed_once(tmp_path_factory):
    """A run that was killed, with a checkpoint: for all tests that need one, which copy it."""
    folder = tmp_path_factory.mktemp("killed")
    assert killed(folder, *SEARCH, "--out", "cut", *OFTEN)
    return folder / "cut"


@pytest.fixture
def unfinished(killed_once, tmp_path):
    """A copy of it."""
    return shutil.copytree(killed_once, tmp_path / "cut")


@pytest.mark.filterwarnings("default:.*is damaged")
def test_damaged_checkpoints_and_moved_folders(run, unfinished, tmp_path):
    for name in NAMES:
        (unfinished / name).write_bytes(b"nothing")
    os.rename(unfinished, tmp_path / "moved")
    code, _, err = run("learn", "--quiet", "--resume=moved")
    assert code == 0
    assert err.count("no other is whole, so the work begins again") == 2
    assert "is damaged" in (tmp_path / "moved/log.txt").read_text()
    assert (tmp_path / "moved/team.json").read_bytes() == whole("search", tmp_path)


def test_checkpoints_of_other_work_are_refused_in_one_line(run, unfinished, tmp_path):
    from decpomdp.io.checkpoints import Checkpoints

    for name in NAMES:
        (unfinished / name).unlink(missing_ok=True)
    Checkpoints(unfinished, "other work").write({"nothing": 1})
    code, _, err = run("learn", "--quiet", "--resume", "cut")
    expected = "expected checkpoints of this work, got those of other work"
    assert (code, err) == (2, f"error: {unfinished}: {expected}\n")


def test_a_second_process_is_refused(run, unfinished, tmp_path):
    with start(tmp_path, "learn", "--resume", "cut", "--quiet") as first:
        newer(first, unfinished, kept(unfinished))
        code, out, err = run("learn", "--resume", "cut")
        assert (code, out, err) == (2, "", f"error: {unfinished}: another process is writing to this run\n")
        first.kill()
    code, _, err = run(*SEARCH, "--out", "cut")
    assert (code, err) == (2, "error: cut: expected a new or empty folder, got an unfinished run (--resume cut)\n")


def test_an_interrupted_run_goes_on(run, tmp_path):
    process = start(tmp_path, *SEARCH, "--out", "cut", *OFTEN)
    newer(process, tmp_path / "cut", [])
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert json.loads((tmp_path / "cut/run.json").read_text())["stopped"] == "interrupted"
    assert (code, err) == (0, "to go on: decpomdp learn --resume cut\n")
    assert run("learn", "--resume", "cut", "--quiet")[0] == 0
    assert json.loads((tmp_path / "cut/run.json").read_text())["stopped"] == "steps"
    assert (tmp_path / "cut/team.json").read_bytes() == whole("search", tmp_path)
    assert not (tmp_path / "cut" / BEGUN).exists()


def begun(run, **changes):
    told = json.loads((run / BEGUN).read_text())
    (run / BEGUN).write_text(json.dumps({**told, **changes}))


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({}, ["learn", "--resume", "nowhere"], "expected the folder of a run, got none"),
        ({}, ["learn", "--resume", "."], "expected the folder of a run, got another"),
        ({}, ["plan", "--resume", "cut"], "expected a run of `decpomdp plan`, got another command's"),
        (
            {},
            ["learn", "--resume", "cut", "--seed", "3"],
            "expected nothing beside it but --quiet, --json, --engine, --scheduler, got --seed",
        ),
        (
            {},
            ["plan", "--resume", "cut", "--engine", "dask"],
            "expected nothing beside it but --quiet, --json, got --engine",
        ),
        (
            {},
            ["reproduce", "--resume", "cut", "--quiet"],
            "expected nothing beside it but --json, --engine, --scheduler, got --quiet",
        ),
        ({}, ["learn", "--resume"], "expected the folder of a run, got none"),
        ({"versions": {}}, ["learn", "--resume", "cut"], "the run began with python another version"),
        ({"files": {"gone": ""}}, ["learn", "--resume", "cut"], "the run needs this file, and it is gone"),
        (
            {"folder": "/nowhere/at/all", "files": {"x": "0"}},
            ["learn", "--resume", "cut"],
            "/nowhere/at/all/x: the run needs this file, and it is gone",
        ),
        ({"arguments": ["learn", "dectiger", "--help"]}, ["learn", "--resume", "cut"], "got a call for help"),
        ({"format": "decpomdp-begun/9"}, ["learn", "--resume", "cut"], "format: expected"),
    ],
)
def test_a_mistake_is_one_line(run, tmp_path, changes, arguments, words):
    from decpomdp.io.run_folder import begin

    (tmp_path / "cut").mkdir()
    begin(tmp_path / "cut", SEARCH)
    begun(tmp_path / "cut", **changes)
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_help_knows_it(run):
    assert "--resume" in run("learn", "--help")[1]
    assert "--engine" in run("reproduce", "--help")[1]
    told = run("plan", "--resume", "x", "--help")[1]
    assert "--resume" in told
    assert "--engine" not in told


def test_without_a_checkpoint_it_begins_again(run, tmp_path):
    from decpomdp.io.run_folder import begin

    (tmp_path / "cut").mkdir()
    begin(tmp_path / "cut", ["plan", "dectiger", "--method", "pbvi", "--out", "cut"])
    code, _, err = run("plan", "--resume", "cut", "--quiet")
    assert (code, err) == (0, f"{tmp_path}/cut: there is no checkpoint, so the run begins again\n")


def test_a_run_that_another_process_finishes_at_this_moment(run, tmp_path, monkeypatch):
    """After the look at what it was asked to do, and before the lock."""
    whole = ["plan", "dectiger", "--method", "em", "--nodes", "1", "--quiet", "--out", "r"]
    assert run(*whole)[0] == 0
    begin(tmp_path / "r", whole)

    def late(folder):
        finish(folder)
        return locked(folder)

    monkeypatch.setattr("decpomdp.io.run_folder.locked", late)
    before = sorted((path.name, path.read_bytes()) for path in (tmp_path / "r").iterdir() if path.name != BEGUN)
    code, out, err = run("plan", "--resume", "r")
    assert (code, out, err) == (0, "", f"{tmp_path}/r: the run is finished; nothing was done\n")
    assert sorted((path.name, path.read_bytes()) for path in (tmp_path / "r").iterdir()) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
def test_a_run_that_began_with_a_pipe_cannot_go_on(run, tmp_path):
    """What came through it cannot be compared with what would come now."""
    from decpomdp.io.run_folder import begin

    os.mkfifo(tmp_path / "x.dpomdp")
    (tmp_path / "cut").mkdir()
    begin(tmp_path / "cut", ["plan", "x.dpomdp", "--method", "pbvi", "--out", "cut"])
    code, _, err = run("plan", "--resume", "cut", "--quiet")
    assert code == 2
    assert "x.dpomdp: the run began with a pipe, which cannot be compared" in err


@pytest.fixture
def interrupted_after(monkeypatch):
    def interrupted(rows):
        def shown(self, row):
            self.rows = getattr(self, "rows", 0) + ("working" not in row.values())  # a sign of life is not kept
            if self.rows == rows:
                raise KeyboardInterrupt

        monkeypatch.setattr("decpomdp.cli.progress.Progress.__call__", shown)

    return interrupted


@pytest.mark.parametrize("rows", [1, 3])
def test_an_interrupt_after_a_kill_between_two_files(run, tmp_path, interrupted_after, rows):
    """There is a team and no record of it: what has come as far is saved, and nothing worse."""
    interrupted_after(3)
    run(*SHORT, "--out", "r", "--quiet", "--checkpoint-every", 1000)
    (tmp_path / "r/run.json").unlink()
    before = (tmp_path / "r/trace.parquet").read_bytes()
    interrupted_after(rows)
    code, _, err = run("learn", "--resume", "r", "--quiet")
    assert "error: r" not in err
    assert ("keeps the team that it had" in err) == (rows == 1)
    assert code == (130 if rows == 1 else 0)
    assert (tmp_path / "r/run.json").exists() == (rows == 3)
    assert ((tmp_path / "r/trace.parquet").read_bytes() == before) == (rows == 1)


def test_the_folder_of_the_command_need_not_be_there_any_more(run, tmp_path, monkeypatch):
    """Unless the run needs a file that was in it. A number is no file, whatever files there are."""
    (tmp_path / "away").mkdir()
    (tmp_path / "away/1").write_text("x")
    monkeypatch.chdir(tmp_path / "away")
    given = ["learn", "broadcast", "--steps", "100000", "--seed", "1", "--out", str(tmp_path / "r")]
    (tmp_path / "r").mkdir()
    begin(tmp_path / "r", given)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "away/1").unlink()
    (tmp_path / "away").rmdir()
    assert run("learn", "--resume", "r", "--quiet")[0] == 0
    assert run("learn", *given[1:-1], "again", "--quiet")[0] == 0
    assert (tmp_path / "r/team.json").read_bytes() == (tmp_path / "again/team.json").read_bytes()


def test_a_run_at_work_makes_its_page_itself(run, tmp_path):
    run("learn", "broadcast", "--steps", "100000", "--out", "r", "--quiet")
    page = (tmp_path / "r/report.html").read_bytes()
    with locked(tmp_path / "r"):
        code, _, err = run("report", "r")
        assert (code, err) == (2, "error: r: another process is writing to this run\n")
        assert (tmp_path / "r/report.html").read_bytes() == page
        (tmp_path / "linked.html").symlink_to("r/report.html")
        for out in ("r/report.html", "../" + tmp_path.name + "/r/report.html", "linked.html"):
            code, _, err = run("report", "r", "--out", out)
            assert (code, err) == (2, "error: r: another process is writing to this run\n")
            assert (tmp_path / "r/report.html").read_bytes() == page
        assert run("report", "r", "--out", "elsewhere.html")[0] == 0
    assert run("report", "r")[0] == 0
    assert run("report", "r", "--out", "linked.html")[:2] == (0, "written to linked.html\n")


def test_checkpoints_without_end_apart(run):
    code, _, err = run("learn", "broadcast", "--steps", "100000", "--out", "r", "--checkpoint-every", "1e400")
    assert code == 2
    assert err == "error: --checkpoint-every: expected a number from 0 to 1e+09, got inf\n"


def test_a_second_interrupt_keeps_what_the_first_one_left(run, tmp_path, interrupted_after):
    """A run without a checkpoint begins again: interrupted at once, it has less than it had before."""
    interrupted_after(4)
    run(*SHORT, "--out", "r", "--quiet", "--checkpoint-every", 1000)
    told = {name: (tmp_path / "r" / name).read_bytes() for name in ("team.json", "run.json", "trace.parquet")}
    interrupted_after(2)
    code, _, err = run("learn", "--resume", "r", "--quiet")
    assert code == 130
    assert "keeps the team that it had" in err
    assert f"to begin again: decpomdp learn --resume {tmp_path}/r" in err
    assert {name: (tmp_path / "r" / name).read_bytes() for name in told} == told
    interrupted_after(5)
    assert "keeps the team" not in run("learn", "--resume", "r", "--quiet")[2]
    assert (tmp_path / "r/trace.parquet").read_bytes() != told["trace.parquet"]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def filled(disk):
    """Use up all that is left."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


def test_a_full_disk_and_a_read_only_one(run, small_disk, tmp_path):
    cut = small_disk / "cut"
    with start(tmp_path, *SEARCH, "--out", cut, *OFTEN) as process:
        assert newer(process, cut, [])
        filler = filled(small_disk)
        code, _, err = ended(process)
    assert code == 2
    assert "No space left on device" in err
    assert err.count("\n") == 2
    assert f"to go on: decpomdp learn --resume {cut}" in err
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    code, _, err = run("learn", "--resume", cut)
    assert (code, err) == (2, f"error: cannot write {cut}/.lock: Read-only file system\n")
    code, _, err = run(*SEARCH, "--out", small_disk / "new")
    assert (code, err) == (2, f"error: cannot write {small_disk}/new: Read-only file system\n")
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    filler.unlink()
    assert kept(cut)
    assert run("learn", "--resume", cut, "--quiet")[0] == 0
    assert (cut / "team.json").read_bytes() == whole("search", tmp_path)


@pytest.mark.slow
def test_fifty_kills(tmp_path):
    script = Path(__file__).resolve().parents[2] / "benchmarks/reliability.py"
    done = subprocess.run([sys.executable, script, "--kills", "50"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
