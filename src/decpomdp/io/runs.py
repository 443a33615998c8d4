"""The files of a run folder.

run.json       source, settings, seed, budget, versions (from the start); why it stopped, the value (at the end)
team.json      the team
trace.parquet  one row per iteration
log.txt        the command, progress, warnings
report.html    the page (`decpomdp.report`)

An unfinished run also has a checkpoint: see `run_folder.py`.
"""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from decpomdp.core import Agent, DecPOMDP, Episodes, Fit, FormatError, InputError, Row, Simulator, Team
from decpomdp.core.agent import numbered
from decpomdp.io.dpomdp.header import default_name
from decpomdp.io.dpomdp.text import is_name
from decpomdp.io.episodes import episodes_digest
from decpomdp.io.files import (
    FilePath,
    finite,
    message_of,
    open_parquet,
    path_of,
    read_bytes,
    read_columns,
    replacing,
    write_bytes,
)
from decpomdp.io.team import read_team, team_to_json, write_team

RUN_FORMAT, OLD_FORMAT = "decpomdp-run/2", "decpomdp-run/1"
TEAM, TRACE, RUN, LOG, REPORT = "team.json", "trace.parquet", "run.json", "log.txt", "report.html"
MEAN, WORLD = "team-mean.json", "world.dpomdp"
LIMIT = 64 * 2**20  # bytes of a run.json
MOST_ROWS = 10_000_000  # of a trace


class ValueRecord(msgspec.Struct):
    """A value and how it was computed."""

    value: float | None = None
    method: str = ""
    error: float | None = None  # proved bound of the error
    standard_error: float | None = None


class NodeBelief(msgspec.Struct, omit_defaults=True):
    """The posterior of one node; intervals are those of teams drawn from the posterior."""

    node: int
    visits: float  # share of the data
    actions: list[tuple[int, float, float, float]]  # action, mean, low, high
    time: tuple[float, float, float] | None = None  # share of time: low, median, high


class AgentBelief(msgspec.Struct):
    """The posterior of one agent's controller."""

    same_nodes: bool  # whether the nodes are those of the team, in the same order
    nodes: list[NodeBelief]


class Belief(msgspec.Struct):
    """Summary of a posterior."""

    draws: int
    level: float  # share of the draws in an interval
    agents: list[AgentBelief]


class RunRecord(msgspec.Struct, kw_only=True):
    """The content of run.json. It is written when a run starts, and again with the result."""

    format: str = ""  # set when it is written
    command: str = ""  # "learn" or "plan"
    source: str = ""  # the name of a problem, or the path of a file
    working_folder: str = ""  # relative paths start here
    problem: str = ""
    digest: str = ""  # of the source
    discount: float | None = None
    method: str = ""
    seed: int | None = None
    settings: dict[str, Any] = {}  # of the method, with its name
    budget: dict[str, Any] = {}
    bins: int | None = None  # of the numbers in a table
    begin: str = ""  # the path of a team to begin with
    begin_digest: str = ""
    versions: dict[str, str] = {}
    finished: bool = True  # False: killed, interrupted or still running
    stopped: str = ""
    seconds: float = 0.0
    nodes: list[int] = []
    steps: float | None = None
    learned: bool = True  # whether a value was measured within the limits
    value: ValueRecord | None = None
    horizon: int | None = None
    best_known: float | None = None  # value of the problem when the run started
    upper_bound: float | None = None
    gap: float | None = None
    bound: float | None = None
    sample_size: float | None = None
    sweeps: int | None = None
    posterior: Belief | None = None
    posterior_nodes: list[int] | None = None
    facts: dict[str, Any] = {}  # other results of the method


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run, read from its folder.

    Attributes
    ----------
    folder
        The run folder.
    record
        Content of run.json: `value`, `stopped`, `seconds`, `nodes`, `problem`, `method`, `seed`, `settings`, `versions`
        and more.
    team
        The learned or planned team.
    trace
        Column -> one value per row.
    name
        The folder's own name.

    Examples
    --------
    >>> from pathlib import Path
    >>> import decpomdp as dp
    >>> from decpomdp.io.runs import RunRecord
    >>> record = RunRecord(stopped="steps", seconds=0.5, nodes=[1, 1])
    >>> dp.Run(Path("runs/tiger"), record, dp.Team.uniform(dp.load("dectiger")), {}).name
    'tiger'
    """

    folder: Path
    record: RunRecord
    team: Team
    trace: Mapping[str, list[Any]]  # column -> one value per row

    @classmethod
    def load(cls, path: FilePath) -> "Run":
        """The run in a folder; FormatError if one of its files is wrong."""
        return read_run(path)

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.resolve().name


def write_record(folder: Path, record: RunRecord) -> None:
    """Write run.json; fields that are not known are left out."""
    record.format = RUN_FORMAT
    write_bytes(folder / RUN, json.dumps(_known(record), indent=2, allow_nan=False).encode() + b"\n")


def as_written(record: RunRecord, **changes: Any) -> RunRecord:
    """A copy with changed fields, as it would be read from run.json."""
    return msgspec.convert(_known(msgspec.structs.replace(record, **changes)), RunRecord)


def _known(record: RunRecord) -> dict[str, Any]:
    known = {name: value for name, value in msgspec.to_builtins(record).items() if value is not None}
    return finite(known)


def write_fit(folder: Path, fit: Fit, record: RunRecord) -> RunRecord:
    """Write the result of a run: trace, team and record. Returns the record."""
    write_trace(fit.trace, folder / TRACE)
    write_team(fit.team, folder / TEAM)
    mean = getattr(fit, "mean", None)  # of Bayesian learners: the team of posterior means
    world = getattr(fit, "world", None)  # that was fitted to episodes
    for name in (MEAN, WORLD):  # an interrupted run may have left another result
        (folder / name).unlink(missing_ok=True)
    if mean is not None:
        write_team(mean, folder / MEAN)
    if world is not None:
        with_plain_names(world).save(folder / WORLD)
    record.posterior = record.posterior_nodes = None
    record.stopped, record.seconds = fit.stopped, round(fit.seconds, 3)
    record.nodes, record.facts = list(fit.team.nodes), dict(fit.facts)
    write_record(folder, record)
    return record


def with_plain_names(world: DecPOMDP) -> DecPOMDP:
    """The world with numbers as labels where a .dpomdp file cannot hold those of the log, such as 'speed < 0.5'."""

    def plain(labels: tuple[str, ...]) -> tuple[str, ...]:
        return labels if all(map(is_name, labels)) else numbered(len(labels))

    named = all(is_name(agent.name) for agent in world.agents)
    agents = (
        Agent(agent.name if named else default_name(n), plain(agent.actions), plain(agent.observations))
        for n, agent in enumerate(world.agents)
    )
    return replace(world, agents=tuple(agents))


def save_fit(fit: Fit, path: FilePath) -> None:
    """Write a fit as a new run folder."""
    from decpomdp.io.run_folder import new_run

    settings = {} if fit.settings is None else msgspec.to_builtins(fit.settings)
    name = fit.team.problem
    record = RunRecord(
        source=name,
        problem=name,
        discount=fit.team.discount,
        method=str(settings.get("method", "")),
        seed=fit.seed,
        settings=settings,
        versions=versions(),
    )
    with new_run(path) as folder:
        write_fit(folder, fit, record)


def write_trace(trace: tuple[Row, ...], path: Path) -> None:
    """The trace as a table, one column per key."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replacing(path) as part, open(part, "wb") as file:
        pq.write_table(pa.table(columns_of(trace)), file, compression="zstd")


def columns_of(trace: tuple[Row, ...]) -> dict[str, list[Any]]:
    """A trace by columns."""
    return {key: [_plain(row[key]) for row in trace] for key in (trace[0] if trace else ())}


def read_run(path: str | os.PathLike[str]) -> Run:
    """The run that `decpomdp learn` or `decpomdp plan` wrote to a folder."""
    folder = Path(path_of(path))
    if not (folder / RUN).is_file():
        raise InputError(f"{folder}: expected a run folder, with a {RUN}, got none")
    record = read_record(folder / RUN)
    return Run(folder, record, read_team(folder / TEAM), read_trace(folder / TRACE))


def read_record(path: Path) -> RunRecord:
    """The content of a run.json, of this version or of 0.1."""
    data, source = read_bytes(path, LIMIT), os.fspath(path)
    try:
        record = msgspec.json.decode(data, type=RunRecord)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise FormatError(source, None, message_of(error).replace("`", "").replace(" - at $.", " at ")) from None
    if record.format not in (RUN_FORMAT, OLD_FORMAT):
        raise FormatError(source, None, f'format: expected "{RUN_FORMAT}", got "{record.format}"')
    return record


def read_trace(path: Path) -> dict[str, list[Any]]:
    """A trace by columns."""
    source = os.fspath(path)
    with open_parquet(source) as file:
        if file.metadata.num_rows > MOST_ROWS:
            raise FormatError(source, None, f"expected at most {MOST_ROWS} rows, got {file.metadata.num_rows}")
        columns: dict[str, list[Any]] = read_columns(file, file.schema_arrow.names, source).to_pydict()
    return columns


def find_runs(path: str | os.PathLike[str]) -> list[Path]:
    """All run folders at or below a folder, by name."""
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, got {'a file' if folder.exists() else 'none'}")
    return sorted(path.parent for path in folder.rglob(RUN))


def team_digest(team: Team) -> str:
    """SHA-256 of a team that a run starts from."""
    return hashlib.sha256(team_to_json(team)).hexdigest()


def source_digest(source: DecPOMDP | Episodes | Simulator) -> str:
    """SHA-256 of the source of a run, without its discount: of a simulator, only the name and the agents' labels."""
    if isinstance(source, DecPOMDP):
        return source.digest()
    agents = [(agent.name, agent.actions, agent.observations) for agent in source.agents]
    labels = json.dumps([source.name, agents]).encode()
    if isinstance(source, Episodes):
        return episodes_digest(source, labels)
    return hashlib.sha256(labels).hexdigest()


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    from importlib.metadata import version

    names = ("decpomdp", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
