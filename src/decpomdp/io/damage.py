"""Where a Parquet file is damaged, in our words: which rows of which column, or that its end is missing.

A Parquet file keeps every column of a group of rows apart, and at its end a footer says where each of them is. Without
the footer nothing can be found. With it, columns of groups are read one by one until one cannot be: slow, and only done
once reading the whole has failed. A column that stands for more than memory holds is not read here either.
"""

from collections.abc import Sequence
from typing import Any

from decpomdp.core import FormatError
from decpomdp.io.arrow_files import arrow_file
from decpomdp.io.files import words
from decpomdp.io.opening import parquet
from decpomdp.io.packing import packing
from decpomdp.io.parquet_bounds import whole_groups
from decpomdp.io.parquet_columns import UNKNOWN, is_list_of_plain, is_plain, texts_in

NAMED = " (if it is CSV, give it a name that ends in .csv)"
NARROW = "not in range"  # how Arrow says that a number does not fit
MARK = b"PAR1"  # how every Parquet file begins and ends


def refusal(source: str, what: str, columns: Sequence[str], error: Exception) -> FormatError:
    """Why the file at `source` cannot be read as `what`; `error` is what the library said.

    `columns` are those that were wanted.
    """
    import pyarrow as pa

    failures = (pa.ArrowException, OSError, ValueError, MemoryError)
    try:
        with arrow_file(source, "rb") as file:
            size, begins = file.size(), file.read(len(MARK))
            file.seek(max(0, size - len(MARK)))
            ends = file.read(len(MARK))
    except failures:  # no such file, a folder
        return FormatError(source, None, f"cannot be read as {what}: {words(error)}")
    try:
        with parquet(source) as found:
            schema = found.schema_arrow
            known = [name for name in columns if schema.names.count(name) == 1 and _is_read(schema.field(name).type)]
            whole = whole_groups(found, known, source)
        with parquet(source, texts_in(schema, list(whole))) as found:
            said = _place(found, whole, failures)
    except failures as other:
        said = f"cannot be read as {what}: {_end(size, begins, ends, other)}"
    return FormatError(source, None, said or f"cannot be read as {what}: {words(error)}")


def _end(size: int, begins: bytes, ends: bytes, error: Exception) -> str:
    """A file whose footer cannot be read, by its size, its first and its last bytes."""
    packed = packing(begins)
    if packed is not None:
        return f"expected a Parquet file, got a {packed} file; unpack it first, or name it .csv.gz if it is CSV"
    if begins != MARK:
        return f"expected a Parquet file, got {f'another kind of {size} bytes{NAMED}' if size else 'an empty one'}"
    if ends == MARK and size > 2 * len(MARK):
        return f"the list of its contents, at its end, is damaged or contradicts itself ({words(error)})"
    return f"it is cut off or damaged at its end ({size} bytes are there), and no row can be read without that"


def _place(found: Any, columns: dict[str, list[bool]], failures: tuple[type[Exception], ...]) -> str:
    """The first rows and column that cannot be read; nothing if all can, one by one.

    Column -> [group]: whether it may be tried.
    """
    first = 0
    for group in range(found.num_row_groups):
        count = found.metadata.row_group(group).num_rows
        for name, whole in columns.items():
            got = _wrong(found, group, name, failures) if whole[group] else "a damaged page"
            if got:
                return f"rows {first} to {first + count - 1}, column {name}: expected readable values, got {got}"
        first += count
    return ""


def _wrong(found: Any, group: int, name: str, failures: tuple[type[Exception], ...]) -> str:
    """What is wrong with one column of one group; nothing if it can be read."""
    try:
        part = found.read_row_group(group, columns=[name])
    except failures as error:
        if NARROW in str(error):
            return f"numbers of categories that do not fit their type ({words(error)}); cast it to text first"
        return "" if UNKNOWN in str(error) else "a damaged page"
    try:
        part.validate(full=True)
    except failures as error:
        return f"others: {words(error)}"
    return ""


def _is_read(kind: Any) -> bool:
    """Whether anybody reads columns of such a type: what is too large for memory may be in the others."""
    return is_plain(kind) or is_list_of_plain(kind)
