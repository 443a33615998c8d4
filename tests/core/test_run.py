"""The driver, with a toy method: limits, callbacks, signals, kills and checkpoints."""

import itertools
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import toy_method
from toy_method import Climb, digest

from decpomdp.core import FormatError
from decpomdp.core.progress import Progress
from decpomdp.core.run import Budget, Now, Spent, run, warm_up
from decpomdp.io.checkpoints import STATE, TRACE, CheckpointFolder, decode, encode

TARGET = np.linspace(-1, 1, 8)


@pytest.mark.parametrize(
    ("budget", "stopped"),
    [
        (Budget(iterations=20), "iterations"),
        (Budget(steps=2000), "steps"),
        (Budget(seconds=0.2), "time limit"),
        (Budget(cpu_seconds=0.05), "processor time"),
        (Budget(), "converged"),
        (Budget(iterations=10**9, steps=700), "steps"),
    ],
)
def test_why_a_run_stops(budget, stopped):
    method = Climb(TARGET, patience=50 if stopped == "converged" else 10**9)
    fit, spent = run(method, budget)
    assert fit.stopped == stopped
    assert spent.iterations > 0
    assert fit.seconds == spent.seconds


def test_limits_of_counts_are_met_exactly():
    assert run(Climb(TARGET), Budget(iterations=20)).spent.iterations == 20
    assert run(Climb(TARGET), Budget(steps=2000)).spent.steps == 2000


def test_no_time_at_all_gives_the_initial_team():
    fit = run(Climb(TARGET), Budget(seconds=0)).fit
    assert fit.stopped == "time limit"
    assert fit.trace == ()


def test_a_callback_ends_the_run_by_returning_true():
    rows = []
    fit = run(Climb(TARGET), Budget(iterations=10**6), watch=lambda row: rows.append(row) or len(rows) == 3).fit
    assert fit.stopped == "callback"
    assert list(fit.trace) == rows
    assert len(rows) == 3


def test_an_error_of_a_step_or_of_a_callback_reaches_the_caller():
    def fail(row):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(Climb(TARGET), Budget(iterations=3), watch=fail)


def test_a_step_that_is_cut_leaves_the_state_before_it():
    began = time.monotonic()
    fit, spent = run(Climb(TARGET, pause=30.0), Budget(seconds=0.2))
    assert time.monotonic() - began < 5
    assert (fit.stopped, spent.iterations) == ("time limit", 0)


def test_steps_know_what_is_left_and_nothing_else():
    seen: list[Now] = []

    class Looking(Climb):
        def step(self, state, now):
            seen.append(now)
            return super().step(state, now)

    run(Looking(TARGET), Budget(iterations=4, steps=1000))
    assert [now.iterations for now in seen] == [4, 3, 2, 1]
    assert [now.steps for now in seen] == [1000, 900, 800, 700]
    assert [now.progress for now in seen] == [0, 0.25, 0.5, 0.75]
    assert all(now.seconds == np.inf for now in seen)


@pytest.mark.parametrize("limit", ["seconds", "cpu_seconds"])
def test_compiling_does_not_count_as_time(limit):
    class Slow(Climb):
        compiled = False

        def toy(self):
            type(self).compiled = True
            return Climb(np.zeros(1), 1, pause=0.3)

    assert run(Slow(TARGET), Budget(iterations=1)).fit.stopped == "iterations"
    assert not Slow.compiled  # nothing is timed
    fit = run(Slow(TARGET), Budget(**{limit: 0.2})).fit
    assert Slow.compiled

    fit = run(Slow(TARGET), Budget(seconds=0.2)).fit
    assert limit != "seconds" or 0.2 <= fit.seconds < 0.5


@pytest.mark.parametrize("budget", [Budget(iterations=3), Budget(seconds=0.4)])
def test_compiling_is_shown_first_and_the_elapsed_time_never_decreases(budget):
    class Slow(Climb):
        def toy(self):
            return Climb(np.zeros(1), 1, pause=0.2)

    class Recorded:
        def __init__(self):
            self.shown = []  # seconds, phase

        def __call__(self, row):
            self.shown.append((row["seconds"], ""))

        def tick(self, seconds, phase):
            self.shown.append((round(seconds, 3), phase))

    display = Recorded()
    fit = run(Slow(TARGET, pause=0.1), budget, display=display).fit
    seconds, phases = zip(*display.shown, strict=True)
    assert list(seconds) == sorted(seconds)
    assert seconds[-1] <= round(fit.seconds, 3)
    compiling = phases.count("compiling")
    assert compiling > 0
    assert set(phases[:compiling]) == {"compiling"}
    assert set(phases[compiling:]) <= {"", "stopping"}
    assert seconds[:compiling] == (0.0,) * compiling


def test_a_run_that_is_stopped_while_compiling_does_not_compile_the_rest():
    class Counted(Climb):
        steps = 0

        def step(self, state, now):
            stop[0] = 1  # as a signal does
            Counted.steps += 1
            return super().step(state, now)

    stop = np.zeros(1, np.int64)
    warm_up([Counted(TARGET), Counted(TARGET)], stop)
    assert Counted.steps == 1


def test_a_display_does_not_change_the_result():
    shown = run(Climb(TARGET), Budget(iterations=20), display=Progress()).fit
    assert digest(shown) == digest(run(Climb(TARGET), Budget(iterations=20)).fit)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_arrays_of_a_state_keep_their_values_and_their_memory_order(axes):
    array = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
    again = decode(encode(array), np.ndarray)
    assert np.array_equal(again, array)
    assert again.strides == array.strides


class Killed(Exception):
    pass


@pytest.mark.parametrize("moment", [1, 2, 7, 39])
def test_resuming_gives_the_same_result(tmp_path, moment):
    whole = run(Climb(TARGET), Budget(iterations=40)).fit
    rows = 0

    def kill(row):
        nonlocal rows
        rows += 1
        if row["iteration"] >= moment:
            raise Killed

    with pytest.raises(Killed):
        run(Climb(TARGET), Budget(iterations=40), checkpoint=CheckpointFolder(tmp_path, "x", every=0), watch=kill)
    cut = run(Climb(TARGET), Budget(iterations=40), checkpoint=CheckpointFolder(tmp_path, "x", every=0)).fit
    assert digest(cut) == digest(whole)
    assert (cut.stopped, len(cut.trace)) == (whole.stopped, len(whole.trace))


def test_rows_written_after_the_last_checkpoint_are_dropped(tmp_path):
    """As a kill between the two files leaves them."""
    whole = run(Climb(TARGET), Budget(iterations=20)).fit
    folder = CheckpointFolder(tmp_path, "x", every=0)
    with pytest.raises(Killed):
        run(Climb(TARGET), Budget(iterations=20), checkpoint=folder, watch=_kill_at_seven)
    with (tmp_path / TRACE).open("a") as file:
        file.write((tmp_path / TRACE).read_text().splitlines()[-1] + "\n")
    cut = run(Climb(TARGET), Budget(iterations=20), checkpoint=CheckpointFolder(tmp_path, "x", every=0)).fit
    assert [row["iteration"] for row in cut.trace] == [row["iteration"] for row in whole.trace]


def _kill_at_seven(row):
    if row["iteration"] >= 7:
        raise Killed


def test_a_resumed_run_counts_what_was_spent_before(tmp_path):
    folder = CheckpointFolder(tmp_path, "x")
    state = Climb(TARGET).init(None)
    folder.save(state, Spent(5.0, 4.0, 0, 0), [])
    fit, spent = run(Climb(TARGET), Budget(iterations=2), checkpoint=CheckpointFolder(tmp_path, "x"))
    assert 5.0 <= fit.seconds < 6.0
    assert 4.0 <= spent.cpu_seconds < 5.0


def test_checkpoints_of_other_runs_and_damaged_ones_are_refused(tmp_path):
    run(Climb(TARGET), Budget(iterations=5), checkpoint=CheckpointFolder(tmp_path, "x", every=0))
    with pytest.raises(FormatError, match="belongs to a different run"):
        run(Climb(TARGET), Budget(iterations=5), checkpoint=CheckpointFolder(tmp_path, "y"))
    data = (tmp_path / STATE).read_bytes()
    (tmp_path / STATE).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(FormatError, match="checksum mismatch"):
        CheckpointFolder(tmp_path, "x").load(toy_method.ClimbState)
    (tmp_path / STATE).write_bytes(b"something else")
    with pytest.raises(FormatError, match="not a checkpoint"):
        CheckpointFolder(tmp_path, "x").load(toy_method.ClimbState)


def test_a_trace_that_is_shorter_than_its_checkpoint_is_refused(tmp_path):
    run(Climb(TARGET), Budget(iterations=9), checkpoint=CheckpointFolder(tmp_path, "x", every=0))
    (tmp_path / TRACE).write_text("")
    with pytest.raises(FormatError, match=r"expected \d+ rows, got 0"):
        CheckpointFolder(tmp_path, "x").load(toy_method.ClimbState)


def test_rows_left_by_a_run_without_a_checkpoint_are_replaced(tmp_path):
    (tmp_path / TRACE).write_text('{"value": 9.0}\n')
    CheckpointFolder(tmp_path, "x").save(Climb(TARGET).init(None), Spent(), [{"value": 1.0}])
    assert CheckpointFolder(tmp_path, "x").load(toy_method.ClimbState)[2] == [{"value": 1.0}]


def test_a_finished_run_can_be_cleared(tmp_path):
    folder = CheckpointFolder(tmp_path, "x", every=0)
    run(Climb(TARGET), Budget(iterations=5), checkpoint=folder)
    folder.clear()
    assert list(tmp_path.iterdir()) == []


def started(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, toy_method.__file__, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@pytest.fixture(scope="module")
def uncut(tmp_path_factory):
    """The output of a process that is not killed."""
    return started(tmp_path_factory.mktemp("uncut")).communicate()[0]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_kills_of_a_process(tmp_path, uncut, number):
    expected, chance = uncut, random.Random(int(number))
    state, kills = tmp_path / "cut" / STATE, 0
    for _ in range(3):
        with started(tmp_path / "cut") as process:
            last = state.stat().st_mtime_ns if state.exists() else 0
            while process.poll() is None and (not state.exists() or state.stat().st_mtime_ns == last):
                time.sleep(0.002)
            time.sleep(0.1 * chance.random())
            kills += process.poll() is None
            process.send_signal(number)
            said = process.communicate()[0]
            assert not said or said == expected or "interrupted" in said or "terminated" in said
    assert kills > 1
    assert started(tmp_path / "cut").communicate()[0] == expected


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_second_interrupt_does_not_wait_for_the_step(tmp_path):
    code = (
        "import time, sys; sys.argv = ['toy', sys.argv[1]]\n"
        "import toy_method\n"
        "toy_method.Climb.step = lambda *_: print('in', flush=True) or time.sleep(60)\n"
        "from decpomdp.core.run import Budget, run\n"
        "import os, numpy as np\n"
        "try:\n"
        "    run(toy_method.Climb(np.zeros(2)), Budget())\n"
        "except KeyboardInterrupt:\n"
        "    os._exit(130)\n"
    )
    here, own = Path(__file__).parent, [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(own, cwd=here, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(2.0) == 130
