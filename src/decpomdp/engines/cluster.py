"""A Dask cluster: worker processes on this machine, or on as many others as a scheduler knows of.

Work for a cluster is a function of a module with its arguments: both travel, so nothing may hang on shared memory. What
was submitted is computed again when the worker that had it dies. What was put there is gone with its worker (`Lost`),
and whoever put it there puts it there again. Neither the number of workers nor who did what may change a result:
whoever cuts work into pieces adds them up in an order of its own.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Self
from uuid import uuid4

from decpomdp.engines.connection import COMING, answers, check_versions, connected, versions, what_workers_tell
from decpomdp.engines.errors import EngineError
from decpomdp.engines.threads import default_threads

BEAT = 2.0  # seconds between two looks at whether there still are workers
AHEAD = 2  # pieces of work for every place, so that nobody is idle
KEPT_BYTES = 512_000_000  # of results that a worker may be asked to keep, if that is a small part of its memory
KEPT_SHARE = 10
UNWANTED = ("cancelled", "released", "forgotten")  # states of a task that runs for nobody
ENDING = 5.0  # seconds that are waited for workers where nothing depends on their answer
PAUSED = 600.0  # seconds in which workers that Dask paused, as their memory is full, have to go on


class Lost(EngineError):  # noqa: N818 - the caller sends it again
    """A worker died, and with it what was put there."""


class Cluster:
    """A connection to a Dask cluster; a context manager that ends it, with the workers that it started.

    Parameters
    ----------
    scheduler
        Its address, such as "tcp://node7:8786". None: workers are started on this machine.
    workers
        How many to start on this machine; as many as there are cores by default.

    Raises
    ------
    EngineError
        There is no scheduler, no worker, or one with other versions than here. Later: the scheduler or all workers
        are lost.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        self.name = "the cluster of this machine" if scheduler is None else scheduler
        self._has_put = False
        with ExitStack() as stack:
            self.client = connected(stack, scheduler, workers or default_threads())
            with self._speaking():
                about, self._silent = what_workers_tell(self.client, self.name)
            self._stack = stack.pop_all()
        self.workers = len(about)  # processes, when the connection was made
        self.places = sum(told["threads"] for told in about.values())  # pieces of work at the same time
        self.memory = min(told["memory"] or math.inf for told in about.values())  # bytes that the smallest may use
        self._versions = versions()
        self._missed = math.inf  # when there was no worker left
        self._shared: dict[str, tuple[Any, Any]] = {}  # name -> what was shared last under it, and where it is

    @property
    def room(self) -> int:
        """Bytes of results that all workers together may be asked to keep."""
        return int(self.workers * min(KEPT_BYTES, self.memory / KEPT_SHARE))

    def put(self, value: Any) -> Any:
        """Send a value to one of the workers, by turns, to stay there."""
        self._has_put = True
        with self._speaking():
            while True:
                try:
                    return self.client.scatter([value], workers=self._answering(), hash=False)[0]
                except TimeoutError:
                    self._check_workers()

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Ask for work(*arguments), in which what was put or submitted before stands for its value."""
        with self._speaking():
            name = f"{getattr(work, '__name__', 'work')}-{uuid4().hex}"  # for who looks at Dask's own pages
            return self.client.submit(_done, self._versions, work, *arguments, key=name, pure=False)

    def share(self, name: str, value: Any) -> Any:
        """A value that several pieces of work need; `name` is for people, if it cannot travel.

        The same object shared again under its name is not sent again.
        """
        from distributed.protocol.pickle import dumps

        before, there = self._shared.get(name, (None, None))
        if there is not None and before is value:
            return there

        try:
            dumps(value)
        except Exception as error:
            why = " ".join(str(error).split())
            raise EngineError(f"{name}: expected what can be sent to the workers of a cluster ({why})") from None
        self._shared[name] = value, self.submit(same, value)
        return self._shared[name][1]

    def results(self, asked: Sequence[Any]) -> list[Any]:
        """What was asked for, in that order; the first error of the work raised."""
        from distributed import wait

        with self._speaking(), self.client.as_current():
            while True:
                try:
                    wait(asked, timeout=BEAT)
                    return list(self.client.gather(list(asked)))
                except TimeoutError:
                    self._check_workers()

    def in_order(self, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The results of work(*each), in the order of `arguments`; few are begun before they are wanted."""
        waiting: deque[Any] = deque()
        for each in arguments:
            waiting.append(self.submit(work, *each))
            if len(waiting) > AHEAD * self.places:
                yield self.results([waiting.popleft()])[0]
        while waiting:
            yield self.results([waiting.popleft()])[0]

    def as_they_come(
        self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], at_once: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """(number, result) of work(*arguments[number]) as they are finished, with `at_once` of them under way."""
        from distributed import wait

        waiting, begun = deque(enumerate(arguments)), dict[Any, int]()
        try:
            while waiting or begun:
                while waiting and len(begun) < (at_once or AHEAD * self.places):
                    number, each = waiting.popleft()
                    begun[self.submit(work, *each)] = number
                with self._speaking(), self.client.as_current():
                    try:
                        over = wait(list(begun), timeout=BEAT, return_when=FIRST_COMPLETED).done
                    except TimeoutError:
                        self._check_workers()
                        continue
                for done in sorted(over, key=begun.__getitem__):
                    yield begun.pop(done), self.results([done])[0]
        finally:  # after an error or an interrupt nobody waits for the others
            with suppress(EngineError), self._speaking():
                self.client.cancel(list(begun))

    def everywhere(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Have something done once in every worker process, without waiting long for one that does not answer."""
        with self._speaking():
            answers(self.client, ENDING, work, *arguments)

    def is_there(self, value: Any) -> bool:
        """Whether what was put to a worker is still there."""
        return bool(value.status == "finished")

    def close(self) -> None:
        """Let go of the cluster."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answering(self) -> list[str] | None:
        """Workers that take what is put there; None: all, as nobody was silent when the connection was made."""
        if not self._silent:
            return None
        return [address for address in self.client.nthreads() if address not in self._silent] or None

    def _check_workers(self) -> None:
        """Wait for workers to come back, or to have memory again, but not for ever."""
        known, running = self.client.run_on_scheduler(_workers)
        if running:
            self._missed = math.inf
            return
        self._missed = min(self._missed, time.monotonic())
        patience, what = (PAUSED, "wait for memory that is not set free") if known else (COMING, "are gone")
        if time.monotonic() - self._missed > patience:
            raise EngineError(f"{self.name}: all workers {what}, and none came back within {patience:g} s")

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """What Dask says about the cluster becomes an error of ours; errors of the work are left as they are."""
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            yield
        except EngineError:
            raise
        except KilledWorker:
            raise EngineError(
                f"{self.name}: several workers died one after the other at the same piece of work; "
                "do they have enough memory?"
            ) from None
        except Exception as error:
            if self.client.status != "running":
                raise EngineError(f"{self.name}: the scheduler is lost") from None
            if isinstance(error, CancelledError | CommClosedError):
                if not self._has_put:
                    raise EngineError(f"{self.name}: a worker, or what it worked on, is lost") from None
                raise Lost(f"{self.name}: a worker died with what was put there") from None
            raise


def _workers(dask_scheduler: Any) -> tuple[int, int]:
    """On the scheduler: how many workers there are, and how many take work."""
    return len(dask_scheduler.workers), len(dask_scheduler.running)


def _done(wanted: Mapping[str, str], work: Callable[..., Any], *arguments: Any) -> Any:
    """On a worker, which may have come late: it computes the same numbers as the others, or none."""
    check_versions("a worker that came later", wanted)
    return work(*arguments)


def wanted() -> Callable[[], bool]:
    """On a worker: says, also on another thread, whether somebody still waits for what this thread is doing."""
    from distributed import get_worker

    tasks, key = get_worker().state.tasks, get_worker().get_current_task()
    return lambda: getattr(tasks.get(key), "state", "forgotten") not in UNWANTED


def place_of_worker() -> str:
    """On a worker: a folder whose contents Dask removes with the worker, or when the next one starts there."""
    from distributed import get_worker

    return str(get_worker().local_directory)


def address_of_worker() -> str:
    """On a worker: under which address others know it."""
    from distributed import get_worker

    return str(get_worker().address)


def same(value: Any) -> Any:
    """The value itself: submitted once, it serves several pieces of work, and can be had again."""
    return value
