"""Which columns of a Parquet file are read, by their types, and how.

What nobody can use is never read, such as blobs of fixed width. Texts come numbered, each held once: one text in every
row may take a few bytes in a file and gigabytes when it is written out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import most_of, parquet
from decpomdp.io.parquet_bounds import largest_page
from decpomdp.io.table_cells import is_text
from decpomdp.io.table_pieces import Pieces

UNKNOWN = "Not yet implemented"  # how Arrow says that it cannot do something
PIECE = 1 << 26  # bytes of texts that are held at most before they are numbered
ROWS = 1 << 16  # and rows


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


def is_list_of_plain(kind: Any) -> bool:
    """Whether an Arrow type is one of lists of numbers or truth values; lists of texts are nobody's."""
    from pyarrow import types

    return (
        is_list(kind)
        and is_plain(kind.value_type)
        and not (is_text(kind.value_type) or types.is_dictionary(kind.value_type))
    )


def texts_in(schema: Any, columns: Sequence[str]) -> list[str]:
    """Those of these columns, and of what Arrow reads beside them, that are texts."""
    return [name for name in (*columns, *beside(schema, columns)) if is_text(schema.field(name).type)]


def beside(schema: Any, columns: Sequence[str]) -> Iterator[str]:
    """Columns that Arrow takes for parts of these: `action.x` is read with `action`."""
    own = frozenset(columns)
    wholes = tuple(f"{name}." for name in columns)
    return (name for name in schema.names if name not in own and name.startswith(wholes))


def check_beside(schema: Any, columns: Sequence[str], source: str) -> None:
    """Raise FormatError if with these columns another one would be read that is not plain."""
    counts = Counter(schema.names)
    for name in beside(schema, columns):
        if counts[name] > 1 or not is_plain(schema.field(name).type):
            expected = f"another name, since Arrow takes it for a part of {name.partition('.')[0]}"
            raise FormatError(source, None, f"column {name[:80]}: expected {expected}, got this one")


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
    """The same of texts so encoded that Arrow cannot number them as it reads: numbered piece by piece.

    Each may repeat the one before in no bytes at all, so a piece has no more rows than would fit if all were as long as
    they can be, and all of them together are not much longer than the file.
    """
    pieces, size, most = Pieces(source), 0, most_of(source)
    with parquet(source) as found:
        schema = found.schema_arrow
        rows = PIECE // max(1, largest_page(found, columns, source))
        for piece in found.iter_batches(min(max(1, rows), ROWS), columns=list(columns)):
            size += piece.nbytes
            if size > most:
                raise FormatError(source, None, f"expected columns of at most {most} bytes when written out, got more")
            pieces.add(piece)
    return pieces.table() if pieces.rows else schema.empty_table().select(list(columns))
