"""Writing episodes files: all at once, or part by part as episodes are made."""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.core.episodes import checked_facts
from decpomdp.core.model import checked_discount
from decpomdp.io.episodes.read import COLUMNS, EPISODES_FORMAT, About, AgentLabels
from decpomdp.io.files import FilePath, one_line_errors, path_of, replacing
from decpomdp.io.kinds import KEY

GROUP = 2**17  # rows of a row group, which a writer holds in memory
PARTS = 256  # small tables held before they are joined


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
        self._about = About(EPISODES_FORMAT, labels, self.discount, checks.line("name", name), known, software)
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
