"""`decpomdp reproduce`: mistakes are one line, an interrupt keeps finished cells."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from decpomdp.cli.experiments import line_of
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.pool import CellProgress


def test_progress_in_words():
    cell = Cell(len, {"problem": "broadcast", "method": "mcem", "seed": 1})
    assert line_of(CellProgress(12, 80, 30, 95.2, 430.4, cell)) == (
        "12/80 cells (30 reused), 95 s, 430 s left: broadcast mcem seed 1"
    )
    assert line_of(CellProgress(0, 0, 5, 0.0, None)) == "0/0 cells (5 reused)"
    assert line_of(CellProgress(0, 54, 0, 10.0, None)) == "0/54 cells (0 reused), 10 s"


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
