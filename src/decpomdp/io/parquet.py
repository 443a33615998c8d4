"""Opening Parquet files, with limits.

The sizes in the footer are compared with the machine's memory before columns are read. pyarrow checks the rest: the
footer against its Thrift limits, the pages against their checksums.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from decpomdp.core.errors import FormatError
from decpomdp.io.files import check_regular, message_of

MAGIC = b"PAR1"  # first bytes of every Parquet file
FOOTER_STRINGS = 1 << 27  # bytes of all names and metadata in a footer
FOOTER_ITEMS = 1 << 17  # entries of a list in a footer: columns, row groups
CELL = 16  # bytes of a value and of the array made from it, on average
UNKNOWN_MEMORY = 1 << 34  # bytes assumed if the system does not report its memory


@contextmanager
def open_parquet(source: str) -> Iterator[Any]:
    """The pyarrow.parquet.ParquetFile at `source`; its errors, and those while it is read, become FormatErrors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_regular(source)
    try:
        with open(source, "rb") as file:
            if file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
                hint = "the name of a CSV file ends in .csv, .csv.gz or .csv.zst"
                raise FormatError(source, None, f"expected a Parquet file, got another kind of file ({hint})")
            yield pq.ParquetFile(
                file,
                page_checksum_verification=True,
                thrift_string_size_limit=FOOTER_STRINGS,
                thrift_container_size_limit=FOOTER_ITEMS,
            )
    except FormatError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise FormatError(source, None, f"cannot be read as Parquet: {message_of(error)}") from None


def read_columns(file: Any, columns: Sequence[str], source: str) -> Any:
    """An Arrow table of these columns; FormatError if they would take more than half of the memory."""
    widths = [getattr(file.schema_arrow.field(name).type, "list_size", 1) for name in columns]
    check_memory(source, file.metadata.num_rows * sum(widths) * CELL)
    table = file.read(columns=list(columns))
    table.validate(full=True)
    return table


def check_memory(source: str, needed: int) -> None:
    """Raise FormatError if a table needs more than half of the memory."""
    if needed > memory() // 2:
        raise FormatError(source, None, f"needs {needed} bytes, more than half of the memory ({memory() // 2} bytes)")


def memory() -> int:
    """Bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN_MEMORY
