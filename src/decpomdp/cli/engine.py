"""`--engine` and `--scheduler`: threads or a Dask cluster. The result does not depend on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from decpomdp.engines.cluster import Cluster

THREADS, DASK = "threads", "dask"
PANEL = "Execution"

Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="threads (default): threads of this machine; dask: a Dask cluster. The result is the same.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Scheduler of the Dask cluster; default: start workers on this machine.",
        rich_help_panel=PANEL,
    ),
]


@contextmanager
def opened(engine: str | None, scheduler: str | None, workers: int | None = None) -> "Iterator[Cluster | None]":
    """The cluster that the options select, open within the context; None: threads of this machine."""
    from decpomdp.core import InputError, checks

    if engine is None or checks.one_of("--engine", engine, (THREADS, DASK)) == THREADS:
        if scheduler is not None:
            raise InputError(f"--scheduler: only with --engine {DASK}")
        yield None
        return
    from decpomdp.engines.cluster import Cluster, EngineError

    try:
        with Cluster(scheduler, workers) as cluster:
            yield cluster
    except EngineError as error:
        raise InputError(str(error)) from None


def jobs_here(jobs: int | None, scheduler: str | None) -> int | None:
    """The number of workers to start on this machine; rejected for an existing cluster."""
    from decpomdp.core import InputError

    if jobs is not None and scheduler is not None:
        raise InputError("--jobs: not with --scheduler; the cluster has its own number of workers")
    return jobs
