"""The way to a Dask scheduler, and to workers that compute with the same versions as we do.

Without an address, workers are started on this machine, one thread each, that talk over the loopback interface only.
They end with this process, however it ends, and leave the keyboard's interrupts to it.
"""

import asyncio
import logging
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from multiprocessing import resource_tracker
from platform import python_version
from typing import Any

from decpomdp.engines.errors import EngineError
from decpomdp.engines.scheduler import ANSWER, FAILURES, check_address, check_answer, not_reached

TELLING = 30.0  # seconds in which a worker has to say what it is; it may have to load our code first
COMING = 60.0  # seconds to wait for the first worker, or for another one when all are gone
SAME = ("decpomdp", "numpy", "scipy", "numba")  # versions that numbers depend on
LOCAL = "127.0.0.1"
SILENT = logging.CRITICAL + 1
LOOK, SILENCE = 10.0, 60.0  # seconds between two questions to a scheduler, and in which it has to answer
NOT_INSTALLED = "(not installed)"


def connected(stack: ExitStack, scheduler: str | None, workers: int) -> Any:
    """A client of the scheduler at that address, or of one that is started here; `stack` lets go of it."""
    if find_spec("distributed") is None:
        raise EngineError("engine dask: expected the package distributed, got none; pip install decpomdp[dask]")
    from distributed import Client

    if scheduler is not None:
        check_address(scheduler)
    stack.enter_context(_quiet())
    if scheduler is not None:
        check_answer(scheduler)
    address = _started(stack, workers) if scheduler is None else scheduler
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # versions are checked by `what_workers_tell`
            client: Any = Client(address, timeout=ANSWER, set_as_default=False)
    except FAILURES as error:
        raise not_reached(scheduler, error) from None
    stack.callback(_let_go, client)
    watch = asyncio.run_coroutine_threadsafe(_watch(client), client.loop.asyncio_loop)
    stack.callback(watch.cancel)
    return client


async def _watch(client: Any) -> None:
    """Hang up on a scheduler that says nothing any more: then it is lost, and no longer waited for."""
    while client.status == "running":
        await asyncio.sleep(LOOK)
        try:
            await asyncio.wait_for(client.scheduler.echo(data=""), SILENCE)
        except TimeoutError:
            client.scheduler_comm.comm.abort()
            await client.close(timeout=1)  # what is waited for ends, and it is not called again
            return
        except OSError:  # it is lost already
            return


def what_workers_tell(client: Any, name: str) -> tuple[Mapping[str, dict[str, Any]], frozenset[str]]:
    """{address: threads, memory}, and who says nothing: nothing is put there, as long as there are others.

    A worker that would compute other numbers than we is refused.
    """
    try:
        client.wait_for_workers(1, timeout=COMING)
    except TimeoutError:
        raise EngineError(f"{name}: expected workers, got none within {COMING:g} s") from None
    about = answers(client, TELLING, _about)
    silent = frozenset(address for address, told in about.items() if isinstance(told, OSError))  # or a TimeoutError
    about = {address: told for address, told in about.items() if address not in silent}
    for address, told in about.items():
        if not isinstance(told, dict) or "versions" not in told:
            wanted, why = f"decpomdp {versions()['decpomdp']}, as it is here", " ".join(str(told).split())
            raise EngineError(f"worker {address}: expected {wanted}, got none or another version ({why})")
        check_versions(f"worker {address}", versions(), told["versions"])
    if not about:
        raise EngineError(f"{name}: expected an answer of a worker, got none within {TELLING:g} s")
    if silent:
        which = f"{len(silent)} of {len(silent) + len(about)} workers ({', '.join(sorted(silent))})"
        after = "what Dask gives them waits until it gives them up (its setting worker-ttl)"
        warnings.warn(f"{name}: {which} did not answer within {TELLING:g} s; {after}", RuntimeWarning, stacklevel=3)
    return about, silent


def answers(client: Any, seconds: float, work: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """{address: what work(*arguments) returned or raised in that worker; a TimeoutError where nothing came in time}."""

    async def one(address: str) -> Any:
        asked = client.run(work, *arguments, workers=[address], on_error="return")
        try:
            return (await asyncio.wait_for(asked, seconds))[address]
        except TimeoutError as error:
            return error

    async def every() -> dict[str, Any]:
        addresses = list(await client.nthreads())
        return dict(zip(addresses, await asyncio.gather(*map(one, addresses)), strict=True))

    found: dict[str, Any] = client.sync(every)
    return found


def check_versions(who: str, wanted: Mapping[str, str], got: Mapping[str, str] | None = None) -> None:
    """Raise EngineError if a worker (this process, if nothing is told of it) would compute other numbers."""
    told = versions() if got is None else got
    for package, here in wanted.items():
        if told.get(package) != here:
            raise EngineError(f"{who}: expected {package} {here}, as it is here, got {told.get(package, 'none')}")


def _started(stack: ExitStack, workers: int) -> Any:
    """Workers on this machine. What starts them blocks interrupts, and they inherit that."""
    from distributed import LocalCluster

    _start_tracker()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=LOCAL,
            dashboard_address=f"{LOCAL}:0",
            worker_dashboard_address=f"{LOCAL}:0",
            silence_logs=SILENT,
        )
    except FAILURES as error:
        why = " ".join(str(error).split())
        raise EngineError(f"engine dask: workers cannot be started on this machine: {why}") from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    stack.callback(cluster.close, timeout=ANSWER)
    return cluster


def _start_tracker() -> None:
    """Python's own process that removes what others leave: whoever started it later would let interrupts through again.

    It is not to say so on our standard error: after a command that was stopped at once, there is always something left.
    """
    before = sys.warnoptions[:]
    sys.warnoptions.append("ignore")  # its arguments are made from these
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions[:] = before


def _about(dask_worker: Any) -> dict[str, Any]:
    limit = dask_worker.memory_manager.memory_limit
    return {"versions": versions(), "threads": dask_worker.state.nthreads, "memory": limit}


@cache
def versions() -> dict[str, str]:
    """What numbers depend on."""
    return {"python": python_version(), **{name: _version(name) for name in SAME}}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a folder
        return NOT_INSTALLED


def _let_go(client: Any) -> None:
    with suppress(Exception):  # to a scheduler that is lost one cannot say goodbye
        client.close(timeout=1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own words are not for our users: what matters becomes one of our errors."""
    import dask

    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(SILENT)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
