"""`--engine dask` of the commands, on real clusters."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from engines.processes import Processes, until

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.io.checkpoints import STATE

pytestmark = pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
LEARN = ("--method", "sbpr", "--truncation", "4", "--sweeps", "14", "--quiet")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    place = tmp_path_factory.mktemp("recorded") / "e.parquet"
    dp.simulate("dectiger", episodes=1000, horizon=6, seed=1).save(place)
    return str(place)


@pytest.fixture(scope="module")
def undisturbed(recorded):
    """The team.json of an undisturbed run on threads."""
    out = Path(recorded).with_name("here")
    assert code_of(["learn", recorded, "--out", str(out), *LEARN]) == 0
    return (out / "team.json").read_bytes()


def ended(group):
    """Whether no process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_lost_scheduler_is_an_error_and_the_run_can_be_resumed(tmp_path, recorded, undisturbed, capsys):
    processes, there = Processes(tmp_path), tmp_path / "there"

    def lose():
        until(lambda: (there / STATE).exists())
        processes.scheduler.kill()

    try:
        where = ["--engine", "dask", "--scheduler", processes.exactly(1)]
        threading.Thread(target=lose).start()
        capsys.readouterr()
        given = ["learn", recorded, "--out", str(there), *LEARN, "--checkpoint-every", "0", *where]
        assert code_of(given) == 2
    finally:
        processes.end()
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("error: ")] == [f"error: {where[-1]}: the scheduler is lost"]
    assert f"to resume: decpomdp learn --resume {there}" in lines
    assert len(lines) == 2
    assert code_of(["learn", "--resume", str(there), "--engine", "threads", "--quiet"]) == 0
    assert (there / "team.json").read_bytes() == undisturbed


def test_workers_that_the_command_starts(tmp_path, capsys, monkeypatch):
    """The same file, byte for byte, and no word of Dask's."""
    given = ["simulate", "broadcast", "--episodes", "3000", "--horizon", "300", "--seed", "2", "--out"]
    assert code_of([*given, str(tmp_path / "here.parquet")]) == 0
    assert code_of([*given, str(tmp_path / "there.parquet"), "--engine", "dask"]) == 0
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()
    assert all(line.endswith(" of 3000 episodes") for line in capsys.readouterr().err.splitlines())  # only ours


def test_the_papers_loop_plays_on_workers(tmp_path):
    """Begun on threads, killed after its first checkpoint, and continued on a cluster: the same team."""
    given = ["learn", "traffic:3", "--iterations", "3", "--seed", "2", "--quiet", "--out"]
    assert code_of([*given, str(tmp_path / "here")]) == 0
    there = tmp_path / "there"
    command = [sys.executable, "-m", "decpomdp", *given, str(there), "--checkpoint-every", "0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    until(lambda: (there / STATE).exists() or process.poll() is not None)
    process.kill()
    process.wait()
    assert not (there / "team.json").exists()
    assert code_of(["learn", "--resume", str(there), "--engine", "dask", "--quiet"]) == 0
    assert (there / "team.json").read_bytes() == (tmp_path / "here/team.json").read_bytes()


def test_what_makes_no_sense_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text(
        "import decpomdp as dp\n\ndef build():\n    return dp.DenseSimulator('broadcast')\n"
    )
    played = ["learn", "mine.py:build", "--method", "sbpr", "--out", "run", "--engine", "dask"]
    for given, told in [
        (played, "--engine dask: workers cannot load mine.py:build"),
        (["simulate", "broadcast", "--scheduler", "tcp://x:1"], "--scheduler: only with --engine dask"),
        (["simulate", "broadcast", "--engine", "mpi"], "--engine: expected one of threads, dask, got 'mpi'"),
        (["simulate", "broadcast", "--engine", "dask", "--scheduler", "x"], "expected the address of a Dask scheduler"),
        (["learn", "broadcast", "--out", "run", "--engine", "dask"], "--engine dask: not supported by search"),
        (
            ["benchmark", "--out", "t", "--jobs", "2", "--engine", "dask", "--scheduler", "tcp://x:1"],
            "--jobs: not with --scheduler",
        ),
        (["reproduce", "table2", "--out", "t", "--scheduler", "tcp://x:1"], "--scheduler: only with --engine dask"),
    ]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("decpomdp.engines.cluster.ANSWER", 0.5)
        assert code_of(given) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert told in lines[0]
        assert list(tmp_path.iterdir()) == [tmp_path / "mine.py"]


@pytest.mark.slow
def test_an_interrupt_at_the_keyboard_keeps_the_best_and_leaves_no_process_behind(tmp_path, recorded):
    """It reaches all processes of the group, workers too."""
    out = tmp_path / "run"
    options = ["--method", "sbpr", "--truncation", "8", "--tolerance", "0", "--quiet", "--checkpoint-every", "0"]
    options += ["--engine", "dask"]
    command = [sys.executable, "-m", "decpomdp", "learn", recorded, "--out", str(out), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until(lambda: (out / STATE).exists())
    os.killpg(process.pid, signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=120)[1]
    assert (out / "team.json").exists()
    until(lambda: ended(process.pid), 60)
