"""Pieces of work on threads: all done, in order, errors raised."""

import threading
import time

import pytest

from decpomdp.engines import threads


@pytest.mark.parametrize("count", [None, 1, 2, 5])
def test_results_come_in_order(count):
    assert threads.run(lambda piece: piece * piece, 10, count) == [piece * piece for piece in range(10)]
    assert threads.run(lambda piece: piece, 0, count) == []


def test_an_error_is_raised():
    def work(piece):
        if piece == 3:
            raise ValueError("piece 3")

    with pytest.raises(ValueError, match="piece 3"):
        threads.run(work, 5, 2)


def test_nothing_goes_on_after_an_error():
    going, over = threading.Event(), []

    def work(piece):
        if piece == 0:
            going.wait(10)
            raise ValueError("piece 0")
        going.set()
        time.sleep(0.05)
        over.append(piece)

    with pytest.raises(ValueError, match="piece 0"):
        threads.run(work, 50, 2)
    done = len(over)
    time.sleep(0.2)
    assert 1 <= done == len(over) < 49


def test_work_within_work():
    found = threads.run(lambda outer: threads.run(lambda inner: (outer, inner), 3, 2), 4, 2)
    assert found == [[(outer, inner) for inner in range(3)] for outer in range(4)]


def test_what_would_take_long_is_told_to_stop():
    told, working = threading.Event(), threading.Event()

    def work(piece):
        if piece == 0:
            working.wait(10)
            raise KeyboardInterrupt
        working.set()
        return told.wait(60)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        threads.run(work, 2, 2, told.set)
    assert time.monotonic() - began < 30
