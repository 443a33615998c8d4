"""The run folder: what learning and planning leave behind.

team.json      the team
trace.parquet  one row per iteration
run.json       settings, seed, versions, problem, why it stopped, the value and how it was computed
"""

import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from decpomdp.core import Fit, InputError, Row, Team
from decpomdp.io.files import in_words, replacing, write_bytes
from decpomdp.io.team import write_team

RUN_FORMAT = "decpomdp-run/1"
TEAM, TRACE, RUN = "team.json", "trace.parquet", "run.json"


@contextmanager
def new_run(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty folder for a run; one that holds anything already is refused, so nothing is lost.

    Folders that were made for a run which then left nothing are removed again.
    """
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: expected a new or empty folder for the run, got one with contents")
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    with in_words(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    except BaseException:
        for place in made:
            if not any(place.iterdir()):
                place.rmdir()
        raise


def write_run(folder: Path, fit: Fit, facts: Mapping[str, Any], other_teams: Mapping[str, Team] | None = None) -> None:
    """Fill a run folder; `facts` is what the command knows beside (problem, value, command line)."""
    write_team(fit.team, folder / TEAM)
    for name, team in (other_teams or {}).items():
        write_team(team, folder / name)
    write_trace(fit.trace, folder / TRACE)
    told = {
        "format": RUN_FORMAT,
        **facts,
        "stopped": fit.stopped,
        "seconds": round(fit.seconds, 3),
        "nodes": list(fit.team.nodes),
        "settings": dict(fit.settings),
        "versions": versions(),
    }
    write_bytes(folder / RUN, json.dumps(told, indent=2, allow_nan=False).encode() + b"\n")


def write_trace(trace: tuple[Row, ...], path: Path) -> None:
    """The trace as a table, one column per key."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {key: [_plain(row[key]) for row in trace] for key in (trace[0] if trace else ())}
    with replacing(path) as part:
        pq.write_table(pa.table(columns), part, compression="zstd")


def versions() -> dict[str, str]:
    """What this run was computed with."""
    from importlib.metadata import version

    names = ("decpomdp", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
