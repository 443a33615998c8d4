"""Which columns of a Parquet file are read, by their types, and how.

What nobody can use is never read, such as blobs of fixed width. Texts come numbered, each held once: one text in every
row may take a few bytes in a file and gigabytes when it is written out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import parquet
from decpomdp.io.table_cells import is_list, is_text

UNKNOWN = "Not yet implemented"  # how Arrow says that it cannot do something


def is_plain(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers, truth values or texts, numbered or not, or of no values at all."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    of_width = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    return of_width or is_text(kind) or types.is_null(kind)


def is_list_of_plain(kind: Any) -> bool:
    """Whether an Arrow type is one of lists of numbers or truth values; lists of texts are nobody's."""
    from pyarrow import types

    if not is_list(kind) or types.is_decimal(kind.value_type):
        return False
    return is_plain(kind.value_type) and not (is_text(kind.value_type) or types.is_dictionary(kind.value_type))


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
    with parquet(source, texts) as found:
        return found.read(columns=list(columns)) if found.metadata.equals(before) else None
