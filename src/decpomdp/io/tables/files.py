"""The files of long tables: which columns a CSV or Parquet file has, and their cells, not yet checked.

A CSV file is read once. Its bytes and lines are counted on the way: too many bytes are refused, and only if there are
more lines than rows are the quotation marks checked in a second pass.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from decpomdp.core import FormatError, InputError
from decpomdp.io.files import check_regular, words
from decpomdp.io.kinds import is_csv
from decpomdp.io.parquet import open_parquet, read_columns

NEEDED = ("episode", "t", "agent", "observation", "action", "reward")
OPTIONAL = ("action_prob", "terminated", "truncated")
LONGEST = 1 << 24  # bytes of a row of a CSV file
UNPACKED = 1 << 33  # bytes of a CSV file


def load_table(source: str, renamed: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """The Arrow table in a file, and our name -> the file's for each of its columns.

    `renamed` holds those names that differ. The cells of a CSV file are texts.
    """
    table, names = (_read_csv if is_csv(source) else _read_parquet)(source, _wanted(renamed))
    if not len(table):
        raise FormatError(source, None, "expected at least one row, got none")
    return table, names


def _wanted(renamed: Mapping[str, str]) -> dict[str, str]:
    """Our name -> that of the file, for every column."""
    known = (*NEEDED, *OPTIONAL)
    for name in renamed:
        if name not in known:
            raise InputError(f"columns: expected names among {', '.join(known)}, got {name!r}")
    wanted = {name: renamed.get(name, name) for name in known}
    owners: dict[str, str] = {}
    for name, called in wanted.items():
        other = owners.setdefault(called, name)
        if other != name:
            raise InputError(f"columns: expected a column of its own for each, got {called!r} for {other} and {name}")
    return wanted


def _present(source: str, wanted: dict[str, str], found: list[str]) -> dict[str, str]:
    """The wanted columns that are there; the needed ones have to be, each once."""
    for name, called in wanted.items():
        if found.count(called) > 1:
            said = f"column {called}: expected one, got {found.count(called)} of that name"
            raise FormatError(source, None, said)
        if name in NEEDED and called not in found:
            hint = f"under another name? --column {name}=THEIRS, columns={{{name!r}: ...}}"
            if len(found) == 1 and any(sign in found[0] for sign in ";\t|"):
                hint = "expected commas between columns"
            got = f"only {', '.join(map(repr, found))}"[:300]
            raise FormatError(source, None, f"column {called}: expected one, got {got} ({hint})")
    return {name: called for name, called in wanted.items() if called in found}


def _read_parquet(source: str, wanted: dict[str, str]) -> tuple[Any, dict[str, str]]:
    import pyarrow as pa

    with open_parquet(source) as file:
        names = _present(source, wanted, file.schema_arrow.names)
        table = read_columns(file, tuple(names.values()), source).select(list(names.values()))
        for place, column in enumerate(table.columns):
            if pa.types.is_dictionary(column.type):
                table = table.set_column(place, table.column_names[place], column.cast(column.type.value_type))
    return table, names


def _read_csv(source: str, wanted: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """All columns as texts; an empty cell is null."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    check_regular(source)
    bad: list[Any] = []

    def refuse(row: Any) -> str:  # Arrow cannot carry an exception from here
        bad.append(row)
        return "error"

    try:
        names = _present(source, wanted, _header(source))
        with pa.input_stream(source, compression="detect") as stream:
            text = _CountedText(stream, source)
            table = arrow.read_csv(
                text,
                arrow.ReadOptions(use_threads=False, block_size=LONGEST),  # threads would not number rows
                arrow.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
                arrow.ConvertOptions(
                    column_types=dict.fromkeys(names.values(), pa.string()),
                    include_columns=list(names.values()),
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )
        if text.lines != len(table) + 1:
            _check_quotes(source)
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        if bad:
            got = f"expected {bad[0].expected_columns} cells, one per column, got {bad[0].actual_columns}"
            raise FormatError(source, None, f"row {bad[0].number - 2}: {got}") from None  # the header is Arrow's row 1
        if "Empty CSV" in str(error):  # a header without a line end
            raise FormatError(source, None, "expected at least one row, got none") from None
        _check_encoding(source)
        raise FormatError(source, None, f"cannot be read as a table: {words(error)}") from None
    return table, names


class _CountedText(io.RawIOBase):
    """The text of a CSV file, unpacked; counts bytes and lines on the way."""

    def __init__(self, stream: Any, source: str) -> None:
        self.stream, self.source = stream, source
        self.bytes, self.line_ends, self.last = 0, 0, b""

    def readable(self) -> bool:
        """Arrow asks."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes; FormatError beyond the bound."""
        data: bytes = self.stream.read(size)
        self.bytes += len(data)
        self.line_ends += data.count(b"\n")
        self.last = data[-1:] or self.last
        if self.bytes > UNPACKED:
            raise FormatError(self.source, None, f"expected at most {UNPACKED} bytes of text, got more; use Parquet")
        return data

    @property
    def lines(self) -> int:
        """Lines so far, the last one with or without its end."""
        return self.line_ends + (self.last != b"\n")


@contextmanager
def _text(source: str, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The file at `source`, unpacked and decoded, for Python's csv module."""
    import pyarrow as pa

    with pa.input_stream(source, compression="detect") as stream, io.BufferedReader(stream) as file:
        yield io.TextIOWrapper(file, encoding=encoding, newline="")


def _header(source: str) -> list[str]:
    """The names of the columns."""
    with _text(source, "utf-8-sig") as text:
        try:
            header = next(csv.reader([text.readline(LONGEST)]), [])
        except csv.Error as error:
            raise FormatError(source, 1, f"expected the names of columns, got {error}") from None
    if not any(header):
        raise FormatError(source, 1, "expected the names of columns in the first line, got none")
    return header


def _check_quotes(source: str) -> None:
    """Raise FormatError for a quotation mark that is not closed, or closed in the middle of a cell.

    Arrow accepts both and takes the rows up to the next mark for a part of one cell. Called only if a file has more
    lines than rows.
    """
    rows, before = 0, csv.field_size_limit(LONGEST)
    try:
        with _text(source, "utf-8-sig") as text:
            for row in csv.reader(text, strict=True):
                rows += bool(row)  # empty lines are no rows
    except csv.Error as error:
        expected = "expected quotation marks around whole cells, the last one closed"
        raise FormatError(source, None, f"row {rows - 1}: {expected}, got another ({error})") from None
    finally:
        csv.field_size_limit(before)


def _check_encoding(source: str) -> None:
    """Raise FormatError for the first line that is not UTF-8."""
    import pyarrow as pa

    try:
        with pa.input_stream(source, compression="detect") as stream, io.BufferedReader(stream) as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    got = f"another encoding (byte {line[error.start]:#04x})"
                    raise FormatError(source, number, f"expected UTF-8 text, got {got}") from None
    except (pa.ArrowException, OSError):  # the caller has a better message
        return
