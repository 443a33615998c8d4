"""Long tables as files: which columns there are, and what is in them, not yet looked at."""

import csv
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import TextIOWrapper
from typing import Any

from decpomdp.core import FormatError, InputError
from decpomdp.io.kinds import is_csv
from decpomdp.io.opening import CHANGED, check_file, check_rows, parquet
from decpomdp.io.packing import PIECE, check_packed, stream_of, unpacked

NEEDED = ("episode", "t", "agent", "observation", "action", "reward")
OPTIONAL = ("action_prob", "terminated", "truncated")
LONGEST = 1 << 24  # bytes of a row of CSV
UNKNOWN = "Not yet implemented"  # how Arrow says that it cannot do something
TOO_LONG = f"expected at most {LONGEST // 2} letters, got more (a quotation mark that is not closed?)"


def load_table(source: str, columns: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """An Arrow table (of texts, if CSV), and the file's names of its columns by ours."""
    return (_csv if is_csv(source) else _parquet)(source, _wanted(columns))


def _wanted(columns: Mapping[str, str]) -> dict[str, str]:
    for name in columns:
        if name not in (*NEEDED, *OPTIONAL):
            raise InputError(f"columns: expected names among {', '.join((*NEEDED, *OPTIONAL))}, got {name!r}")
    wanted = {name: columns.get(name, name) for name in (*NEEDED, *OPTIONAL)}
    owners: dict[str, str] = {}
    for name, called in wanted.items():
        other = owners.setdefault(called, name)
        if other != name:
            raise InputError(f"columns: expected a column of its own for each, got {called!r} for {other} and {name}")
    return wanted


def _present(source: str, wanted: dict[str, str], found: list[str]) -> dict[str, str]:
    """The wanted columns that are there; the needed ones have to be, each once."""
    for name, called in wanted.items():
        if found.count(called) > 1 or (name in NEEDED and called not in found):
            got = f"{found.count(called)} of that name" if called in found else f"only {', '.join(map(repr, found))}"
            raise FormatError(
                source, None, f"column {called}: expected one, got {got[:300]}{_hint(name, called, found)}"
            )
    return {name: called for name, called in wanted.items() if called in found}


def _hint(name: str, called: str, found: list[str]) -> str:
    """What may help where a column is missing."""
    if called in found:
        return ""
    if len(found) == 1 and any(sign in found[0] for sign in ";\t|"):
        return " (expected commas between columns)"
    return f" (under another name? --column {name}=THEIRS, columns={{{name!r}: ...}})"


def _csv(source: str, wanted: dict[str, str]) -> tuple[Any, dict[str, str]]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    check_file(source)
    header = _header(source)
    names = _present(source, wanted, header)
    check_packed(source, len(names))

    bad: list[Any] = []

    def refuse(row: Any) -> str:  # Arrow cannot carry an exception of ours
        bad.append(row)
        return "error"

    options = {
        "read_options": arrow.ReadOptions(use_threads=False, block_size=LONGEST),  # only then are bad rows numbered
        "parse_options": arrow.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
        "convert_options": arrow.ConvertOptions(
            column_types=dict.fromkeys(names.values(), pa.large_string()),
            include_columns=list(names.values()),
            strings_can_be_null=True,
            null_values=[""],
        ),
    }
    try:
        return arrow.read_csv(stream_of(source), **options), names
    except pa.ArrowInvalid:
        if not bad:
            _refuse_other_encoding(source)
            _refuse_odd_rows(source)
            raise
        row = bad[0]
        got = f"expected {row.expected_columns} cells, one per column, got {row.actual_columns}"
        raise FormatError(source, None, f"row {row.number - 2}: {got}") from None  # the header is Arrow's row 1


@contextmanager
def _text(source: str) -> Iterator[Iterator[str]]:
    """The lines of a CSV file; those that no reader could hold come in pieces."""
    with unpacked(source) as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        yield iter(partial(text.readline, LONGEST), "")


def _header(source: str) -> list[str]:
    with _text(source) as lines:
        try:
            header = next(csv.reader(lines), [])
        except csv.Error as error:
            raise FormatError(source, 1, f"expected the names of columns, got {error}") from None
        except UnicodeDecodeError:
            _refuse_other_encoding(source)
            raise
    if not any(header):
        raise FormatError(source, 1, "expected the names of columns in the first line, got none")
    return header


def _refuse_other_encoding(source: str) -> None:
    """Raise FormatError for the first line that is not UTF-8, if there is one."""
    decoder, number, piece = getincrementaldecoder("utf-8")(), 1, None
    with unpacked(source) as file:
        while piece != b"":
            piece = file.read(PIECE)
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                number += error.object[: error.start].count(b"\n")
                got = f"another encoding (byte {error.object[error.start]:#04x})"
                raise FormatError(source, number, f"expected UTF-8 text, got {got}") from None
            number += piece.count(b"\n")


def _refuse_odd_rows(source: str) -> None:
    """Raise FormatError if a header is all there is, or for the first row that is too long for any reader."""
    before, place, some = csv.field_size_limit(LONGEST), 0, False
    try:
        with _text(source) as lines:
            rows = csv.reader(lines)
            next(rows)
            for place, row in enumerate(rows):
                some = some or any(row)
                if sum(map(len, row)) > LONGEST // 2:
                    raise FormatError(source, None, f"row {place}: {TOO_LONG}")
    except csv.Error:
        raise FormatError(source, None, f"row {place + some}: {TOO_LONG}") from None
    finally:
        csv.field_size_limit(before)
    if not some:
        raise FormatError(source, None, "expected at least one row, got none")


def _parquet(source: str, wanted: dict[str, str]) -> tuple[Any, dict[str, str]]:
    import pyarrow as pa
    from pyarrow import types

    with parquet(source) as found:
        schema, before = found.schema_arrow, found.metadata
        names = _present(source, wanted, schema.names)
        check_rows(found, list(names.values()), source)
    kinds = {name: schema.field(name).type for name in names.values()}
    texts = [name for name, kind in kinds.items() if types.is_string(kind) or types.is_large_string(kind)]
    with parquet(source, texts) as found:  # a text that stands in every row is held once
        if not found.metadata.equals(before):
            raise FormatError(source, None, CHANGED)
        try:
            return found.read(columns=list(names.values())), names
        except (pa.ArrowNotImplementedError, OSError) as error:
            if UNKNOWN not in str(error):
                raise
    # an encoding whose texts cannot be numbered while they are read
    with parquet(source) as found:
        return found.read(columns=list(names.values())), names
