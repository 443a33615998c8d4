"""The machine's own threads. Work is cut into fixed pieces, so the number of threads never changes a result."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import local
from typing import TypeVar

NO_THREAD = "can't start new thread"  # how Python says that there is no memory for one

Result = TypeVar("Result")
_worker = local()  # has `busy` on threads that work for somebody


def default_threads() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    work: Callable[[int], Result],
    pieces: int,
    threads: int | None = None,
    stop: Callable[[], None] = lambda: None,
) -> list[Result]:
    """work(0), ..., work(pieces - 1) on up to `threads` threads; results in order, the first error raised.

    Work that itself calls this does its pieces one after the other. After an error or an interrupt the pieces under way
    are waited for; `stop` is called before that, and may shorten those that would take long; a clock that they look at
    says that they are over (`unwanted`).
    """
    count = min(pieces, default_threads() if threads is None else max(1, threads))
    if count <= 1 or getattr(_worker, "busy", False):
        return [work(piece) for piece in range(pieces)]
    pool, call = _pool(count, os.getpid()), _Call()
    begun = list[Future[Result]]()
    try:
        for piece in range(pieces):
            begun.append(pool.submit(_done, call, work, piece))
        return [each.result() for each in begun]
    except BaseException as error:  # an error or an interrupt: nothing may go on working behind the caller's back
        call.wanted = False
        for each in begun:
            each.cancel()
        stop()
        wait(begun)
        if isinstance(error, RuntimeError) and NO_THREAD in str(error):
            raise MemoryError(str(error)) from None
        raise


class _Call:
    """One call of `run`."""

    wanted = True


def _done(call: _Call, work: Callable[[int], Result], piece: int) -> Result:
    _worker.call = call
    return work(piece)


def unwanted() -> bool:
    """Whether nobody waits for the piece that this thread is doing any more, after an error or an interrupt."""
    call: _Call | None = getattr(_worker, "call", None)
    return call is not None and not call.wanted


@cache
def _pool(count: int, process: int) -> ThreadPoolExecutor:
    """Threads that wait for work: starting new ones each time costs as much as a small piece of it.

    A forked process gets its own: threads do not survive a fork.
    """
    return ThreadPoolExecutor(count, f"decpomdp-{process}", initializer=_begin)


def _begin() -> None:
    _worker.busy = True


@contextmanager
def serial_products() -> Iterator[None]:
    """Within this, a matrix product uses the calling thread only: the pieces are what runs in parallel."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
