"""Reading episodes files, column by column; nothing loops over rows in Python.

Errors name the place: `row 17 (episode 3, step 2), column action, agent b: expected ..., got 5`. Rows are counted from
0 in the order of the file; the episode is its episode_id, the step its t.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, FormatError, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.core.episodes import checked_facts
from decpomdp.core.model import checked_discount
from decpomdp.io.files import FilePath, from_json, path_of, words
from decpomdp.io.kinds import KEY, conversion
from decpomdp.io.parquet import open_parquet, read_columns
from decpomdp.io.validation import Checks

EPISODES_FORMAT = "decpomdp-episodes/1"
TYPES = {  # column -> what it has to hold
    "episode_id": "whole numbers",
    "t": "whole numbers",
    "observation": "lists of whole numbers",
    "action": "lists of whole numbers",
    "action_prob": "lists of numbers",
    "reward": "numbers",
    "terminated": "truth values",
    "truncated": "truth values",
}
MOST_LABELS = 2**15  # symbols are kept in 16 bits


class AgentLabels(msgspec.Struct, forbid_unknown_fields=True):
    """An agent in the metadata."""

    name: str
    actions: tuple[str, ...]
    observations: tuple[str, ...]


class About(msgspec.Struct, forbid_unknown_fields=True):
    """The metadata."""

    format: str
    agents: list[AgentLabels]
    discount: float
    name: str
    facts: dict[str, str]
    software: str


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
        The file cannot be read or is inconsistent; names row and column.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.simulate("dectiger", episodes=10, horizon=5).save(f"{folder}/episodes.parquet")
    ...     dp.Episodes.load(f"{folder}/episodes.parquet").count
    10
    """
    episodes: Episodes = episodes_in(path, Checks())
    return episodes


def episodes_in(path: FilePath, check: Checks) -> Any:
    """The episodes in the file at `path`; None if a check failed and its error was collected."""
    rows = check.run(_Rows.load, path_of(path))
    about = check.run(_metadata, rows)
    offsets = check.run(_offsets, rows)
    parts = {
        "offsets": offsets,
        "observations": check.run(_observations, rows, about, offsets),
        "actions": check.run(_actions, rows, about),
        "behaviour": check.run(_behaviour, rows, about),
        "rewards": check.run(_rewards, rows),
        "terminated": check.run(_terminated, rows, offsets),
    }
    return None if check.errors else Episodes(**about, **parts)


class _Rows(NamedTuple):
    """The columns of an episodes file as they were read."""

    source: str
    table: Any  # of Arrow

    @classmethod
    def load(cls, source: str) -> "_Rows":
        """The columns that are needed; each must be there once."""
        other = conversion(source)
        if other is not None:
            raise FormatError(source, None, f"expected an episodes file, {other}")
        with open_parquet(source) as file:
            names = file.schema_arrow.names
            for name in TYPES:
                if names.count(name) != 1:
                    only = f"only {', '.join(map(repr, names))}"
                    got = f"{names.count(name)} of that name" if name in names else only[:300]
                    raise FormatError(source, None, f"column {name}: expected one, got {got}")
            table = read_columns(file, tuple(TYPES), source)
        if not len(table):
            raise FormatError(source, None, "expected at least one row, got none")
        return cls(source, table)

    def numbers(self, name: str, real: bool = False) -> NDArray:
        """[r]: a column of numbers without nulls, as int64, or as float64 if `real`."""
        column = self._column(name)
        self.refuse(_nulls(column), name, "a number")
        return self._numpy(column, name, real)

    def flags(self, name: str) -> NDArray[np.bool_]:
        """[r]: a column of truth values without nulls."""
        column = self._column(name)
        self.refuse(_nulls(column), name, "true or false")
        return column.to_numpy(zero_copy_only=False)

    def lists(self, name: str, width: int, real: bool = False) -> tuple[NDArray, NDArray[np.bool_]]:
        """[r, n] numbers and [r, n] which of them are null; null for a whole list is null for each of its numbers."""
        import pyarrow.compute as pc

        column = self._column(name)
        lengths = pc.fill_null(pc.list_value_length(column), width).to_numpy(zero_copy_only=False)
        self.refuse(lengths != width, name, f"{width} numbers (one per agent)", lengths)
        flat, present = column.flatten(), ~_nulls(column)  # flatten leaves out lists that are null
        values = np.zeros((len(column), width), np.float64 if real else np.int64)
        values[present] = self._numpy(flat, name, real).reshape(-1, width)
        missing = np.ones((len(column), width), bool)
        missing[present] = _nulls(flat).reshape(-1, width)
        return values, missing

    def refuse(
        self,
        wrong: NDArray[np.bool_],
        name: str,
        expected: str,
        values: NDArray | None = None,
        missing: NDArray[np.bool_] | None = None,
    ) -> None:
        """Raise FormatError for the first row that is `wrong`; `values` are the cells, null where `missing`."""
        if not np.any(wrong):
            return
        row = int(np.argmax(wrong))
        got = "null" if values is None or (missing is not None and missing[row]) else values[row]
        at, ids = f"row {row}", ("episode_id", "t")
        if name not in ids and all(_fits(self.table.schema.field(each).type, TYPES[each]) for each in ids):
            at += f" (episode {self.table['episode_id'][row]}, step {self.table['t'][row]})"
        raise FormatError(self.source, None, f"{at}, column {name}: expected {expected}, got {got}")

    def _column(self, name: str) -> Any:
        """An Arrow array; FormatError unless it has the right type."""
        kind = self.table.schema.field(name).type
        if not _fits(kind, TYPES[name]):
            got = "an empty column" if str(kind) == "null" else kind
            raise FormatError(self.source, None, f"column {name}: expected {TYPES[name]}, got {got}")
        return self.table[name].combine_chunks()

    def _numpy(self, numbers: Any, name: str, real: bool) -> NDArray:
        """An Arrow array as float64 (null: NaN) or int64 (null: 0)."""
        import pyarrow as pa

        if real:
            return numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        try:
            return numbers.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid as error:  # an unsigned number beyond int64
            raise FormatError(self.source, None, f"column {name}: {words(error)}") from None


def _fits(kind: Any, expected: str) -> bool:
    """Whether an Arrow type is the expected one, by the words of TYPES."""
    from pyarrow import types

    if expected == "truth values":
        return bool(types.is_boolean(kind))
    if expected.startswith("lists of "):
        lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return lists and _fits(kind.value_type, expected.removeprefix("lists of "))
    real = expected == "numbers" and (types.is_floating(kind) or types.is_decimal(kind))
    return bool(types.is_integer(kind) or real)


def _nulls(column: Any) -> NDArray[np.bool_]:
    return column.is_null().to_numpy(zero_copy_only=False)


def _metadata(rows: _Rows) -> dict[str, Any]:
    """Agents, discount, name and facts of all episodes."""
    data = (rows.table.schema.metadata or {}).get(KEY.encode())
    if data is None:
        expected = f'metadata: expected agents, labels and discount under "{KEY}", got nothing'
        raise FormatError(rows.source, None, expected)
    try:
        about = from_json(data, About, rows.source, EPISODES_FORMAT)
        return {
            "agents": team_of_agents(Agent(agent.name, agent.actions, agent.observations) for agent in about.agents),
            "discount": checked_discount(about.discount),
            "name": checks.line("name", about.name),
            "facts": checked_facts(about.facts),
        }
    except InputError as error:
        message = error.message if isinstance(error, FormatError) else str(error)
        raise FormatError(rows.source, None, f"metadata: {message}") from None


def _offsets(rows: _Rows) -> NDArray[np.int64]:
    """[k + 1]: the first row of every episode, and the number of rows."""
    ids, times = rows.numbers("episode_id"), rows.numbers("t")
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    again = np.ones(len(starts), bool)
    again[np.unique(ids[starts], return_index=True)[1]] = False  # the first start of every id
    repeated = np.zeros(len(ids), bool)
    repeated[starts[again]] = True
    rows.refuse(repeated, "episode_id", "an id not used before (the rows of an episode stand together)", ids)
    offsets = np.append(starts, len(ids))
    expected = np.arange(len(ids)) - np.repeat(starts, np.diff(offsets))
    rows.refuse(times != expected, "t", "0, 1, 2, ... within an episode", times)
    return offsets


def _observations(rows: _Rows, about: Mapping[str, Any], offsets: NDArray[np.int64]) -> NDArray[np.int16]:
    """[r, n]: NO_OBSERVATION where nothing was seen, which is allowed in the first row of an episode only."""
    agents: Sequence[Agent] = about["agents"]
    values, missing = rows.lists("observation", len(agents))
    values = np.where(missing, NO_OBSERVATION, values)
    first = np.zeros(len(values), bool)
    first[offsets[:-1]] = True
    for n, agent in enumerate(agents):
        unseen, most = values[:, n] == NO_OBSERVATION, min(len(agent.observations), MOST_LABELS) - 1
        wrong = (unseen & ~first) | (values[:, n] < NO_OBSERVATION) | (values[:, n] > most)
        expected = f"a number from 0 to {most} (null only at t = 0)"
        rows.refuse(wrong, f"observation, agent {agent.name}", expected, values[:, n], missing[:, n])
    return values.astype(np.int16)


def _actions(rows: _Rows, about: Mapping[str, Any]) -> NDArray[np.int16]:
    """[r, n]"""
    agents: Sequence[Agent] = about["agents"]
    values, missing = rows.lists("action", len(agents))
    for n, agent in enumerate(agents):
        most = min(len(agent.actions), MOST_LABELS) - 1
        wrong = missing[:, n] | (values[:, n] < 0) | (values[:, n] > most)
        rows.refuse(wrong, f"action, agent {agent.name}", f"a number from 0 to {most}", values[:, n], missing[:, n])
    return values.astype(np.int16)


def _behaviour(rows: _Rows, about: Mapping[str, Any]) -> NDArray[np.float32]:
    """[r, n]: NaN where it is not known."""
    agents: Sequence[Agent] = about["agents"]
    values, missing = rows.lists("action_prob", len(agents), real=True)
    with np.errstate(over="ignore"):  # becomes infinite and is refused
        values = np.where(missing, np.nan, values).astype(np.float32)
    for n, agent in enumerate(agents):
        wrong = ~(np.isnan(values[:, n]) | ((values[:, n] > 0) & (values[:, n] <= 1)))
        expected = "a probability above 0 and up to 1 (null: unknown)"
        rows.refuse(wrong, f"action_prob, agent {agent.name}", expected, values[:, n])
    return values


def _rewards(rows: _Rows) -> NDArray[np.float64]:
    """[r]"""
    values = rows.numbers("reward", real=True)
    rows.refuse(~np.isfinite(values), "reward", "a finite number", values)
    return values


def _terminated(rows: _Rows, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[k]: whether every episode ended by itself. If its last row is both terminated and truncated, it did."""
    last = np.zeros(len(rows.table), bool)
    last[offsets[1:] - 1] = True
    ended, cut = rows.flags("terminated"), rows.flags("truncated")
    for name, values in (("terminated", ended), ("truncated", cut)):
        rows.refuse(values & ~last, name, "false before the last row of an episode", values)
    neither = last & ~(ended | cut)
    rows.refuse(neither, "terminated", "this or truncated to be true on the last row of an episode", ended)
    return ended[last]
