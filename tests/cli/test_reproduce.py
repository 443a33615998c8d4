"""`decpomdp reproduce`: mistakes are one line, an interrupt keeps finished cells."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from decpomdp.cli.main import code_of
from decpomdp.cli.reproduce import Display, line_of
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.pool import Progress


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
def test_mistakes_are_one_line(capsys, tmp_path, arguments, words):
    assert code_of(["reproduce", *arguments, "--out", str(tmp_path / "out")]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert words in output.err
    assert len(output.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_bad_folder_is_one_line(capsys, tmp_path):
    (tmp_path / "file").write_text("a file")
    for place, words in (("file", "got a file"), ("file/below", "cannot write")):
        assert code_of(["reproduce", "complexity", "--quick", "--out", str(tmp_path / place)]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert len(err.splitlines()) == 1


def test_progress_in_words():
    cell = Cell("x:y", {"problem": "broadcast", "method": "mcem", "seed": 1})
    assert line_of(Progress(12, 80, 30, 95.2, 430.4, cell)) == (
        "12/80 cells (30 reused), 95 s, 430 s left: broadcast mcem seed 1"
    )
    assert line_of(Progress(0, 0, 5, 0.0, None)) == "0/0 cells (5 reused)"
    assert line_of(Progress(0, 54, 0, 10.0, None)) == "0/54 cells (0 reused), 10 s"


def test_few_lines_without_a_terminal(capsys):
    tell = Display()
    for done in range(101):
        tell(Progress(done, 100, 0, done / 100, None))
    assert len(capsys.readouterr().err.splitlines()) == 2  # the first and the last


@pytest.mark.skipif(os.name != "posix", reason="interrupts are sent as signals")
def test_an_interrupt_keeps_finished_cells(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "decpomdp", "reproduce", "complexity", "--quick", "--jobs", "1", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not list(out.glob("cells/*.json")):
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does
        err = process.stderr.read()
    assert process.returncode == 130
    assert "run the same command again to continue" in err
    assert "Traceback" not in err
    kept = list(out.glob("cells/*.json"))
    assert all(json.loads(path.read_bytes())["result"]["whole_seconds"] > 0 for path in kept)
    assert not list(out.rglob("*.part"))
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        while len(list(out.glob("cells/*.json"))) <= len(kept):
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
