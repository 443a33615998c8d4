"""How much the columns of a Parquet file stand for: looked at before they are read, as it has to fit into memory.

A few bytes of a file can stand for gigabytes: billions of rows, one list of a billion zeros, a page that unpacks to far
more than it is packed. Rows and lists count by the numbers they hold, and texts by what their pages unpack to as well,
since no two of them may be the same; and no single page may be huge. All of it is measured by the packed bytes of the
columns that are read: others beside them warrant nothing.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import DATA, LIKELY, WIDTH, Rule, check_bytes
from decpomdp.io.parquet_columns import beside
from decpomdp.io.parquet_pages import Pages, pages_of
from decpomdp.io.table_cells import is_list, is_text

HELD = 3  # times what the pages of texts unpack to is held while they are read
LARGE = 1 << 26  # bytes that any page may unpack to; a megabyte is usual


def check_columns(found: Any, columns: Sequence[str], source: str, rule: Rule = DATA) -> dict[str, int]:
    """Raise FormatError if these columns need more memory than there is; else how many values each of them holds.

    OSError if a page is damaged. What Arrow reads beside them counts too.
    """
    pages = _pages(found, [*columns, *beside(found.schema_arrow, columns)], source)
    values = _check_parts(found, pages, source, rule)
    for name, parts in pages.items():
        if not all(part.whole for part in parts):
            raise OSError(f"a damaged page in column {name[:80]}")
    return {name: values[name] for name in columns}


def whole_groups(found: Any, columns: Sequence[str], source: str) -> dict[str, list[bool]]:
    """Column -> [group]: whether its pages are what they should be, by their headers. Without those that do not fit."""
    told: dict[str, list[bool]] = {}
    for name, parts in _pages(found, columns, source).items():
        try:
            _check_parts(found, {name: parts}, source, DATA)
        except FormatError:
            continue
        told[name] = [True] * found.num_row_groups
        for part in parts:
            told[name][part.group] &= part.whole
    return told


def check_read(table: Any, values: dict[str, int], source: str) -> None:
    """Raise FormatError if columns of lists do not have the values that their pages hold: some were left out."""
    import pyarrow.compute as pc

    for name, count in values.items():
        if is_list(table[name].type):
            lengths = pc.fill_null(pc.list_value_length(table[name]), 1)
            got = pc.sum(pc.max_element_wise(lengths, 1)).as_py() or 0
            if got != count:
                said = f"column {name[:80]}: expected as many lists as rows in every group of rows"
                raise FormatError(source, None, f"{said}, got {count} values of which {got} belong to rows")


def check_lists(values: dict[str, int], rows: int, source: str, most: int) -> None:
    """Raise FormatError if columns of lists that hold so many values have more than `most` per row."""
    for name, count in values.items():
        if count > most * rows:
            got = f"{count} in {rows} rows"
            raise FormatError(source, None, f"column {name}: expected lists of at most {most} numbers, got {got}")


class _Part(NamedTuple):
    """One of the columns that the file has for one of ours, in one group of rows."""

    group: int
    pages: Pages
    whole: bool  # pages can be read, and have a value for every row


def _pages(found: Any, columns: Sequence[str], source: str) -> dict[str, list[_Part]]:
    """Column -> its parts, group of rows after group of rows. A list's numbers are a column of their own."""
    leaves = [found.schema.column(place) for place in range(len(found.schema))]
    named = [field.name for field in found.schema_arrow for _ in range(_leaves(field.type))]
    if len(named) != len(leaves):
        raise ValueError(f"columns of {len(named)} parts, of which the file has {len(leaves)}")
    wanted = frozenset(columns)
    owners = [(place, name) for place, name in enumerate(named) if name in wanted]
    places = [place for place, _ in owners]
    pages: dict[str, list[_Part]] = {name: [] for name in columns}
    for number, group in enumerate(pages_of(source, places)):
        of_place = dict(zip(places, group.pages, strict=True))
        for place, name in owners:
            part, lists = of_place[place], leaves[place].max_repetition_level > 0
            fits = part.values >= group.rows if lists else part.values == group.rows
            pages[name].append(_Part(number, part, part.whole and fits))
    return pages


def _leaves(kind: Any) -> int:
    """How many columns a file has for one of this Arrow type: names do not tell, as they may hold dots."""
    kind = getattr(kind, "storage_type", kind)
    return sum(_leaves(kind.field(n).type) for n in range(kind.num_fields)) if kind.num_fields else 1


def _check_parts(found: Any, pages: dict[str, list[_Part]], source: str, rule: Rule) -> dict[str, int]:
    """Raise FormatError if they do not fit; else how many values each column has."""
    for name, parts in pages.items():
        swollen = max((part.pages.swollen for part in parts), default=0)
        if swollen > LARGE:
            expected = f"pages that unpack to at most {LARGE} bytes, or {LIKELY} times their own"
            raise FormatError(source, None, f"column {name[:80]}: expected {expected}, got one of {swollen}")
        if any(
            part.pages.delta for part in parts
        ):  # a few bytes of lengths stand for gigabytes, and only Arrow sees them
            said = "expected texts in plain or dictionary encoding, got delta encoding (pyarrow can write it anew)"
            raise FormatError(source, None, f"column {name[:80]}: {said}")
    values = {name: sum(part.pages.values for part in parts) for name, parts in pages.items()}
    rows, kinds = found.metadata.num_rows, {field.name: field.type for field in found.schema_arrow}
    needed = sum(_bytes(kinds[name], rows, values[name], parts) for name, parts in pages.items())
    packed = sum(part.pages.packed for parts in pages.values() for part in parts)
    check_bytes(needed, source, f"{rows} rows", rule, packed)
    return values


def _bytes(kind: Any, rows: int, values: int, parts: Sequence[_Part]) -> int:
    """What a column and what is made of it take."""
    unpacked = sum(part.pages.unpacked for part in parts)
    numbers = max(values, rows * getattr(kind, "list_size", 1)) * WIDTH  # of lists, where the file says it
    text = is_text(getattr(kind, "value_type", kind)) or "decimal" in str(kind)
    return numbers + HELD * unpacked if text else max(numbers, unpacked)
