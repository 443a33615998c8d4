"""The machine's own threads. Work is cut into fixed pieces, so the number of threads never changes a result."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


def default_threads() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(work: Callable[[int], Result], pieces: int, threads: int | None = None) -> list[Result]:
    """work(0), ..., work(pieces - 1) on up to `threads` threads; results in order, the first error raised."""
    count = min(pieces, default_threads() if threads is None else max(1, threads))
    if count <= 1:
        return [work(piece) for piece in range(pieces)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(pieces)))


@contextmanager
def serial_products() -> Iterator[None]:
    """Within this, a matrix product uses the calling thread only: the pieces are what runs in parallel."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
