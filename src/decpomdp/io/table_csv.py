"""CSV files, packed or not: their header, and their columns as texts, in pieces that memory holds whatever a file is.

Arrow reads blocks of LONGEST bytes. A row that ends neither in the block where it begins nor in the next one is refused
with its number, as is a header of more than HEADER letters: neither is ever held as a whole. A file whose rows do not
fit is refused as soon as that is seen, however small it is packed.
"""

import csv
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator
from functools import partial
from io import TextIOWrapper
from typing import Any

from decpomdp.core import FormatError
from decpomdp.io.packing import PIECE, signs_in, stream_of, unpacked, whole_blocks
from decpomdp.io.table_pieces import Pieces

LONGEST = 1 << 23  # bytes of a row
HEADER = 1 << 20  # letters of the first row
STRADDLES = "straddl"  # how Arrow says that a row is longer than a block
EMPTY = "Empty CSV"  # and that nothing follows the header
OPEN = "(a quotation mark that is not closed?)"


def header_of(source: str) -> list[str]:
    """The names of the columns."""
    with unpacked(source) as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        try:
            header = next(csv.reader(_first_letters(text, source)), [])
        except csv.Error as error:
            raise FormatError(source, 1, f"expected the names of columns, got {error}") from None
        except UnicodeDecodeError:
            _refuse_other_encoding(source)
            raise
    if not any(header):
        raise FormatError(source, 1, "expected the names of columns in the first line, got none")
    return header


def _first_letters(text: TextIOWrapper, source: str) -> Iterator[str]:
    """The lines of a text, as long as they can be part of a header."""
    size = 0
    for line in iter(partial(text.readline, HEADER + 1), ""):
        size += len(line)
        if size > HEADER:
            raise FormatError(source, 1, f"expected the names of columns in at most {HEADER} letters, got more {OPEN}")
        yield line


def texts_of(source: str, names: list[str]) -> Any:
    """An Arrow table of these columns, all of them numbered texts; an empty cell is null."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    pieces, signs, bad = Pieces(source), signs_in(source, b'"\r'), list[Any]()
    size = whole_blocks(source, LONGEST) if len(signs) > 1 else LONGEST

    def refuse(row: Any) -> str:  # Arrow cannot carry an exception of ours
        bad.append(row)
        return "error"

    options = {
        "read_options": arrow.ReadOptions(use_threads=False, block_size=size),  # only then are bad rows numbered
        "parse_options": arrow.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
        "convert_options": arrow.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()),
            include_columns=names,
            strings_can_be_null=True,
            null_values=[""],
        ),
    }
    try:
        with stream_of(source) as stream:
            pieces.add_all(arrow.open_csv(stream, **options))
    except pa.ArrowInvalid as error:
        if bad:
            got = f"expected {bad[0].expected_columns} cells, one per column, got {bad[0].actual_columns}"
            raise FormatError(source, None, f"row {bad[0].number - 2}: {got}") from None  # the header is Arrow's row 1
        if STRADDLES in str(error):
            long = f"row {pieces.rows}: expected at most {LONGEST} bytes, got more {OPEN}"
            raise FormatError(source, None, long) from None
        if EMPTY not in str(error):
            _refuse_other_encoding(source)
            raise
    if not pieces.rows:
        raise FormatError(source, None, "expected at least one row, got none")
    if b'"' in signs:
        _refuse_odd_quotes(source)
    return pieces.table()


def _refuse_odd_quotes(source: str) -> None:
    """Raise FormatError for a quotation mark that is not closed, or closed in the middle of a cell.

    Arrow minds neither, and takes all that is between two such marks, line ends too, for a part of one cell.
    """
    before, rows = csv.field_size_limit(4 * LONGEST), 0
    try:
        # one letter per byte: commas and quotation marks are where they are, whatever the encoding
        with unpacked(source) as file, TextIOWrapper(file, encoding="latin-1", newline="") as text:
            if file.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
                text.read(len(BOM_UTF8))
            for row in csv.reader(text, strict=True):
                rows += bool(row)  # empty lines are no rows
    except csv.Error as error:
        said = "expected quotation marks around whole cells, the last one closed"
        raise FormatError(source, None, f"row {rows - 1}: {said}, got another ({error})") from None
    finally:
        csv.field_size_limit(before)


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
