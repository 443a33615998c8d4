"""The files of long tables: CSV or Parquet -> an Arrow table, its cells not yet checked."""

import csv
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from decpomdp.core import FormatError, InputError
from decpomdp.io.files import check_regular, is_csv, message_of
from decpomdp.io.parquet import check_memory, open_parquet, read_columns
from decpomdp.io.tables.columns import Columns

NEEDED = ("episode", "t", "agent", "observation", "action", "reward")
OPTIONAL = ("action_prob", "terminated", "truncated")
BLOCK = 1 << 24  # bytes of a CSV file that are parsed at a time; no row is longer


def load_table(source: str, renamed: Mapping[str, str]) -> Columns:
    """The columns of a file; `renamed` maps standard names to different names in the file."""
    known = (*NEEDED, *OPTIONAL)
    for name in renamed:
        if name not in known:
            raise InputError(f"columns: expected names among {', '.join(known)}, got {name!r}")
    called = {name: renamed.get(name, name) for name in known}
    if len(set(called.values())) < len(called):
        raise InputError(f"columns: expected a different column for each name, got {dict(renamed)}")
    table, names = (_read_csv if is_csv(source) else _read_parquet)(source, called)
    if not len(table):
        raise FormatError(source, None, "expected at least one row, got none")
    return Columns(source, table, names)


def _present(source: str, called: dict[str, str], header: list[str]) -> dict[str, str]:
    """The known columns that the file has; FormatError if one is missing or repeated."""
    for name, column in called.items():
        if header.count(column) > 1:
            raise FormatError(source, None, f"column {column}: expected one, got {header.count(column)} of that name")
        if name in NEEDED and column not in header:
            hint = f"if it has another name: decpomdp data convert --column {name}=COLUMN, or columns={{{name!r}: ...}}"
            if len(header) == 1 and any(sign in header[0] for sign in ";\t|"):
                hint = "expected commas between columns"
            got = f"only {', '.join(map(repr, header))}"[:300]
            raise FormatError(source, None, f"column {column}: expected one, got {got} ({hint})")
    return {name: column for name, column in called.items() if column in header}


def _read_parquet(source: str, called: dict[str, str]) -> tuple[Any, dict[str, str]]:
    with open_parquet(source) as file:
        names = _present(source, called, file.schema_arrow.names)
        return read_columns(file, tuple(names.values()), source), names


def _read_csv(source: str, called: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """All columns as texts; an empty cell is null."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    check_regular(source)
    invalid: list[Any] = []

    def note(row: Any) -> str:  # an exception raised here would not reach the caller
        invalid.append(row)
        return "error"

    try:
        with pa.input_stream(source, compression="detect") as stream, io.BufferedReader(stream) as file:
            header = next(csv.reader(file.readline(BLOCK).decode("utf-8-sig").splitlines()), [])
        if not any(header):
            raise FormatError(source, 1, "expected the names of columns in the first line, got none")
        names = _present(source, called, header)
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
            return _joined(source, reader, header, places), names
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise FormatError(source, 1, f"expected UTF-8 text: {error}") from None
    except (pa.ArrowException, OSError, ValueError, csv.Error, MemoryError) as error:
        if invalid:
            expected = f"expected {invalid[0].expected_columns} cells, one per column"
            row = invalid[0].number - 2  # the header is Arrow's row 1
            raise FormatError(source, None, f"row {row}: {expected}, got {invalid[0].actual_columns}") from None
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
                raise FormatError(source, None, f"row {rows + int(np.argmax(broken))}, column {name}: {expected}")
        batches.append(batch.select(places))
        rows, size = rows + len(batch), size + batches[-1].nbytes
        check_memory(source, size)
    return pa.Table.from_batches(batches, pa.schema([reader.schema.field(place) for place in places]))
