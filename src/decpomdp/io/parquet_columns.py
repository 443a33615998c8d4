"""Which columns of a Parquet file are read, and how much they stand for: looked at before any value is read.

A few bytes of a file can stand for gigabytes: one text in every row, one list of a billion zeros, a blob of fixed
width. So types are looked at first, and what nobody can use is never read. Numbers and truth values have a width; texts
come numbered, each held once; how many numbers the lists hold is counted in pieces before they are laid out.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import WIDTH, check_bytes, parquet

UNKNOWN = "Not yet implemented"  # how Arrow says that it cannot do something
PIECE = 128  # rows of texts that are held before they are numbered
LEVELS = 1 << 16  # values looked at together while they are counted


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"


def is_plain(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers, truth values or texts, numbered or not, or of no values at all."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    of_width = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return of_width or is_text(kind) or types.is_null(kind)


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is one of lists."""
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def texts_in(schema: Any, columns: Sequence[str]) -> list[str]:
    """Those of these columns, and of what Arrow reads beside them, that are texts."""
    return [name for name in (*columns, *beside(schema, columns)) if is_text(schema.field(name).type)]


def beside(schema: Any, columns: Sequence[str]) -> Iterator[str]:
    """Columns that Arrow takes for parts of these: `action.x` is read with `action`."""
    wholes = tuple(f"{name}." for name in columns)
    return (name for name in schema.names if name not in columns and name.startswith(wholes))


def check_beside(schema: Any, columns: Sequence[str], source: str) -> None:
    """Raise FormatError if with these columns another one would be read that is not plain."""
    for name in beside(schema, columns):
        if schema.names.count(name) > 1 or not is_plain(schema.field(name).type):
            expected = f"another name, since Arrow takes it for a part of {name.partition('.')[0]}"
            raise FormatError(source, None, f"column {name[:80]}: expected {expected}, got this one")


def lengths_of(found: Any, columns: Sequence[str]) -> dict[str, int]:
    """How many values the rows of each of these columns hold together, nulls and empty lists counted as one."""
    if not columns:
        return {}
    # a footer that is wrong about a column aborts the process if it is asked; here it fails as it should
    found.scan_contents(list(columns), LEVELS)
    paths = [found.schema.column(place).path for place in range(len(found.schema))]
    groups = [found.metadata.row_group(place) for place in range(found.num_row_groups)]
    return {
        name: sum(group.column(k).num_values for k, path in enumerate(paths) if _of(path, name) for group in groups)
        for name in columns
    }


def check_lists(found: Any, columns: Sequence[str], source: str, most: int) -> None:
    """Raise FormatError if columns of lists hold more than `most` values per row, or more than memory."""
    rows, lengths = found.metadata.num_rows, lengths_of(found, columns)
    for name, length in lengths.items():
        if length > most * rows:
            got = f"{length} in {rows} rows"
            raise FormatError(source, None, f"column {name}: expected lists of at most {most} numbers, got {got}")
    check_bytes(sum(lengths.values()) * WIDTH, source, f"lists in {rows} rows")


def read_plain(source: str, columns: Sequence[str], texts: Sequence[str], before: Any) -> Any:
    """The table of these columns, its texts numbered; None if the metadata of the file are not those of `before`."""
    import pyarrow as pa

    with parquet(source, texts) as found:
        if not found.metadata.equals(before):
            return None
        try:
            return found.read(columns=list(columns))
        except (pa.ArrowNotImplementedError, OSError) as error:
            if UNKNOWN not in str(error):
                raise
    return _in_pieces(source, columns)


def _in_pieces(source: str, columns: Sequence[str]) -> Any:
    """The same of texts so encoded that Arrow cannot number them as it reads: numbered piece by piece."""
    import pyarrow as pa

    pieces, size = [], 0
    with parquet(source) as found:
        schema = found.schema_arrow
        for piece in found.iter_batches(PIECE, columns=list(columns)):
            numbered = [_numbered(column) for column in piece.columns]
            pieces.append(pa.table(numbered, names=piece.schema.names))
            size += pieces[-1].nbytes
            check_bytes(size, source, "texts")
    if not pieces:
        return schema.empty_table().select(list(columns))
    return pa.concat_tables(pieces)


def _numbered(column: Any) -> Any:
    return column.dictionary_encode() if is_text(column.type) else column


def _of(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")
