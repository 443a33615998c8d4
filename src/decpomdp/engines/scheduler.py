"""Whether an address is that of a Dask scheduler: looked at, and asked, before a client is made for it.

A client that fails half-way complains once more when it is thrown away, and for ever waits for one that is silent.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from decpomdp.engines.errors import EngineError

ANSWER = 5.0  # seconds in which a scheduler has to answer
PLAIN, SAFE = ("tcp", "ws"), ("tls", "wss")  # ways to talk to a scheduler; the latter take certificates
OTHER = "what answers is no Dask scheduler"
FAILURES = (OSError, ValueError, TypeError, ImportError, RuntimeError, MemoryError, EOFError)


def check_address(scheduler: str) -> None:
    """Raise EngineError unless it is one, whoever may be there."""
    try:
        parts = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
        whole = parts.hostname is not None and parts.port is not None and not parts.path.strip("/")
    except ValueError as error:
        raise not_reached(scheduler, error) from None
    if parts.scheme not in (*PLAIN, *SAFE):
        raise not_reached(scheduler, f"expected one of {', '.join((*PLAIN, *SAFE))}, got {parts.scheme}")
    if not whole:
        raise not_reached(scheduler, "expected a host and a port")
    if parts.scheme in SAFE and not _has_certificates():
        raise not_reached(scheduler, "expected certificates in Dask's settings, distributed.comm.tls, got none")


def _has_certificates() -> bool:
    from distributed.security import Security

    try:
        return Security().get_connection_args("client").get("ssl_context") is not None
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise EngineError(f"scheduler: certificates in Dask's settings cannot be read: {reason}") from None


def check_answer(scheduler: str) -> None:
    """Raise EngineError unless a scheduler is there and answers."""
    with ThreadPoolExecutor(1) as thread:  # whoever calls may be in a loop of events of his own
        try:
            who = thread.submit(asyncio.run, _asked(scheduler)).result()
        except FAILURES as error:
            raise not_reached(scheduler, error) from None
    if not isinstance(who, dict) or who.get("type") != "Scheduler":  # a worker has an address, too
        raise not_reached(scheduler, OTHER)


async def _asked(scheduler: str) -> Any:
    """What is there says of itself."""
    from distributed.comm.core import connect
    from distributed.security import Security

    async def ask() -> Any:
        comm = await connect(scheduler, timeout=ANSWER, **Security().get_connection_args("client"))
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    return await asyncio.wait_for(ask(), ANSWER)


def not_reached(scheduler: str | None, why: str | Exception) -> EngineError:
    """That there is no scheduler to work with."""
    if isinstance(why, OSError):  # a TimeoutError is one
        why = f"nobody answered within {ANSWER:g} s"
    elif isinstance(why, MemoryError):
        why = OTHER
    example = "the address of a Dask scheduler, such as tcp://node7:8786"
    return EngineError(f"scheduler: expected {example}, got {scheduler!r} ({' '.join(str(why).split())})")
