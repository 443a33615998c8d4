"""The columns of a trace as lists of Python's numbers and texts, which take far more memory than they do in a file.

A trace has numbers, texts, lists of numbers and empty cells (`core.fit.Cell`); whatever else a file has is refused by
its type. How many values there are is counted before any is read: ten million rows, a hundred million values, and no
more than memory holds.
"""

from collections import Counter
from typing import Any

import numpy as np

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import CHANGED, RULE, check_bytes, parquet
from decpomdp.io.parquet_bounds import check_columns, check_read
from decpomdp.io.parquet_columns import is_list_of_plain, is_plain, read_plain, texts_in
from decpomdp.io.table_cells import is_text, numbered

MOST_ROWS, MOST_COLUMNS = 10_000_000, 1000
MOST_VALUES = 100_000_000  # of all columns, those in lists too: a long fit has one per sweep and step
OBJECT = 64  # bytes of one value in a list of Python's


def trace_columns(source: str) -> dict[str, list[Any]]:
    """Column -> one value per row, of the trace in the Parquet file at `source`."""
    with parquet(source) as found:
        schema, before = found.schema_arrow, found.metadata
        names: list[str] = schema.names
        _check_types(schema, source)
        held = check_columns(found, names, source, RULE)
        _check_values(found.metadata.num_rows, held, source)
    table = read_plain(source, names, texts_in(schema, names), before)
    if table is None:
        raise FormatError(source, None, CHANGED)
    table.validate(full=True)
    check_read(table, held, source)
    return {name: _values(table[name]) for name in names}


def _check_types(schema: Any, source: str) -> None:
    counts = Counter(schema.names)
    if len(counts) > MOST_COLUMNS:
        raise FormatError(source, None, f"expected at most {MOST_COLUMNS} columns, got {len(counts)}")
    for name, count in counts.items():
        if count > 1:
            raise FormatError(source, None, f"column {name[:80]}: expected one, got more of that name")
        kind = schema.field(name).type
        if "decimal" in str(kind) or not (is_plain(kind) or is_list_of_plain(kind)):
            raise FormatError(source, None, f"column {name[:80]}: expected numbers, texts or lists, got {kind}"[:300])


def _check_values(rows: int, held: dict[str, int], source: str) -> None:
    """Raise FormatError for more rows or values than any trace has; `held` are the values of every column."""
    if rows > MOST_ROWS:
        raise FormatError(source, None, f"expected at most {MOST_ROWS} rows, got {rows}")
    values = sum(max(rows, count) for count in held.values())
    if values > MOST_VALUES:
        raise FormatError(source, None, f"expected at most {MOST_VALUES} values, got {values}")
    check_bytes(values * OBJECT, source, f"{rows} rows")


def _values(column: Any) -> list[Any]:
    """A column as a list; of texts, each is held once."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        labels, codes = numbered(_joined(column))
        texts = np.array([*labels, None], object)
        return texts[codes].tolist()
    if column.null_count or not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        values: list[Any] = column.to_pylist()
        return values
    return np.asarray(column.to_numpy()).tolist()


def _joined(column: Any) -> Any:
    import pyarrow as pa

    joined = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined
