"""Episodes as a Parquet file: one row per (episode, t), readable by every tool that reads tables.

    episode_id int32            the rows of an episode stand together
    t int32                     0, 1, 2, ... within the episode
    observation list<int16>[N]  what the agents saw before they acted; null: nothing was seen (only at t = 0)
    action list<int16>[N]
    action_prob list<float32>[N]  probability with which the behaviour took that action; null or NaN: unknown
    reward float64
    terminated, truncated bool  on the last row of an episode: it ended by itself, or it was cut off

Compressed with zstd, with a checksum on every page. The metadata hold one JSON object under the key "decpomdp": format,
agents with their labels, discount, name, facts and the version that wrote it. A file made by another tool may use other
widths of numbers, lists without a fixed size, null for a whole list, and further columns, but has to carry that object.

Files are read column by column, without Python loops over rows. Errors about the shape of a file give row and column,
with rows counted from 0; errors about values are those of `Episodes`: `episode 3, step 2, agent b: expected an action
from 0 to 2, got 5`. Files are written at once, or part by part (`EpisodeWriter`).
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from importlib.metadata import version
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, FormatError, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.core.episodes import checked_facts
from decpomdp.core.model import checked_discount
from decpomdp.io.files import (
    FilePath,
    from_json,
    message_of,
    one_line_errors,
    open_parquet,
    path_of,
    read_columns,
    replacing,
)

EPISODES_FORMAT = "decpomdp-episodes/1"
KEY = "decpomdp"  # of the metadata
COLUMNS = ("episode_id", "t", "observation", "action", "action_prob", "reward", "terminated", "truncated")
MOST_LABELS = 2**15  # symbols are stored in 16 bits
GROUP = 2**17  # rows of a row group, which a writer holds in memory
PARTS = 256  # small tables held before they are joined
__all__ = ["EpisodeWriter", "episodes_digest", "read_episodes", "write_episodes"]


class AgentLabels(msgspec.Struct, forbid_unknown_fields=True):
    """An agent in the metadata."""

    name: str
    actions: tuple[str, ...]
    observations: tuple[str, ...]


class EpisodesMetadata(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata."""

    format: str
    agents: list[AgentLabels]
    discount: float
    name: str
    facts: dict[str, str]
    software: str


def read_episodes(path: FilePath) -> Episodes:
    """The episodes in an episodes file; equal to those that were written. `Episodes` checks the values."""
    rows = _load(path_of(path))
    about, offsets = _metadata(rows), _offsets(rows)
    try:
        return Episodes(
            agents=tuple(Agent(agent.name, agent.actions, agent.observations) for agent in about.agents),
            offsets=offsets,
            observations=rows.lists("observation", "int16", len(about.agents), NO_OBSERVATION),
            actions=rows.lists("action", "int16", len(about.agents), NO_OBSERVATION),
            behaviour=rows.lists("action_prob", "float32", len(about.agents), np.nan),
            rewards=rows.values("reward", "float64"),
            discount=about.discount,
            terminated=_terminated(rows, offsets),
            name=about.name,
            facts=about.facts,
        )
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(rows.source, None, str(error)) from None


class _Rows(NamedTuple):
    """The rows of an episodes file."""

    source: str
    table: Any  # of Arrow

    def values(self, name: str, kind: str) -> NDArray:
        """[r]: a column without nulls."""
        column = self._column(name, kind)
        self.reject(_nulls(column), name, "a value")
        return column.to_numpy(zero_copy_only=False)

    def lists(self, name: str, kind: str, width: int, missing: float) -> NDArray:
        """[r, n]: a column of lists, with `missing` in place of null; a null list counts as a list of nulls."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._column(name, pa.list_(pa.type_for_alias(kind)))
        lengths = np.asarray(pc.list_value_length(column).fill_null(width))
        self.reject(lengths != width, name, f"a list of {width} numbers, one per agent")
        values = np.full((len(column), width), missing, kind)
        numbers = column.flatten()  # omits null lists
        values[~_nulls(column)] = numbers.fill_null(missing).to_numpy(zero_copy_only=False).reshape(-1, width)
        return values

    def reject(self, wrong: NDArray[np.bool_], name: str, expected: str) -> None:
        """Raise FormatError for the first row that is `wrong`."""
        if not wrong.any():
            return
        row = int(np.argmax(wrong))
        episode, t, cell = (self.table[column][row].as_py() for column in ("episode_id", "t", name))
        where = f"row {row} (episode {episode}, step {t}), column {name}"
        raise FormatError(self.source, None, f"{where}: expected {expected}, got {'null' if cell is None else cell}")

    def _column(self, name: str, kind: Any) -> Any:
        """An Arrow array of that type."""
        import pyarrow as pa

        try:
            return self.table[name].cast(kind).combine_chunks()
        except pa.ArrowException as error:
            got = f"{self.table[name].type} ({message_of(error)})"
            raise FormatError(self.source, None, f"column {name}: expected {kind}, got {got}") from None


def _nulls(column: Any) -> NDArray[np.bool_]:
    return column.is_null().to_numpy(zero_copy_only=False)


def _load(source: str) -> _Rows:
    """The columns that are needed; each must occur once."""
    with open_parquet(source) as file:
        names = file.schema_arrow.names
        for name in COLUMNS:
            if names.count(name) != 1:
                only = f"only {', '.join(map(repr, names))}"
                got = f"{names.count(name)} of that name" if name in names else only[:300]
                raise FormatError(source, None, f"column {name}: expected one, got {got}")
        table = read_columns(file, COLUMNS, source)
    if not len(table):
        raise FormatError(source, None, "expected at least one row, got none")
    return _Rows(source, table)


def _metadata(rows: _Rows) -> EpisodesMetadata:
    data = (rows.table.schema.metadata or {}).get(KEY.encode())
    if data is None:
        expected = f'metadata: expected agents, labels and discount under "{KEY}", got nothing'
        raise FormatError(rows.source, None, expected)
    try:
        return from_json(data, EpisodesMetadata, rows.source, EPISODES_FORMAT)
    except FormatError as error:
        raise FormatError(rows.source, None, f"metadata: {error.message}") from None


def _offsets(rows: _Rows) -> NDArray[np.int64]:
    """[k + 1]: the first row of every episode, and the number of rows."""
    ids, times = rows.values("episode_id", "int64"), rows.values("t", "int64")
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    repeated = np.zeros(len(ids), bool)
    repeated[starts] = True
    repeated[starts[np.unique(ids[starts], return_index=True)[1]]] = False  # the first start of every id
    rows.reject(repeated, "episode_id", "an id not used before (the rows of an episode must be contiguous)")
    offsets = np.append(starts, len(ids))
    rows.reject(times != np.arange(len(ids)) - np.repeat(starts, np.diff(offsets)), "t", "0, 1, 2, ... in an episode")
    return offsets


def _terminated(rows: _Rows, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[k]: whether each episode terminated; also if its last row is both terminated and truncated."""
    last = np.zeros(len(rows.table), bool)
    last[offsets[1:] - 1] = True
    ended, cut = rows.values("terminated", "bool"), rows.values("truncated", "bool")
    for name, values in (("terminated", ended), ("truncated", cut)):
        rows.reject(values & ~last, name, "false before the last row of an episode")
    rows.reject(last & ~(ended | cut), "terminated", "terminated or truncated to be true on the last row of an episode")
    return ended[last]


def write_episodes(episodes: Episodes, path: FilePath) -> None:
    """Write all episodes to `path`, a Parquet file, completely or not at all."""
    checks.of_kind("episodes", episodes, Episodes)
    with EpisodeWriter(path, episodes.agents, episodes.discount, episodes.name, episodes.facts) as writer:
        writer.add(episodes)


class EpisodeWriter:
    """Writes episodes to one file as they come, holding only the latest rows in memory.

    A context manager: the file appears when the block succeeds, and not at all otherwise. Its content does not depend
    on how the episodes were divided among the calls of `add`.

    Parameters
    ----------
    path
        The new file.
    agents, discount, name, facts
        Of all episodes, as in `Episodes`.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with dp.EpisodeWriter(f"{folder}/e.parquet", model.agents, model.discount, model.name) as writer:
    ...         for part in dp.stream(model, episodes=20, horizon=10):  # any number of them, a few at a time
    ...             writer.add(part)
    ...     dp.Episodes.load(f"{folder}/e.parquet").count
    20
    """

    def __init__(
        self,
        path: FilePath,
        agents: Iterable[Agent],
        discount: float,
        name: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path_of(path)
        self.agents = team_of_agents(agents)
        self.discount = checked_discount(discount)
        self.count = 0  # episodes so far
        labels = [AgentLabels(agent.name, agent.actions, agent.observations) for agent in self.agents]
        known, software = dict(checked_facts(facts or {})), f"decpomdp {version('decpomdp')}"
        self._about = EpisodesMetadata(
            EPISODES_FORMAT, labels, self.discount, checks.line("name", name), known, software
        )
        self._stack = ExitStack()
        self._writer: Any = None
        self._waiting: list[Any] = []  # tables not yet written
        self._rows = 0  # in those tables

    def __enter__(self) -> Self:
        import pyarrow.parquet as pq

        schema = _schema(len(self.agents), self._about)
        options = {"compression": "zstd", "write_page_checksum": True}
        with ExitStack() as stack:
            temporary = stack.enter_context(replacing(self.path))
            sink = stack.enter_context(open(temporary, "wb"))
            self._writer = stack.enter_context(pq.ParquetWriter(sink, schema, **options))
            self._stack = stack.pop_all()
        return self

    def add(self, episodes: Episodes) -> None:
        """Append `episodes`; agents and discount must be those of the file. Their name and facts are ignored."""
        if self._writer is None:
            raise InputError("episodes: expected an EpisodeWriter inside its with block, got one outside")
        checks.of_kind("episodes", episodes, Episodes)
        if episodes.agents != self.agents or episodes.discount != self.discount:
            raise InputError("episodes: expected the agents and discount of the file, got different ones")
        self._waiting.append(_table(episodes, self.count, self._writer.schema))
        self.count += episodes.count
        self._rows += episodes.steps
        if self._rows >= GROUP or len(self._waiting) >= PARTS:
            self._write(self._rows // GROUP * GROUP)

    def _write(self, rows: int) -> None:
        """Join the waiting tables and write the first `rows` of them."""
        import pyarrow as pa

        table = pa.concat_tables(self._waiting).combine_chunks()
        if rows:
            with one_line_errors(self.path):
                self._writer.write_table(table.slice(0, rows), row_group_size=GROUP)
        self._waiting = [table.slice(rows)]
        self._rows -= rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                with self._stack:
                    if not self.count:
                        raise InputError(f"cannot write {self.path}: expected at least one episode, got none")
                    self._write(self._rows)
            else:
                with suppress(InputError):  # the error of the block is raised
                    self._stack.__exit__(kind, error, trace)
        finally:
            self._writer = None


def episodes_digest(episodes: Episodes, about: bytes) -> str:
    """SHA-256 of the content of episodes and of `about`, for run records; independent of the file format."""
    known = np.where(np.isnan(episodes.behaviour), np.float32(np.nan), episodes.behaviour)
    columns = {
        "length": episodes.lengths.astype("<i8"),
        "observation": episodes.observations.astype("<i2"),
        "action": episodes.actions.astype("<i2"),
        "action_prob": known.astype("<f4"),
        "reward": (episodes.rewards + 0.0).astype("<f8"),  # one sign of zero
        "terminated": np.asarray(episodes.terminated, np.uint8),
    }
    digest = hashlib.sha256(len(about).to_bytes(8, "little") + about)
    for name, column in columns.items():
        digest.update(name.encode() + hashlib.sha256(column.tobytes()).digest())
    return digest.hexdigest()


def _schema(agents: int, about: EpisodesMetadata) -> Any:
    import pyarrow as pa

    types = (
        *(pa.int32(), pa.int32()),
        *(pa.list_(number, agents) for number in (pa.int16(), pa.int16(), pa.float32())),
        *(pa.float64(), pa.bool_(), pa.bool_()),
    )
    fields = [pa.field(name, kind, nullable=False) for name, kind in zip(COLUMNS, types, strict=True)]
    return pa.schema(fields, metadata={KEY: msgspec.json.encode(about)})


def _table(episodes: Episodes, first_id: int, schema: Any) -> Any:
    """`episodes` as an Arrow table; missing observations and unknown probabilities become null."""
    import pyarrow as pa

    def lists(name: str, values: NDArray, missing: NDArray[np.bool_] | None = None) -> Any:
        flat = pa.array(values.ravel(), mask=None if missing is None else missing.ravel())
        return pa.FixedSizeListArray.from_arrays(flat, type=schema.field(name).type)

    ids = first_id + np.repeat(np.arange(episodes.count), episodes.lengths)
    last = episodes.offsets[1:] - 1
    ended, cut = np.zeros((2, episodes.steps), bool)
    ended[last] = episodes.terminated
    cut[last] = ~ended[last]
    columns = [
        ids.astype(np.int32),
        episodes.times().astype(np.int32),
        lists("observation", episodes.observations, episodes.observations == NO_OBSERVATION),
        lists("action", episodes.actions),
        lists("action_prob", episodes.behaviour, np.isnan(episodes.behaviour)),
        episodes.rewards,
        ended,
        cut,
    ]
    return pa.table(columns, schema=schema)
