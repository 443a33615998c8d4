"""Ctrl-C and polite kills, sent to real processes: what was learned is on disk, whenever they come."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import decpomdp as dp
from decpomdp.cli.interrupts import Interrupts

LEARN = [sys.executable, "-m", "decpomdp.cli.start", "learn", "dectiger", "--time-limit", "100", "--out", "r"]


@pytest.fixture
def learning(tmp_path):
    """A process that has begun to learn."""
    with subprocess.Popen(LEARN, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stderr.readline()  # the first line of progress
        time.sleep(0.5)
        yield process
        process.kill()


def test_a_polite_kill_keeps_the_best_so_far(learning, tmp_path):
    learning.terminate()
    learning.communicate(timeout=120)
    assert learning.returncode == 143
    assert json.loads((tmp_path / "r/run.json").read_text())["stopped"] == "interrupted"
    assert json.loads((tmp_path / "r/run.json").read_text())["value"]["method"].startswith("exact")
    assert (tmp_path / "r/report.html").exists()


@pytest.mark.parametrize("pause", [0.0, pytest.param(0.02, marks=pytest.mark.slow), 0.3])
def test_two_interrupts_leave_the_team(learning, tmp_path, pause):
    learning.send_signal(signal.SIGINT)
    time.sleep(pause)
    learning.send_signal(signal.SIGINT)
    _, err = learning.communicate(timeout=120)
    assert "Traceback" not in err
    assert dp.read_team(tmp_path / "r/team.json").problem == "dectiger"
    assert json.loads((tmp_path / "r/run.json").read_text())["stopped"] == "interrupted"
    assert "stopped: interrupted" in (tmp_path / "r/log.txt").read_text()


def test_an_interrupt_while_the_command_is_starting_is_silent(tmp_path):
    for pause in (0.05, 0.15):
        command = [sys.executable, "-c", "from decpomdp.cli.start import run; print('go', flush=True); run()"]
        process = subprocess.Popen(
            [*command, "info", "dectiger"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        time.sleep(pause)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        assert process.returncode in (-signal.SIGINT, 130, 0)


IGNORED = """
import os, signal
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
from decpomdp.cli import main, start
def work(_):
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(os.getpid(), number)
    print("done")
    return 0
main.code_of = work
start.run()
"""


@pytest.mark.skipif(os.name != "posix", reason="interrupts are sent as signals")
def test_what_was_ignored_at_the_start_stays_so(tmp_path):
    """As under nohup, and in a background job of a script."""
    done = subprocess.run([sys.executable, "-c", IGNORED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def asked(interrupts, number=signal.SIGINT):
    interrupts._asked(number, None)


def test_the_first_interrupt_is_raised_at_once():
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        asked(interrupts)
    assert (interrupts.code, interrupts.killed) == (130, False)
    with pytest.raises(KeyboardInterrupt):
        asked(interrupts, signal.SIGTERM)
    assert (interrupts.code, interrupts.killed) == (143, True)


def test_the_second_waits_until_the_result_is_saved():
    interrupts, done = Interrupts(), []

    def work():
        with interrupts.until_saved():
            with pytest.raises(KeyboardInterrupt):
                asked(interrupts)
            asked(interrupts)
            done.append("unwound")
            with interrupts.save():
                done.append("saved")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["unwound", "saved"]


HEARING = """
import hashlib, sys, time
from decpomdp.cli.interrupts import interrupts
from decpomdp.io.files import replacing

def stubborn():
    while True:
        try:
            time.sleep(100)
        except KeyboardInterrupt:
            pass

def deaf():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # compiled code: no line of Python for minutes

interrupts.listen()
with interrupts.leaving(lambda: ["to go on: again"]), replacing("some.txt") as part:
    part.write_text("half")
    print("go", flush=True)
    {"stubborn": stubborn, "deaf": deaf}[sys.argv[1]]()
"""


@pytest.mark.skipif(os.name != "posix", reason="interrupts are sent as signals")
@pytest.mark.parametrize(
    ("number", "code", "kind"),
    [
        (signal.SIGINT, 130, "deaf"),
        (signal.SIGTERM, 143, "stubborn"),
        pytest.param(signal.SIGINT, 130, "stubborn", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, "deaf", marks=pytest.mark.slow),
    ],
)
def test_the_second_ends_it_wherever_it_is(tmp_path, number, code, kind):
    with subprocess.Popen(
        [sys.executable, "-c", HEARING, kind], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        time.sleep(0.5)  # what comes after the line has begun
        process.send_signal(number)
        time.sleep(1)
        assert process.poll() is None  # once is not enough for this one
        begin = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert time.monotonic() - begin < 10  # half a second and what a busy machine makes of it
    assert (process.returncode, err) == (code, "stopped at once\nto go on: again\n")
    assert not list(tmp_path.iterdir())


def test_even_the_first_waits_while_the_result_is_written():
    interrupts, done = Interrupts(), []

    def work():
        with interrupts.until_saved(), interrupts.save():
            asked(interrupts)
            done.append("saved")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["saved"]


IMPORTS = """
import importlib.abc, sys
class Stopping(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numpy.exceptions":
            sys.meta_path.remove(self)
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stopping())
from decpomdp.cli.main import code_of
sys.exit(code_of(["info", "dectiger"]))
"""


def test_an_interrupt_within_an_import_is_one_line(tmp_path):
    """Half of numpy cannot be imported again: what is said and done then must not need it."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_the_compiler_is_not_interrupted():
    """It calls Python back; an exception in there kills the process."""
    asked, ready = Interrupts(), []
    code = compile("def call(back):\n    return back()\n", "compiler.py", "exec")
    inside = {"__name__": "llvmlite.binding.executionengine"}
    exec(code, inside)  # a module with the compiler's name
    before = signal.getsignal(signal.SIGALRM)

    def back():
        asked._asked(signal.SIGINT, sys._getframe())
        time.sleep(0.1)  # asked again and again meanwhile
        ready.append(asked.times)

    def work():
        inside["call"](back)
        time.sleep(5)

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ready == [0]
    assert (asked.times, asked.code) == (1, 130)
