"""How much the columns of a Parquet file stand for: looked at before they are read, as it has to fit into memory.

A few bytes of a file can stand for gigabytes: billions of rows, one list of a billion zeros, a page that unpacks to far
more than it is packed. Rows and lists count by the numbers they hold. What pages unpack to counts as well where it is
far more than the file, as texts of which no two are the same may have to be held; and no single page may be huge.
"""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import LIKELY, WIDTH, check_bytes
from decpomdp.io.parquet_pages import Pages, pages_of
from decpomdp.io.table_cells import is_list

LARGE = 1 << 26  # bytes that any page may unpack to; a megabyte is usual


def check_columns(found: Any, columns: Sequence[str], source: str) -> dict[str, int]:
    """Raise FormatError if these columns need more memory than there is; else how many values each of them holds.

    OSError if a page is damaged.
    """
    pages = _pages(found, columns, source)
    values = _check_parts(found, pages, source)
    for name, parts in pages.items():
        if not all(part.whole for part in parts):
            raise OSError(f"a damaged page in column {name[:80]}")
    return values


def whole_groups(found: Any, columns: Sequence[str], source: str) -> dict[str, list[bool]]:
    """Column -> [group]: whether its pages are what they should be, by their headers. Without those that do not fit."""
    told: dict[str, list[bool]] = {}
    for name, parts in _pages(found, columns, source).items():
        try:
            _check_parts(found, {name: parts}, source)
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
    owners = [(place, name) for place, leaf in enumerate(leaves) for name in columns if _of(leaf.path, name)]
    places = sorted({place for place, _ in owners})
    pages: dict[str, list[_Part]] = {name: [] for name in columns}
    for number, group in enumerate(pages_of(source, places)):
        of_place = dict(zip(places, group.pages, strict=True))
        for place, name in owners:
            part, lists = of_place[place], leaves[place].max_repetition_level > 0
            fits = part.values >= group.rows if lists else part.values == group.rows
            pages[name].append(_Part(number, part, part.whole and fits))
    return pages


def _of(path: str, name: str) -> bool:
    """Whether what is at this path is a column, or a part of it."""
    return path == name or path.startswith(f"{name}.")


def _check_parts(found: Any, pages: dict[str, list[_Part]], source: str) -> dict[str, int]:
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
    _check_bytes(found, values, sum(part.pages.unpacked for parts in pages.values() for part in parts), source)
    return values


def _check_bytes(found: Any, values: dict[str, int], unpacked: int, source: str) -> None:
    rows, kinds = found.metadata.num_rows, {field.name: field.type for field in found.schema_arrow}
    widths = {name: getattr(kinds[name], "list_size", 1) for name in values}  # of lists, where the file says it
    needed = sum(max(count, rows * widths[name]) for name, count in values.items()) * WIDTH
    needed += unpacked if unpacked > LIKELY * os.path.getsize(source) else 0
    check_bytes(needed, source, f"{rows} rows")
