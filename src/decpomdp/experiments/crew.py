"""Runs the cells of a table that are not finished, several at a time, each in a process of its own.

Processes are started once and given cell after cell, so that compiled code is loaded once. They use one thread each for
matrix products. Cells whose time is their result are left to the end and run one at a time. An interrupt ends
the processes; what is finished is kept. On a cluster, every worker has such processes (`elsewhere`).

The time that is left is foretold by the pace of the cells that ended after the first of every worker: a first cell
loads our code and, where nothing is compiled yet, waits for the compiler.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

from decpomdp.core import InputError
from decpomdp.engines.cluster import Cluster
from decpomdp.experiments.cells import Cell, finished, keep
from decpomdp.experiments.origin import code_digest

ATTEMPTS = 2  # processes that may end over one cell
LOOK = 1.0  # seconds between two looks at whether a cell is still wanted
GRACE = 5.0  # seconds in which a process that says nothing more has to be gone
FEW = 3  # cells that a pace is taken from, at least
SERIAL = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the table is."""

    done: int  # cells in this run
    todo: int  # cells in this run, the finished ones included
    kept: int  # cells that were finished before
    seconds: float  # since this run began
    left: float | None  # seconds until the end, about; None before a few cells are finished
    last: Cell | None  # the cell that was finished last


Tell = Callable[[Progress], None]
Jobs = int | Cluster  # so many cells at a time on this machine, or as many as a cluster has places


def run_cells(folder: Path, cells: Sequence[Cell], jobs: Jobs, tell: Tell) -> None:
    """Run every cell that is not finished."""
    wanted = list({cell.place: cell for cell in cells}.values())
    todo = [cell for cell in wanted if not finished(folder, cell)]
    together, alone = [c for c in todo if not c.alone], [c for c in todo if c.alone]
    begin, pace = monotonic(), Pace(todo, min(jobs if isinstance(jobs, int) else jobs.places, len(together)))

    def told(last: Cell | None) -> Progress:
        seconds = monotonic() - begin
        if last is not None:
            pace.add(last, seconds)
        return Progress(pace.ended, len(todo), len(wanted) - len(todo), seconds, pace.left(seconds), last)

    tell(told(None))
    with Crew() as crew:
        for cell, result, code in _results(folder, crew, together, alone, jobs):
            if not cell.own_file:
                keep(folder, cell, result, code)
            tell(told(cell))


class Pace:
    """How long the rest takes, by what the cells that are finished took."""

    def __init__(self, todo: Sequence[Cell], at_once: int) -> None:
        self.at_once, self.todo, self.ended = max(at_once, 1), len(todo), 0
        self.rest, self.done = sum(map(self._cost, todo)), 0.0  # costs; `done` without what is forgotten
        self.begin = 0.0  # seconds, when the first of every worker were finished

    def add(self, cell: Cell, seconds: float) -> None:
        """A cell is finished, so many seconds after the beginning."""
        self.ended, self.rest = self.ended + 1, self.rest - self._cost(cell)
        if self.ended <= self.at_once:
            self.begin = seconds
        else:
            self.done += self._cost(cell)

    def left(self, seconds: float) -> float | None:
        """Seconds until all are finished, about; None while nobody knows."""
        if 0 < self.todo == self.ended:
            return 0.0
        if self.ended < self.at_once + FEW or self.done <= 0:
            return None
        return max(self.rest, 0.0) * (seconds - self.begin) / self.done

    def _cost(self, cell: Cell) -> float:
        return cell.cost * self.at_once if cell.alone else cell.cost  # the others wait for it


def _results(
    folder: Path, crew: "Crew", together: Sequence[Cell], alone: Sequence[Cell], jobs: Jobs
) -> Iterator[tuple[Cell, Any, str]]:
    """Cells with their results and the code that made them, as they come."""
    if isinstance(jobs, int):
        code = code_digest()  # before the processes load it
        return ((*found, code) for found in chain(crew.work(together, jobs), crew.work(alone, 1)))
    from decpomdp.experiments.elsewhere import work_elsewhere

    return chain(work_elsewhere(jobs, folder, together), work_elsewhere(jobs, folder, alone, 1))


class Crew:
    """Processes that wait for cells."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []
        self.idle: list[tuple[subprocess.Popen[str], float]] = []  # and since when
        self.closed = False
        self.lock = threading.Lock()

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.closed = True
            over, self.processes, self.idle = self.processes, [], []
            for process in over:
                process.kill()
        for process in over:
            _end(process)

    def rest(self, seconds: float) -> None:
        """End processes that have had nothing to do for so long; new ones are started when there is work again."""
        with self.lock:
            over = [process for process, since in self.idle if monotonic() - since >= seconds]
            self.idle = [(process, since) for process, since in self.idle if process not in over]
            self.processes = [process for process in self.processes if process not in over]
        for process in over:
            process.kill()
            _end(process)

    def work(self, cells: Sequence[Cell], at_once: int) -> Iterator[tuple[Cell, Any]]:
        """Cells with their results, as they come."""
        if not cells:
            return
        pool = ThreadPoolExecutor(min(at_once, len(cells)))
        try:
            waiting = {pool.submit(self.one, cell): cell for cell in cells}
            for each in as_completed(waiting):
                yield waiting[each], each.result()
        finally:  # an interrupt, an error: the threads wait for processes that have to end first
            pool.shutdown(wait=False, cancel_futures=True)

    def one(self, cell: Cell, wanted: Callable[[], bool] | None = None) -> Any:
        """The result of a cell; its process is ended when it is no longer `wanted`.

        One that is killed, by a system that has no memory left for example, is done once more: it may go on from a
        checkpoint.
        """
        question = json.dumps({"work": cell.work, "settings": cell.settings}, allow_nan=False)
        for _ in range(ATTEMPTS):
            process = self._process()
            with _while_wanted(process, wanted):
                told = _asked(process, question)
            if not told:
                self._forget(process)
            if told or (wanted is not None and not wanted()):
                break
        if not told:
            often = f"{ATTEMPTS} processes ended before it was finished"
            raise InputError(f"{cell.name}: {often} (the last one with code {process.returncode})")
        with self.lock:
            self.idle.append((process, monotonic()))
        content = json.loads(told)
        if "error" in content:
            raise InputError(f"{cell.name}: {content['error']}")
        return content["result"]

    def _process(self) -> "subprocess.Popen[str]":
        """One that has nothing to do, or a new one."""
        with self.lock:
            if self.closed:
                raise InputError("the work was ended")
            if not self.idle:
                self.processes.append(_started())
                return self.processes[-1]
            return self.idle.pop()[0]

    def _forget(self, process: "subprocess.Popen[str]") -> None:
        """One that has ended."""
        _end(process)
        with self.lock, suppress(ValueError):  # whoever ended the work has done so
            self.processes.remove(process)


def _started() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "decpomdp.experiments.worker"]
    # a session of its own: an interrupt at the keyboard must not reach learners, which would take it for the end
    return subprocess.Popen(  # noqa: S603 our own program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **dict.fromkeys(SERIAL, "1")},
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[str]") -> None:
    """Leave nothing of a process that has ended, or is about to."""
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # a question that it did not take any more
                pipe.close()


@contextmanager
def _while_wanted(process: "subprocess.Popen[str]", wanted: Callable[[], bool] | None) -> Iterator[None]:
    """Within this, a process is killed once nobody waits for its answer any more."""
    if wanted is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK):
            if not wanted():
                process.kill()
                return

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _asked(process: "subprocess.Popen[str]", line: str) -> str:
    """The answer of a process; empty if it has ended."""
    if process.stdin is None or process.stdout is None:
        return ""
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        told = process.stdout.readline()
        return told if told.endswith("\n") else ""
    except (OSError, ValueError):  # its pipes are closed
        return ""
