"""Runs cells in parallel: in a pool of processes on this machine, or on the workers of a Dask cluster.

Cells that measure time run last, one at a time. Every result is saved immediately. If a worker process is killed (for
example because memory is exhausted), the pool breaks, and its running cells are restarted in a new pool. Dask repeats
the tasks of a dead worker itself. An interrupt ends the processes; saved results remain.

Local workers do not receive keyboard interrupts, which are handled here, and exit when this process exits.
"""

import multiprocessing
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from decpomdp.core import InputError
from decpomdp.engines.cluster import Cluster, blocked_interrupts
from decpomdp.experiments.cells import Cell, Computed, compute

ATTEMPTS = 2  # processes that may die while they run one cell
TICK = 1.0  # seconds between reports if no cell finishes
FEW = 3  # cells needed for an estimate, after the first of every worker, which loads or compiles code

Jobs = int | Cluster  # processes on this machine, or a cluster


@dataclass(frozen=True, slots=True)
class CellProgress:
    """The progress of the table."""

    done: int  # cells in this run
    todo: int  # cells in this run, the finished ones included
    kept: int  # cells that were finished before
    seconds: float  # since this run began
    left: float | None  # estimated seconds until the end; None if unknown
    last: Cell | None = None  # the cell that was finished just now


Tell = Callable[[CellProgress], None]


def run(
    cells: Sequence[Cell],
    jobs: Jobs,
    finished: Callable[[Cell], bool],
    save: Callable[[Cell, Computed[Any]], None],
    tell: Tell,
) -> None:
    """Compute and save every cell that is not finished; `tell` is called every second and after every cell."""
    wanted = list({cell.digest: cell for cell in cells}.values())
    todo = sorted((cell for cell in wanted if not finished(cell)), key=lambda cell: cell.alone)
    width = max(1, min(width_of(jobs), sum(not cell.alone for cell in todo)))
    began, ended = monotonic(), 0
    costs = {cell.digest: cell.cost * (width if cell.alone else 1) for cell in todo}
    whole = sum(costs.values())

    def report(last: Cell | None = None) -> None:
        seconds, rest = monotonic() - began, sum(costs.values())
        left = seconds * rest / (whole - rest) if ended >= width + FEW else None
        tell(CellProgress(ended, len(todo), len(wanted) - len(todo), seconds, left, last))

    report()
    waiting, deaths = deque(todo), Counter[str]()
    while waiting:
        running: dict[Future[Computed[Any]], Cell] = {}
        try:
            with _executor(jobs, len(todo)) as submit:
                for cell, computed in _results(submit, waiting, running, width_of(jobs), report):
                    save(cell, computed)
                    ended += 1
                    del costs[cell.digest]
                    report(cell)
        except BrokenProcessPool:
            deaths.update(cell.digest for cell in running.values())
            for cell in (cell for cell in running.values() if deaths[cell.digest] == ATTEMPTS):
                words = f"{cell.name}: its process was killed {ATTEMPTS} times; is there enough memory?"
                raise InputError(words) from None
            waiting.extendleft(running.values())


def width_of(jobs: Jobs) -> int:
    """The number of cells that run at the same time."""
    if isinstance(jobs, int):
        return jobs
    if jobs.places != jobs.workers:
        raise InputError(f"{jobs.name}: expected workers with one thread each (--nthreads 1), got more")
    return jobs.places


Submit = Callable[[Cell], "Future[Computed[Any]]"]


def _results(
    submit: Submit,
    waiting: deque[Cell],
    running: dict["Future[Computed[Any]]", Cell],
    width: int,
    tick: Callable[[], None],
) -> Iterator[tuple[Cell, Computed[Any]]]:
    """Keep `width` cells running; cells that run alone one at a time."""
    while waiting or running:
        while waiting and (not running if waiting[0].alone else len(running) < width):
            cell = waiting.popleft()
            running[submit(cell)] = cell
        done, _ = wait(running, timeout=TICK, return_when=FIRST_COMPLETED)
        if not done:
            tick()
        for future in done:
            try:
                computed = future.result()
            except InputError as error:
                raise InputError(f"{running[future].name}: {error}") from None
            yield running.pop(future), computed


@contextmanager
def _executor(jobs: Jobs, most: int) -> Iterator[Submit]:
    """A function that starts a cell; cells that are running at the end are cancelled or killed."""
    if isinstance(jobs, Cluster):
        remote: Executor = jobs.client.get_executor(pure=False)
        with jobs.errors():
            try:
                yield lambda cell: remote.submit(compute, cell)
            finally:
                remote.shutdown(wait=False)
        return
    context, before = multiprocessing.get_context("spawn"), multiprocessing.active_children()
    pool = ProcessPoolExecutor(max(1, min(jobs, most)), mp_context=context, initializer=_end_with_parent)

    def submit(cell: Cell) -> "Future[Computed[Any]]":
        with blocked_interrupts():
            return pool.submit(compute, cell)

    try:
        yield submit
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in before:
                process.kill()  # on SIGTERM, a method would return its best team


def _end_with_parent() -> None:
    """In a worker process: exit when the parent process has died."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
