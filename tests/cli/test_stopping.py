"""Ctrl-C twice, and once for `benchmark`, sent to real processes (once for the others: in the tests of each)."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import decpomdp as dp

COMMAND = [sys.executable, "-m", "decpomdp.cli.start"]
PLAN = ["plan", "gridsmall", "--method", "em", "--nodes", "5", "--seed", "1", "--time-limit", "300", "--out", "out"]
TABLES = {
    "reproduce": ["reproduce", "table2", "--quick", "--jobs", "1", "--out", "out"],
    "benchmark": [
        "benchmark",
        "--problems",
        "broadcast,recycling",
        "--seeds",
        "50",
        "--steps",
        "20000",
        "--out",
        "out",
    ],
}


def interrupted(folder, arguments, begun, times):
    """Run until begun(); then so many interrupts: exit code and standard error."""
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        end = time.monotonic() + 200
        while not begun():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)
        for _ in range(times):
            if process.poll() is not None:
                break
            os.killpg(process.pid, signal.SIGINT)  # as the terminal does
            time.sleep(0.2)
        _, err = process.communicate(timeout=200)
    assert "Traceback" not in err
    return process.returncode, err


def test_a_plan_keeps_the_best_so_far(tmp_path):
    often = [*PLAN, "--checkpoint-every", "0.05"]
    code, _ = interrupted(tmp_path, often, lambda: list((tmp_path / "out").glob("checkpoint*")), 2)
    assert code in (0, 130)  # 0: the second came when all was done
    assert dp.read_team(tmp_path / "out/team.json").problem == "gridsmall"
    assert json.loads((tmp_path / "out/run.json").read_text())["stopped"] == "interrupted"


@pytest.mark.slow
def test_two_interrupts_end_everything_at_once(monkeypatch):
    """Every learner, every planner and both tables: see `benchmarks/reliability_stops.py`."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    import reliability_stops

    with tempfile.TemporaryDirectory() as folder:
        logged = dp.simulate("dectiger", "random", episodes=3000, horizon=6, seed=1)
        dp.write_episodes(logged, Path(folder) / "e.parquet")
        for name in reliability_stops.LONG:
            seen = reliability_stops.stopped(Path(folder), name, 1, random.Random(1))
            assert seen.different == 0, name
            assert seen.seconds < 5, name  # a busy machine


@pytest.mark.parametrize(("name", "times"), [("reproduce", 2), ("benchmark", 1), ("benchmark", 2)])
def test_a_table_keeps_every_finished_cell(tmp_path, name, times):
    def cells():
        return sorted(path for path in (tmp_path / "out").rglob("*.json") if path.stat().st_size)

    code, _ = interrupted(tmp_path, TABLES[name], cells, times)
    assert code == 130
    for path in cells():  # nothing half written
        json.loads(path.read_text())
    assert not list((tmp_path / "out").rglob("*.tmp"))


@pytest.mark.skipif(os.name != "posix", reason="interrupts are sent as signals")
@pytest.mark.parametrize("quiet", [["--quiet"], []])
def test_nobody_looks_on_any_more(tmp_path, quiet):
    """Standard error is a pipe whose reader has gone, as with `| tee log` and Ctrl-C: the best so far is saved."""
    logged = dp.simulate("dectiger", "random", episodes=100, horizon=6, seed=1)
    dp.write_episodes(logged, tmp_path / "e.parquet")
    learn = ["learn", "e.parquet", "--tolerance", "0", "--sweeps", "100000", "--out", "out", *quiet]
    with subprocess.Popen(
        [*COMMAND, *learn], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        log = tmp_path / "out" / "log.txt"
        while not (log.exists() and log.read_text().count("\n") > 1):
            assert process.poll() is None
            time.sleep(0.05)
        process.stderr.close()
        process.stdout.close()
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=200)
    assert dp.read_team(tmp_path / "out" / "team.json").nodes
