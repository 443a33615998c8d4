"""A Dask cluster: worker processes on this machine, or the workers of a scheduler.

A task is a function of a module with arguments that can be pickled. Dask repeats the tasks of a worker that died. Data
that was placed on a worker (`put`) is lost with it: `Lost` is raised, and the caller sends the data again.

Results do not depend on the number of workers: callers cut their work into fixed pieces and combine the results in a
fixed order.

Without an address, workers are started on this machine, one thread each, bound to the loopback interface. They end with
this process and ignore interrupts at the keyboard.
"""

import asyncio
import logging
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import resource_tracker
from typing import Any, Self

from decpomdp.engines.threads import default_threads

ANSWER = 5.0  # timeout of the connection to a scheduler, in seconds
WORKERS = 60.0  # seconds to wait for the first worker
AHEAD = 2  # tasks submitted per worker thread, so that none is idle
CACHE_BYTES = 256_000_000  # intermediate results that may stay on a worker
SAME = ("python", "decpomdp", "numpy", "scipy", "numba")  # versions that results depend on
LOCAL = "127.0.0.1"


class EngineError(RuntimeError):
    """The cluster cannot be reached or has failed; the message is one line."""


class Lost(EngineError):  # noqa: N818 - not a failure: the caller sends the data again
    """A worker died with data that was placed on it."""


class Cluster:
    """A connection to a Dask cluster, closed by the context manager together with the workers that it started.

    Parameters
    ----------
    scheduler
        The scheduler's address, such as "tcp://node7:8786". None: workers are started on this machine.
    workers
        Number of workers to start on this machine; by default the number of cores.

    Raises
    ------
    EngineError
        The scheduler cannot be reached, there are no workers, or a worker has other versions. Later: the scheduler is
        lost, or several workers died over the same task.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        if find_spec("distributed") is None:
            raise EngineError("engine dask: expected the package distributed, got none; pip install decpomdp[dask]")
        self.name = "the cluster of this machine" if scheduler is None else scheduler
        with ExitStack() as stack:
            stack.enter_context(_quiet())
            address = _started(stack, workers or default_threads()) if scheduler is None else scheduler
            self.client = _connected(stack, address, self.name)
            try:
                self.client.wait_for_workers(1, timeout=WORKERS)
            except TimeoutError:
                raise EngineError(f"{self.name}: expected workers, got none within {WORKERS:g} s") from None
            _check_versions(self.client)
            self._stack = stack.pop_all()
        threads = self.client.nthreads()
        self.workers = len(threads)  # processes, when the connection was made
        self.places = sum(threads.values())  # tasks that run at the same time
        self._shared: dict[str, tuple[Any, Any]] = {}  # name -> the value shared last, its future

    def put(self, value: Any) -> Any:
        """Place a value on one of the workers, in turn; its future."""
        with self.errors():
            return self.client.scatter([value], hash=False)[0]

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The future of work(*arguments); futures among the arguments are replaced by their values."""
        with self.errors():
            return self.client.submit(work, *arguments, pure=False)

    def share(self, name: str, value: Any) -> Any:
        """A future for a value that several tasks need. The same object is sent once; `name` is for error messages."""
        before, future = self._shared.get(name, (None, None))
        if future is None or before is not value:
            try:
                future = self.submit(same, value)
            except (TypeError, AttributeError) as error:
                why = " ".join(str(error.__cause__ or error).split())
                raise EngineError(f"{name}: cannot be sent to the workers of a cluster ({why})") from None
            self._shared[name] = value, future
        return future

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """The values of futures, in order; the first error of a task is raised."""
        with self.errors():
            return list(self.client.gather(list(futures)))

    def in_order(self, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The results of work(*each) in the order of `arguments`, with a bounded number of tasks under way."""
        waiting: deque[Any] = deque()
        for each in arguments:
            waiting.append(self.submit(work, *each))
            if len(waiting) > AHEAD * self.places:
                yield self.results([waiting.popleft()])[0]
        while waiting:
            yield self.results([waiting.popleft()])[0]

    def close(self) -> None:
        """Close the connection, and the workers that it started."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate errors of the cluster; errors of the tasks pass unchanged."""
        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            yield
        except KilledWorker:
            raise EngineError(
                f"{self.name}: several workers died on the same task, possibly for lack of memory"
            ) from None
        except Exception as error:
            if self.client.status != "running":
                raise EngineError(f"{self.name}: the scheduler is lost") from None
            if isinstance(error, CancelledError | CommClosedError):
                raise Lost(f"{self.name}: a worker died with data that was placed on it") from None
            raise


def same(value: Any) -> Any:
    """The value itself: submitted as a task, it can be recomputed when its worker dies."""
    return value


def _started(stack: ExitStack, workers: int) -> Any:
    """Workers on this machine."""
    from distributed import LocalCluster

    try:
        with blocked_interrupts():
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host=LOCAL,
                dashboard_address=f"{LOCAL}:0",
                worker_dashboard_address=f"{LOCAL}:0",
                silence_logs=logging.CRITICAL,
            )
    except Exception as error:
        raise EngineError(f"engine dask: cannot start workers: {' '.join(str(error).split())}") from None
    stack.callback(cluster.close, timeout=ANSWER)
    return cluster


@contextmanager
def blocked_interrupts() -> Iterator[None]:
    """Processes that are started in this context never receive interrupts from the keyboard."""
    resource_tracker.ensure_running()  # its start would unblock interrupts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connected(stack: ExitStack, address: Any, name: str) -> Any:
    """A client of the scheduler at that address."""
    from distributed import Client

    try:
        if isinstance(address, str):
            with ThreadPoolExecutor(1) as thread:  # the caller's thread may run an event loop, as in a notebook
                thread.submit(asyncio.run, _probe(address)).result()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are checked below
            client: Any = Client(address, timeout=ANSWER, set_as_default=False)
    except Exception as error:
        message = "" if isinstance(error, OSError) else " ".join(str(error).split())  # a TimeoutError is an OSError
        why = message or f"no answer within {ANSWER:g} s"
        expected = "expected the address of a Dask scheduler, such as tcp://node7:8786"
        raise EngineError(f"scheduler: {expected}, got {name!r} ({why})") from None
    stack.callback(_close, client)
    return client


async def _probe(address: str) -> None:
    """Connect once: a `Client` has no timeout for other servers, such as the dashboard."""
    from distributed.comm.core import connect
    from distributed.security import Security

    connecting = connect(address, timeout=ANSWER, **Security().get_connection_args("client"))
    (await asyncio.wait_for(connecting, ANSWER)).abort()


def _close(client: Any) -> None:
    with suppress(Exception):  # the scheduler may be lost
        client.close(timeout=1)


def _check_versions(client: Any) -> None:
    """Raise EngineError if a worker has other versions, which may give other results."""
    versions = client.get_versions(packages=list(SAME[1:]))
    here = versions["client"]["packages"]
    for worker, there in versions["workers"].items():
        for package in SAME:
            if (version := there["packages"][package]) != here[package]:
                raise EngineError(
                    f"worker {worker}: expected {package} {here[package]} as on this machine, got {version}"
                )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's log messages; errors are raised as `EngineError`."""
    import dask
    from distributed.utils import silence_logging_cmgr

    with (
        silence_logging_cmgr(logging.CRITICAL),
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}),
    ):
        yield
