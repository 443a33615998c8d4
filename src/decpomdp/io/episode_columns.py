"""The columns of an episodes file, each checked as it becomes an array; nothing loops over rows in Python.

A number that does not fit is refused with its place: `row 17 (episode 3, step 2), column action, agent b: expected
..., got 5`. Rows are counted from 0 in the order of the file; the episode is its episode_id, the step its t.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, FormatError
from decpomdp.io.damage import refusal
from decpomdp.io.files import FilePath, path_of, words
from decpomdp.io.opening import parquet
from decpomdp.io.parquet_bounds import check_columns, check_lists, check_read
from decpomdp.io.parquet_columns import check_beside
from decpomdp.io.table_cells import is_list

COLUMNS = ("episode_id", "t", "observation", "action", "action_prob", "reward", "terminated", "truncated")
MOST_LABELS = 2**15  # symbols are kept in 16 bits
EXACT = 2**53  # beyond, a float64 does not hold every whole number
MOST_NUMBERS = 10_000  # in a list: there is one per agent


def _is_number(kind: Any, real: bool) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or (real and (types.is_floating(kind) or types.is_decimal(kind)))


class Type(NamedTuple):
    """What a column may hold."""

    words: str
    real: bool = False  # numbers that need not be whole
    lists: bool = False

    def fits(self, kind: Any) -> bool:
        """Whether an Arrow type is one of these."""
        if self.lists:
            return is_list(kind) and _is_number(kind.value_type, self.real) and "decimal" not in str(kind.value_type)
        return str(kind) == "bool" if self.words == TRUTHS else _is_number(kind, self.real)


TRUTHS = "truth values"
TYPES = {
    "episode_id": Type("whole numbers"),
    "t": Type("whole numbers"),
    "observation": Type("lists of whole numbers", lists=True),
    "action": Type("lists of whole numbers", lists=True),
    "action_prob": Type("lists of numbers", real=True, lists=True),
    "reward": Type("numbers", real=True),
    "terminated": Type(TRUTHS),
    "truncated": Type(TRUTHS),
}
LISTS = tuple(name for name, kind in TYPES.items() if kind.lists)


class Columns(NamedTuple):
    """An Arrow table with the columns of an episodes file, and where it comes from."""

    source: str
    table: Any
    metadata: dict[str, bytes]
    kinds: dict[str, Any]  # Arrow's types of all columns; those of wrong types were not read

    @classmethod
    def load(cls, path: FilePath) -> "Columns":
        """The table in the file at `path`, not yet checked beyond the names of its columns."""
        import pyarrow as pa

        source = path_of(path)
        try:
            with parquet(source) as found:
                _check_names(found.schema_arrow.names, source)
                schema = found.schema_arrow
                kinds = {name: schema.field(name).type for name in COLUMNS}
                read = [name for name in COLUMNS if TYPES[name].fits(kinds[name])]
                check_beside(schema, COLUMNS, source)
                values, rows = check_columns(found, read, source), found.metadata.num_rows
                lists = {name: count for name, count in values.items() if is_list(kinds[name])}
                check_lists(lists, rows, source, MOST_NUMBERS)
                table = found.read(columns=read)
            table.validate(full=True)
            check_read(table, lists, source)
            metadata = {key.decode(): value for key, value in (table.schema.metadata or {}).items()}  # the whole file's
        except FormatError:
            raise
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise refusal(source, "Parquet", COLUMNS, error) from None
        if not len(table):
            raise FormatError(source, None, "expected at least one row, got none")
        return cls(source, table, metadata, kinds)

    def offsets(self) -> NDArray[np.int64]:
        """[k + 1]: where every episode starts, and the number of rows."""
        ids, times = self._numbers("episode_id"), self._numbers("t")
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        order = np.argsort(ids[starts], kind="stable")
        again = np.zeros(len(ids), bool)
        again[starts[order[1:][np.diff(ids[starts][order]) == 0]]] = True
        self._refuse(again, "episode_id", "an id not used before (the rows of an episode stand together)", ids)
        offsets = np.append(starts, len(ids))
        expected = np.arange(len(ids)) - np.repeat(starts, np.diff(offsets))
        self._refuse(times != expected, "t", "0, 1, 2, ... within an episode", times)
        return offsets

    def observations(self, agents: Sequence[Agent], offsets: NDArray[np.int64]) -> NDArray[np.int16]:
        """[r, n]: NO_OBSERVATION where nothing was seen, which only the first row of an episode may say."""
        values, missing = self._lists("observation", len(agents))
        values = np.where(missing, NO_OBSERVATION, values)
        first = np.zeros(len(values), bool)
        first[offsets[:-1]] = True
        for n, agent in enumerate(agents):
            unseen, most = values[:, n] == NO_OBSERVATION, min(len(agent.observations), MOST_LABELS) - 1
            wrong = (unseen & ~first) | (values[:, n] < NO_OBSERVATION) | (values[:, n] > most)
            expected = f"a number from 0 to {most} (null only at t = 0)"
            self._refuse(wrong, f"observation, agent {agent.name}", expected, values[:, n], missing[:, n])
        return values.astype(np.int16)

    def actions(self, agents: Sequence[Agent]) -> NDArray[np.int16]:
        """[r, n]"""
        values, missing = self._lists("action", len(agents))
        for n, agent in enumerate(agents):
            most = min(len(agent.actions), MOST_LABELS) - 1
            wrong = missing[:, n] | (values[:, n] < 0) | (values[:, n] > most)
            expected = f"a number from 0 to {most}"
            self._refuse(wrong, f"action, agent {agent.name}", expected, values[:, n], missing[:, n])
        return values.astype(np.int16)

    def behaviour(self, agents: Sequence[Agent]) -> NDArray[np.float32]:
        """[r, n]: NaN where it is not known."""
        values, missing = self._lists("action_prob", len(agents), real=True)
        with np.errstate(over="ignore", invalid="ignore"):  # becomes inf and is refused; a NaN is one
            values = np.where(missing, np.nan, values).astype(np.float32)
        for n, agent in enumerate(agents):
            wrong = ~(np.isnan(values[:, n]) | ((values[:, n] > 0) & (values[:, n] <= 1)))
            expected = "a probability above 0 and up to 1 (null: unknown)"
            self._refuse(wrong, f"action_prob, agent {agent.name}", expected, values[:, n])
        return values

    def rewards(self) -> NDArray[np.float64]:
        """[r]"""
        values = self._numbers("reward", real=True)
        self._refuse(~np.isfinite(values), "reward", "a finite number", values)
        return values

    def terminated(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[k]: whether every episode ended by itself. A last row that is both terminated and truncated did."""
        last = np.zeros(len(self.table), bool)
        last[offsets[1:] - 1] = True
        ended, cut = self._flags("terminated"), self._flags("truncated")
        for name, values in (("terminated", ended), ("truncated", cut)):
            self._refuse(values & ~last, name, "false before the last row of an episode", values)
        neither = last & ~(ended | cut)
        self._refuse(neither, "terminated", "this or truncated to be true on the last row of an episode", ended)
        return ended[last]

    def _numbers(self, name: str, real: bool = False) -> NDArray:
        """[r]: a column of numbers without nulls, as int64, or as float64 if `real`."""
        import pyarrow as pa

        self._check_type(name)
        column = self.table[name].combine_chunks()
        self._refuse(_nulls(column), name, "a number")
        if real and pa.types.is_integer(column.type):
            whole = column.to_numpy(zero_copy_only=False)
            self._refuse((whole > EXACT) | (whole < -EXACT), name, f"a whole number up to {EXACT}", whole)
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.large_string()).cast(pa.float64())  # Arrow's own way may miss the nearest number
        return self._numpy(column, name, real)

    def _flags(self, name: str) -> NDArray[np.bool_]:
        """[r]: a column of truth values without nulls."""
        self._check_type(name)
        column = self.table[name].combine_chunks()
        self._refuse(_nulls(column), name, "true or false")
        return column.to_numpy(zero_copy_only=False)

    def _lists(self, name: str, width: int, real: bool = False) -> tuple[NDArray, NDArray[np.bool_]]:
        """[r, n] numbers and [r, n] which of them are null; null for a whole list is null for each of its numbers."""
        import pyarrow.compute as pc

        self._check_type(name)
        column = self.table[name].combine_chunks()
        lengths = pc.fill_null(pc.list_value_length(column), width).to_numpy(zero_copy_only=False)
        self._refuse(lengths != width, name, f"{width} numbers (one per agent)", lengths)
        flat, present = column.flatten(), ~_nulls(column)  # what is flattened leaves out the lists that are null
        values = np.zeros((len(column), width), np.float64 if real else np.int64)
        values[present] = self._numpy(flat, name, real).reshape(-1, width)
        missing = np.ones((len(column), width), bool)
        missing[present] = _nulls(flat).reshape(-1, width)
        return values, missing

    def _numpy(self, numbers: Any, name: str, real: bool) -> NDArray:
        """An Arrow array as float64 (null: NaN) or int64 (null: 0)."""
        import pyarrow as pa

        if real:
            with np.errstate(invalid="ignore"):  # a NaN of any kind is one
                return numbers.to_numpy(zero_copy_only=False).astype(np.float64)
        try:
            return numbers.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid as error:  # an unsigned number beyond int64
            raise FormatError(self.source, None, f"column {name}: {words(error)}") from None

    def _check_type(self, name: str) -> None:
        kind = self.kinds[name]
        if not TYPES[name].fits(kind):
            got = "an empty column" if str(kind) == "null" else kind
            raise FormatError(self.source, None, f"column {name}: expected {TYPES[name].words}, got {got}")

    def _refuse(
        self,
        wrong: NDArray[np.bool_],
        name: str,
        expected: str,
        values: NDArray | None = None,
        missing: NDArray[np.bool_] | None = None,
    ) -> None:
        """Raise FormatError for the first row that is `wrong`; `values` are what was found, null where `missing`."""
        if not np.any(wrong):
            return
        row = int(np.argmax(wrong))
        got = "null" if values is None or (missing is not None and missing[row]) else values[row]
        raise FormatError(self.source, None, f"{self._place(row, name)}, column {name}: expected {expected}, got {got}")

    def _place(self, row: int, name: str) -> str:
        """Where a row is, in words: its number alone for the columns that say so themselves, or if they cannot."""
        if name in ("episode_id", "t") or not all(_is_number(self.kinds[each], False) for each in ("episode_id", "t")):
            return f"row {row}"
        return f"row {row} (episode {self.table['episode_id'][row]}, step {self.table['t'][row]})"


def _check_names(names: Sequence[str], source: str) -> None:
    for name in COLUMNS:
        if names.count(name) != 1:
            got = f"{names.count(name)} of that name" if name in names else f"only {', '.join(map(repr, names))}"
            raise FormatError(source, None, f"column {name}: expected one, got {got[:300]}")


def _nulls(column: Any) -> NDArray[np.bool_]:
    return column.is_null().to_numpy(zero_copy_only=False)
