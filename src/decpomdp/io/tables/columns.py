"""The columns of a long table, CSV or Parquet, as arrays, without Python loops over rows.

Cells of a CSV file are texts, those of a Parquet file have types; both become the same arrays. Errors give the place:
`row 17, column action: expected ..., got 'jump'`. Rows of a CSV file are counted as in an editor: the header is row 1,
lines without cells do not count. Rows of a Parquet file are counted from 0.
"""

import csv
import io
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import FormatError, InputError, checks
from decpomdp.io.files import check_memory, is_csv, message_of, open_parquet, read_columns

NEEDED = ("episode", "t", "agent", "observation", "action", "reward")
OPTIONAL = ("action_prob", "terminated", "truncated")
PART = "observation_"  # first letters of columns that hold one number of an observation each
FIRST_ROW = 2  # of a CSV file, after the header
BLOCK = 1 << 24  # bytes of a CSV file that are parsed at a time; no row is longer
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:nan|inf)$"
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
EXACT = 2.0**53  # larger floats are not exact whole numbers

Numbers = tuple[NDArray[np.float64], NDArray[np.bool_]]  # [row] values, [row] which cells are empty


class Cells(NamedTuple):
    """A column of labels."""

    labels: list[str]  # distinct, in the order of their first row
    codes: NDArray[np.int64]  # [row] index into `labels`; -1: empty


class Columns(NamedTuple):
    """A long table, with the names of its columns in the file."""

    source: str
    table: Any  # of Arrow
    names: dict[str, str]  # standard name -> name in the file
    unused: tuple[str, ...]  # other columns of the file

    @property
    def observations(self) -> list[str]:
        """The column `observation`, or the columns that hold its numbers."""
        return [name for name in self.names if name == "observation" or name.startswith(PART)]

    def has(self, name: str) -> bool:
        """Whether an optional column exists and has a value."""
        return name in self.names and self.table[self.names[name]].null_count < len(self.table)

    def labels(self, name: str, allow_empty: bool = False) -> Cells:
        """Labels or whole numbers, as texts."""
        import pyarrow.compute as pc
        from pyarrow import types

        column = self._column(name, "labels or whole numbers (cast others to text first)")
        if types.is_floating(column.type):  # data frames turn whole numbers into floats if a cell is empty
            column = pc.if_else(pc.is_nan(column), None, column)
        cells = _distinct(column)
        if not allow_empty:
            self.reject(cells.codes < 0, name, "a label or a whole number")
        unprintable = [code for code, label in enumerate(cells.labels) if CONTROL.search(label)]
        self.reject(np.isin(cells.codes, unprintable), name, "a label without control characters")
        return cells

    def numbers(self, name: str, allow_nan: bool = False) -> Numbers:
        """Finite numbers and empty cells; NaN counts as empty if allowed."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._column(name, "numbers")
        if _is_text(column.type):
            self.reject(~np.asarray(pc.match_substring_regex(column, DECIMAL).fill_null(True)), name, "a number")
        missing = np.asarray(column.is_null())
        values = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy()
        if allow_nan:
            missing = missing | np.isnan(values)
            values = np.where(missing, 0.0, values)
        self.reject(~np.isfinite(values), name, "a finite number")
        return values, missing

    def times(self, name: str) -> NDArray[np.int64]:
        """[row]: whole numbers from 0."""
        values, missing = self.numbers(name)
        valid = ~missing & (values >= 0) & (values < EXACT) & (values == np.rint(values))
        self.reject(~valid, name, "a whole number from 0")
        return values.astype(np.int64)

    def flags(self, name: str) -> NDArray[np.bool_]:
        """[row]: true or false, 1 or 0, 1.0 or 0.0."""
        cells = _distinct(self._column(name, "truth values", boolean=True))
        truths = [TRUTHS.get(whole_text(label).lower()) for label in cells.labels] + [None]
        self.reject(np.array([truth is None for truth in truths])[cells.codes], name, "true or false")
        return np.array([truth is True for truth in truths])[cells.codes]

    def reject(self, wrong: NDArray[np.bool_], name: str, expected: str) -> None:
        """Raise FormatError for the first row that is `wrong`."""
        if wrong.any():
            raise self.error(int(np.argmax(wrong)), name, expected)

    def error(self, row: int, name: str, expected: str, got: str = "") -> FormatError:
        """An error about a cell; `got` replaces the content of the cell in the message."""
        cell = self.table[self.names[name]][row].as_py()
        got = got or ("nothing" if cell is None else repr(cell)[:80])
        row += FIRST_ROW if is_csv(self.source) else 0
        return FormatError(self.source, None, f"row {row}, column {self.names[name]}: expected {expected}, got {got}")

    def _column(self, name: str, expected: str, boolean: bool = False) -> Any:
        """An Arrow column of texts or numbers, or also of truth values."""
        import pyarrow as pa
        from pyarrow import types

        column = self.table[self.names[name]]
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        if types.is_null(kind):
            return column.cast(pa.string())
        numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        if not (numeric or _is_text(kind) or (boolean and types.is_boolean(kind))):
            raise FormatError(self.source, None, f"column {self.names[name]}: expected {expected}, got {kind}")
        return column


def whole_text(label: str) -> str:
    """Turn `12.0`, which data frames write for 12, into `12`; other texts are unchanged."""
    match = WHOLE.fullmatch(label)
    return label if match is None else match[1]


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _distinct(column: Any) -> Cells:
    """The distinct values of an Arrow column as texts."""
    import pyarrow as pa

    encoded = column.dictionary_encode().combine_chunks()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Cells(encoded.dictionary.cast(pa.string()).to_pylist(), codes)


def load_table(source: str, renamed: Mapping[str, str], in_parts: bool) -> Columns:
    """The columns of a file; `renamed` maps standard names to different names in the file.

    `in_parts`: observations may be columns `observation_x`, `observation_y`, ... instead of one column.
    """
    known = (*NEEDED, *OPTIONAL)
    if not isinstance(renamed, Mapping) or not all(isinstance(word, str) for pair in renamed.items() for word in pair):
        expected = "a mapping from standard names to names in the file"
        raise InputError(f"columns: expected {expected}, got {checks.kind_of(renamed)}")
    for name in renamed:
        if name not in known:
            raise InputError(f"columns: expected names among {', '.join(known)}, got {name!r}")
    called = {name: renamed.get(name, name) for name in known}
    if len(set(called.values())) < len(called):
        raise InputError(f"columns: expected a different column for each name, got {dict(renamed)}")
    table, names, header = (_read_csv if is_csv(source) else _read_parquet)(source, called, in_parts)
    if not len(table):
        raise FormatError(source, None, "expected at least one row, got none")
    return Columns(source, table, names, tuple(column for column in header if column not in names.values()))


def _present(source: str, called: dict[str, str], header: list[str], in_parts: bool) -> dict[str, str]:
    """The known columns that the file has; FormatError if one is missing or repeated."""
    parts = [column for column in header if column.startswith(PART)]
    if in_parts and parts and called["observation"] not in header:
        called = {name: column for name, column in called.items() if name != "observation"}
        called |= {part: part for part in parts}
    for column in called.values():
        if header.count(column) > 1:
            raise FormatError(source, None, f"column {column}: expected one, got {header.count(column)} of that name")
    missing = [name for name in called if name in NEEDED and called[name] not in header]
    if missing:
        first, options = missing[0], " ".join(f"--column {name}=COLUMN" for name in missing)
        hint = f"if columns have other names: decpomdp data convert {options}, or columns={{{first!r}: ...}}"
        if len(header) == 1 and any(sign in header[0] for sign in ";\t|"):
            hint = "expected commas between columns"
        names = ", ".join(called[name] for name in missing)
        what = f"column {names}: expected one" if len(missing) == 1 else f"columns {names}: expected one of each"
        got = f"only {', '.join(map(repr, header))}"[:300]
        raise FormatError(source, None, f"{what}, got {got} ({hint})")
    return {name: column for name, column in called.items() if column in header}


def _read_parquet(source: str, called: dict[str, str], in_parts: bool) -> tuple[Any, dict[str, str], list[str]]:
    with open_parquet(source) as file:
        header = file.schema_arrow.names
        names = _present(source, called, header, in_parts)
        return read_columns(file, tuple(names.values()), source), names, header


def _read_csv(source: str, called: dict[str, str], in_parts: bool) -> tuple[Any, dict[str, str], list[str]]:
    """The known columns as texts (an empty cell is null), their names, and all names in the file."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    invalid: list[Any] = []

    def note(row: Any) -> str:  # an exception raised here would not reach the caller
        invalid.append(row)
        return "error"

    try:
        with pa.input_stream(source, compression="detect") as stream, io.BufferedReader(stream) as file:
            header = next(csv.reader(file.readline(BLOCK).decode("utf-8-sig").splitlines()), [])
        if not any(header):
            raise FormatError(source, 1, "expected the names of columns in the first line, got none")
        names = _present(source, called, header, in_parts)
        with pa.input_stream(source, compression="detect") as stream:
            reader = arrow.open_csv(
                stream,
                arrow.ReadOptions(use_threads=False, block_size=BLOCK),  # threads would not number rows
                arrow.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
                arrow.ConvertOptions(
                    column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=True, null_values=[""]
                ),
            )
            places = [header.index(column) for column in names.values()]
            return _joined(source, reader, header, places), names, header
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise FormatError(source, 1, f"expected UTF-8 text: {error}") from None
    except (pa.ArrowException, OSError, ValueError, csv.Error, MemoryError) as error:
        if invalid:
            expected = f"expected {invalid[0].expected_columns} cells, one per column"
            where = f"row {invalid[0].number}"
            raise FormatError(source, None, f"{where}: {expected}, got {invalid[0].actual_columns}") from None
        raise FormatError(source, None, f"cannot be read as a table: {message_of(error)}") from None


def _joined(source: str, reader: Any, header: list[str], places: list[int]) -> Any:
    """The columns at `places` of all batches.

    A line break in a cell is an error: after an unclosed quotation mark, Arrow reads the following rows as one cell.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    batches, rows, size = [], 0, 0
    for batch in reader:
        for name, column in zip(header, batch.columns, strict=True):
            broken = np.asarray(pc.match_substring_regex(column, "[\r\n]").fill_null(False))
            if broken.any():
                expected = "expected no line break in a cell (is a quotation mark not closed?), got one"
                row = FIRST_ROW + rows + int(np.argmax(broken))
                raise FormatError(source, None, f"row {row}, column {name}: {expected}")
        batches.append(batch.select(places))
        rows, size = rows + len(batch), size + batches[-1].nbytes
        check_memory(source, size)
    return pa.Table.from_batches(batches, pa.schema([reader.schema.field(place) for place in places]))
