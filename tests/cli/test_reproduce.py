"""`decpomdp reproduce`: mistakes are one line, an interrupt keeps what is finished."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from decpomdp.cli.main import code_of
from decpomdp.cli.reproduce import Shower, told
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.crew import Progress


@pytest.fixture
def said(capsys):
    def call(*arguments):
        code = code_of([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["figure9"],
            "expected one of table2, figure1, figure2, appendix, complexity, robustness or all, got 'figure9'",
        ),
        (["all", "--seeds", "0"], "--seeds"),
        (["all", "--jobs", "0"], "--jobs"),
        ([], "Missing argument"),
    ],
)
def test_mistakes_are_one_line(said, tmp_path, arguments, words):
    code, out, err = said("reproduce", *arguments, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_bad_folder_is_one_line(said, tmp_path):
    (tmp_path / "file").write_text("a file")
    for place, words in (("file", "expected a new, empty or unfinished folder"), ("file/below", "cannot write")):
        code, _, err = said("reproduce", "complexity", "--quick", "--out", tmp_path / place)
        assert code == 2
        assert words in err
        assert len(err.splitlines()) == 1


def test_killed_while_the_mark_was_written(said, tmp_path, monkeypatch):
    from decpomdp.core import InputError
    from decpomdp.io import run_folder

    def begin(*_):
        raise InputError("far enough")

    monkeypatch.setattr(run_folder, "begin", begin)
    (tmp_path / ".decpomdp-0123456789abcdef.part").write_text("half")
    (tmp_path / "below").mkdir()  # a folder of somebody else: nothing is touched
    assert "got another" in said("reproduce", "complexity", "--quick", "--out", tmp_path)[2]
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "below").rmdir()
    assert said("reproduce", "complexity", "--quick", "--out", tmp_path) == (2, "", "error: far enough\n")


def test_progress_is_told():
    cell = Cell("x:y", {"problem": "broadcast", "method": "mcem", "seed": 1})
    assert told(Progress(12, 80, 30, 95.2, 430.4, cell)) == (
        "12/80 cells (30 kept), 95 s, 430 s left: broadcast mcem seed 1"
    )
    assert told(Progress(0, 0, 5, 0.0, None, None)) == "0/0 cells (5 kept)"
    assert told(Progress(0, 54, 0, 10.0, None, None)) == "0/54 cells (0 kept), 10 s"


def lines_until(capsys, count):
    """What is said on standard error, at least so many lines; those that come in time."""
    found, deadline = "", time.monotonic() + 20
    while found.count("\n") < count and time.monotonic() < deadline:
        time.sleep(0.01)
        found += capsys.readouterr().err
    return found.splitlines()


def test_lines_come_while_no_cell_ends(capsys):
    with Shower(every=0.05) as tell:
        tell(Progress(0, 54, 0, 30.0, None, None))
        first = lines_until(capsys, 3)
        assert set(first) <= {f"0/54 cells (0 kept), {second} s" for second in range(30, 51)}
        assert len(first) >= 3
        tell(Progress(5, 54, 0, 50.0, 1000.2, None))
        later = [line for line in lines_until(capsys, 30) if line.startswith("5/54")]  # a second and a half
        assert later[-1] != later[0]  # the clock goes on
        assert all("s left" in line for line in later)
        tell(Progress(53, 54, 0, 90.0, 0.1, None))
        assert any(line == "53/54 cells (0 kept), 90 s" for line in lines_until(capsys, 5))  # took longer than foretold
        tell(Progress(54, 54, 0, 91.0, 0.0, None))
        capsys.readouterr()
        time.sleep(0.3)
        assert capsys.readouterr().err == ""  # all are done
    assert not tell.clock.is_alive()


def test_few_lines_where_no_terminal_looks_on(capsys):
    with Shower() as tell:
        for done in range(101):
            tell(Progress(done, 100, 0, done / 100, None, None))
    assert len(capsys.readouterr().err.splitlines()) == 2  # the first and the last


@pytest.mark.skipif(os.name != "posix", reason="interrupts are sent as signals")
def test_an_interrupt_keeps_what_is_finished(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "decpomdp.cli.start", "reproduce", "complexity", "--quick", "--jobs", "1"]
    with subprocess.Popen(
        [*command, "--out", out], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not list(out.glob("cells/*.json")):
            assert process.poll() is None
            time.sleep(0.02)  # the process needs the processor more
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does
        err = process.stderr.read()
    assert process.returncode == 130
    assert "the same command goes on from there" in err
    assert "Traceback" not in err
    kept = list(out.glob("cells/*.json"))
    assert all(json.loads(path.read_bytes())["result"]["whole_seconds"] > 0 for path in kept)
    assert not list(out.rglob("*.part"))
    again = [*command[:4], "--resume", out]
    with subprocess.Popen(again, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        while len(list(out.glob("cells/*.json"))) <= len(kept):
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    assert (out / "begun.json").exists()  # it can go on once more
    (out / "begun.json").unlink()  # as it is at the end
    over = subprocess.run(again, capture_output=True, text=True, check=False)
    assert over.returncode == 0
    assert "the run is finished; nothing was done" in over.stdout + over.stderr


def test_what_goes_on_is_the_folder_that_was_named(said, tmp_path, monkeypatch):
    """Somebody else's begun.json may name any other one."""
    from decpomdp.core import InputError
    from decpomdp.experiments import reproduction
    from decpomdp.io import run_folder

    opened = []

    def open_folder(folder):
        opened.append(folder)
        raise InputError("far enough")

    (tmp_path / "cells").mkdir()
    run_folder.begin(tmp_path, ["reproduce", "table2", "--quick", "--out", "/somewhere/else"])
    monkeypatch.setattr(reproduction, "open_folder", open_folder)
    monkeypatch.chdir(tmp_path)
    assert said("reproduce", "--resume", tmp_path)[0] == 2
    assert opened == [tmp_path]
