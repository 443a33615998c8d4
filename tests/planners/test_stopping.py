"""The clock of the planners: interrupts shorten work on threads and lose nothing of it."""

import os
import signal
import threading
import time

import pytest

from decpomdp.engines.clock import Finished
from decpomdp.planners import stopping
from decpomdp.planners.stopping import COMPILING, PlanClock, RehearsalClock


def press_after(seconds):
    """Ctrl-C in a while."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def busy(clock, seconds=30.0):
    """Work that looks at the clock all the time and returns what it has."""

    def work(piece):
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                clock.check()
                time.sleep(0.005)
        except Finished:
            return piece, "cut"
        return piece, "done"

    return work


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_shortens_work_and_its_results_are_kept(threads):
    clock = PlanClock(None, threads)
    timer = press_after(0.2)
    assert clock.run(busy(clock), 2) == [(0, "cut"), (1, "cut")]
    timer.join()
    assert clock.seconds() < 10
    assert clock.over()
    assert clock.why() == "interrupted"
    assert clock.stop[0] == 1


def test_a_second_interrupt_is_not_waited_for():
    clock = PlanClock(None, 1)
    timers = [press_after(0.2), press_after(0.6)]
    with pytest.raises(KeyboardInterrupt):
        clock.run(lambda piece: time.sleep(3), 1)
    assert clock.seconds() < 2.5
    for timer in timers:
        timer.join()


def test_the_time_limit_sets_the_flag_of_compiled_loops():
    clock = PlanClock(0.2, 1)

    def compiled(piece):
        while clock.stop[0] == 0:
            time.sleep(0.005)
        return clock.seconds()

    (seconds,) = clock.run(compiled, 1)
    assert 0.2 <= seconds < 5
    assert clock.why() == "time limit"


def test_the_heart_beats_while_work_does_not_look_at_the_clock():
    clock, beats = PlanClock(None, 2), []
    clock.heartbeat = lambda: beats.append(threading.current_thread())
    clock.run(lambda piece: time.sleep(2.5), 2)
    assert len(beats) >= 2
    assert set(beats) == {threading.main_thread()}


def test_results_and_errors_are_those_of_the_work():
    clock = PlanClock(None, 2)
    assert clock.run(lambda piece: piece * piece, 5) == [0, 1, 4, 9, 16]
    with pytest.raises(ZeroDivisionError):
        clock.run(lambda piece: 1 // piece, 2)


def test_a_part_of_the_time():
    clock = PlanClock(100.0, 1)
    with clock.part(0.25):
        assert clock.limit == 25.0
        clock.stop[0] = 1
    assert (clock.limit, clock.stop[0]) == (100.0, 0)


def test_compiling_is_spoken_of_only_when_it_takes_long(monkeypatch):
    said = []
    clock = PlanClock(5.0, 1)
    clock.rehearse(lambda: None, said.append)
    assert said == []
    monkeypatch.setattr(stopping, "QUIET", 0.05)
    clock.rehearse(lambda: time.sleep(0.5), said.append)
    assert set(said) == {COMPILING}
    assert clock.seconds() < 0.4  # it does not count


def test_without_time_nothing_is_compiled():
    done = []
    PlanClock(0, 1).rehearse(lambda: done.append(1), done.append)
    assert done == []


def test_an_error_of_whoever_looks_on_is_raised(monkeypatch):
    monkeypatch.setattr(stopping, "QUIET", 0.05)

    def tell(phase):
        raise ValueError(phase)

    with pytest.raises(ValueError, match="compiling"):
        PlanClock(None, 1).rehearse(lambda: time.sleep(0.5), tell)


def test_a_rehearsal_is_done_by_the_caller():
    clock = RehearsalClock()
    assert clock.run(lambda piece: threading.current_thread(), 2) == [threading.current_thread()] * 2
    clock.rehearse(lambda: pytest.fail("this is the rehearsal"), print)
