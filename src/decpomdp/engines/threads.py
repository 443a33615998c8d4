"""Thread pools. Work is cut into fixed pieces, so the number of threads never changes a result."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import local
from typing import TypeVar

Result = TypeVar("Result")
_worker = local()  # has `busy` on threads of a pool


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

    Nested calls run their pieces one after the other. After an error or an interrupt `stop` is called, which may
    shorten long pieces, and running pieces are awaited.
    """
    count = min(pieces, default_threads() if threads is None else max(1, threads))
    if count <= 1 or getattr(_worker, "busy", False):
        return [work(piece) for piece in range(pieces)]
    pool = _pool(count, os.getpid())
    futures = list[Future[Result]]()
    try:
        for piece in range(pieces):
            futures.append(pool.submit(work, piece))
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        stop()
        wait(futures)
        raise


@cache
def _pool(count: int, process: int) -> ThreadPoolExecutor:
    """A cached pool of threads: starting threads costs as much as a small piece of work.

    A forked process gets its own: threads do not survive a fork.
    """
    return ThreadPoolExecutor(count, f"decpomdp-{process}", initializer=_begin)


def _begin() -> None:
    _worker.busy = True


@contextmanager
def serial_products() -> Iterator[None]:
    """Within this context, matrix products use one thread: the pieces run in parallel."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
