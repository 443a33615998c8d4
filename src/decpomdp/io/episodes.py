"""Episodes as a Parquet file: one row per (episode, t), so that any tool that reads tables can read them.

    episode_id int32            the rows of an episode stand together
    t int32                     0, 1, 2, ... within the episode
    observation list<int16>[N]  what the agents saw before they acted; null: nothing was seen (only at t = 0)
    action list<int16>[N]
    action_prob list<float32>[N]  probability with which the behaviour took that action; null or NaN: unknown
    reward float64
    terminated, truncated bool  on the last row of an episode: it ended by itself, or it was cut off

Compressed with zstd, unless it would stand for more than a reader believes, with a checksum on every page. The
metadata holds one JSON object under the key "decpomdp":
format, agents with their labels, discount, name, facts and the version that wrote it. Under the key "decpomdp-digest"
is a digest of that object and all rows (`episode_digest`). A file made by another tool may use other widths of
numbers, lists without a fixed size, null for a whole list, and further columns, and needs no digest, but has to
carry that object.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.core.episodes import checked_facts
from decpomdp.core.model import checked_discount
from decpomdp.io.arrow_files import arrow_file
from decpomdp.io.episode_columns import COLUMNS, LISTS
from decpomdp.io.episode_digest import DIGEST_KEY, Digest
from decpomdp.io.episode_stages import EPISODES_FORMAT, About, AgentLabels, stages_of_episodes
from decpomdp.io.files import FilePath, in_words, path_of, replacing
from decpomdp.io.kinds import KEY
from decpomdp.io.opening import DATA, WIDTH
from decpomdp.io.stages import made

GROUP = 2**17  # rows that are compressed and written together: what a writer holds in memory
PARTS = 256  # tables that wait for a full group before they are joined: many small ones take more than their rows


def write_episodes(episodes: Episodes, path: FilePath) -> None:
    """Write all episodes to `path`, a Parquet file, completely or not at all.

    Parameters
    ----------
    episodes
        What to write.
    path
        The new file; one that is there is replaced.

    Raises
    ------
    InputError
        They are no episodes, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> episodes = dp.simulate("dectiger", episodes=10, horizon=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_episodes(episodes, f"{folder}/episodes.parquet")
    ...     dp.read_episodes(f"{folder}/episodes.parquet") == episodes
    True
    """
    checks.of_kind("episodes", episodes, Episodes)
    with EpisodeWriter(path, episodes.agents, episodes.discount, episodes.name, episodes.facts) as writer:
        writer.add(episodes)


class EpisodeWriter:
    """Writes episodes to one file as they come, holding only the latest rows in memory.

    A context manager: the file appears when the block ends well, and not at all otherwise. What is in the file does
    not depend on how the episodes were divided among the calls of `add`.

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
    ...     dp.read_episodes(f"{folder}/e.parquet").count
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
        told = dict(checked_facts({} if facts is None else facts))
        self._about = About(EPISODES_FORMAT, labels, self.discount, checks.line("name", name), told, _software())
        self._stack = ExitStack()
        self._writer: Any = None
        self._waiting: list[Any] = []  # tables not yet written
        self._rows = 0  # in those tables
        self._digest = Digest()

    def __enter__(self) -> Self:
        import pyarrow.parquet as pq

        schema = _schema(len(self.agents), self._about)
        options = {"compression": "zstd", "write_page_checksum": True}
        with ExitStack() as stack:
            temporary = stack.enter_context(replacing(self.path))
            stack.push(lambda kind, *_: None if kind else _check_likely(temporary, len(self.agents)))
            sink = stack.enter_context(arrow_file(temporary, "wb"))
            self._writer = stack.enter_context(pq.ParquetWriter(sink, schema, **options))
            self._stack = stack.pop_all()
        return self

    def add(self, episodes: Episodes) -> None:
        """Append `episodes`; agents and discount must be those of the file. Name and facts of a part are not kept."""
        if self._writer is None:
            raise InputError("episodes: expected an EpisodeWriter inside its with block, got one outside")
        checks.of_kind("episodes", episodes, Episodes)
        if episodes.agents != self.agents or episodes.discount != self.discount:
            raise InputError("episodes: expected the agents and discount of the file, got different ones")
        self._waiting.append(_table(episodes, self.count, self._writer.schema))
        self._digest.add(episodes)
        self.count += episodes.count
        self._rows += episodes.steps
        if self._rows >= GROUP or len(self._waiting) >= PARTS:
            self._write(self._rows // GROUP * GROUP)

    def _write(self, rows: int) -> None:
        """Join the waiting tables and write the first `rows` of them."""
        import pyarrow as pa

        table = pa.concat_tables(self._waiting).combine_chunks()
        if rows:
            with in_words(self.path):
                self._writer.write_table(table.slice(0, rows), row_group_size=GROUP)
        self._waiting = [table.slice(rows)]
        self._rows -= rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                with self._stack:
                    self._finish()
            else:
                with suppress(InputError):  # the caller's error is the one to hear about
                    self._stack.__exit__(kind, error, trace)
        finally:
            self._writer = None

    def _finish(self) -> None:
        if not self.count:
            raise InputError(f"cannot write {self.path}: expected at least one episode, got none")
        self._write(self._rows)
        self._writer.add_key_value_metadata({DIGEST_KEY: self._digest.text(msgspec.json.encode(self._about))})


def read_episodes(path: FilePath) -> Episodes:
    """The episodes in the file at `path`; FormatError says what is wrong with it, in which row and column.

    Long tables and Minari datasets have readers of their own: docs/data.md.

    Parameters
    ----------
    path
        An episodes file (Parquet).

    Returns
    -------
    Episodes
        Equal to those that were written.

    Raises
    ------
    FormatError
        The file cannot be read, was changed since it was written, or is inconsistent; names row and column.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_episodes(dp.simulate("dectiger", episodes=10, horizon=5), f"{folder}/episodes.parquet")
    ...     dp.read_episodes(f"{folder}/episodes.parquet").count
    10
    """
    return made(stages_of_episodes(path))


def _check_likely(path: Path, agents: int) -> None:
    """Write the file at `path` anew, without packing, if it stands for so much that a reader would not believe it.

    Agents that always do the same take next to no bytes.
    """
    import pyarrow.parquet as pq

    with arrow_file(path, "rb") as file, pq.ParquetFile(file) as found:
        about = found.metadata
        groups = [about.row_group(n) for n in range(about.num_row_groups)]
        packed = sum(group.column(n).total_compressed_size for group in groups for n in range(about.num_columns))
        lists = sum(name in LISTS for name in COLUMNS)
        needed = about.num_rows * (lists * agents + len(COLUMNS) - lists) * WIDTH
        if needed <= DATA.most(packed // 2):
            return
        options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
        with (
            replacing(str(path)) as plain,
            arrow_file(plain, "wb") as sink,
            pq.ParquetWriter(sink, found.schema_arrow, **options) as writer,
        ):
            for n in range(about.num_row_groups):
                writer.write_table(found.read_row_group(n))


def _software() -> str:
    try:
        return f"decpomdp {version('decpomdp')}"
    except PackageNotFoundError:  # run from a folder, not installed
        return "decpomdp"


def _schema(agents: int, about: About) -> Any:
    import pyarrow as pa

    types = (
        *(pa.int32(), pa.int32()),
        *(pa.list_(number, agents) for number in (pa.int16(), pa.int16(), pa.float32())),
        *(pa.float64(), pa.bool_(), pa.bool_()),
    )
    fields = [pa.field(name, kind, nullable=False) for name, kind in zip(COLUMNS, types, strict=True)]
    return pa.schema(fields, metadata={KEY: msgspec.json.encode(about)})


def _table(episodes: Episodes, first_id: int, schema: Any) -> Any:
    """`episodes` as an Arrow table; what was not seen or is not known becomes null."""
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
