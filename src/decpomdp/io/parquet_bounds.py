"""How much the columns of a Parquet file stand for: looked at before they are read, as it has to fit into memory.

A few bytes of a file can stand for gigabytes: billions of rows, one list of a billion zeros, a page that unpacks to far
more than it is packed. Rows and lists count by the numbers they hold. What pages unpack to counts as well where it is
far more than the file, as texts of which no two are the same may have to be held; and no single page may be huge.
"""

import os
from collections.abc import Sequence
from typing import Any

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import WIDTH, check_bytes
from decpomdp.io.parquet_pages import LIKELY, Pages, pages_of

LARGE = 1 << 26  # bytes that any page may unpack to; a megabyte is usual


def check_columns(found: Any, columns: Sequence[str], source: str) -> dict[str, int]:
    """Raise FormatError if these columns need more memory than there is; else how many values each of them holds.

    OSError if a page is damaged.
    """
    pages = {
        name: [part for group in groups for part in group] for name, groups in _pages(found, columns, source).items()
    }
    for name, parts in pages.items():
        swollen = max((part.swollen for part in parts), default=0)
        if swollen > LARGE:
            expected = f"pages that unpack to at most {LARGE} bytes, or {LIKELY} times their own"
            raise FormatError(source, None, f"column {name[:80]}: expected {expected}, got one of {swollen}")
    values = {name: sum(part.values for part in parts) for name, parts in pages.items()}
    _check_bytes(found, values, sum(part.unpacked for parts in pages.values() for part in parts), source)
    for name, parts in pages.items():
        if not all(part.whole for part in parts):
            raise OSError(f"a damaged page in column {name[:80]}")
    return values


def largest_page(found: Any, columns: Sequence[str], source: str) -> int:
    """Bytes of the largest page of these columns: no text in them can be longer."""
    pages = _pages(found, columns, source)
    return max((part.largest for groups in pages.values() for group in groups for part in group), default=0)


def whole_groups(found: Any, columns: Sequence[str], source: str) -> dict[str, list[bool]]:
    """Column -> [group]: whether the headers of its pages in this group of rows can be read."""
    pages = _pages(found, columns, source)
    return {name: [all(part.whole for part in group) for group in groups] for name, groups in pages.items()}


def _pages(found: Any, columns: Sequence[str], source: str) -> dict[str, list[list[Pages]]]:
    """Column -> [group]: its pages in this group of rows, of all of its parts."""
    paths = [found.schema.column(place).path for place in range(len(found.schema))]
    leaves = [(name, place) for name in columns for place, path in enumerate(paths) if _of(path, name)]
    groups = pages_of(source, [place for _, place in leaves])
    return {name: [_those(name, leaves, group) for group in groups] for name in columns}


def _those(name: str, leaves: list[tuple[str, int]], group: list[Pages]) -> list[Pages]:
    return [part for (owner, _), part in zip(leaves, group, strict=True) if owner == name]


def _of(path: str, name: str) -> bool:
    """Whether what is at this path is a column, or a part of it: a list's numbers are columns of their own."""
    return path == name or path.startswith(f"{name}.")


def _check_bytes(found: Any, values: dict[str, int], unpacked: int, source: str) -> None:
    rows, kinds = found.metadata.num_rows, {field.name: field.type for field in found.schema_arrow}
    widths = {name: getattr(kinds[name], "list_size", 1) for name in values}  # of lists, where the file says it
    needed = sum(max(count, rows * widths[name]) for name, count in values.items()) * WIDTH
    needed += unpacked if unpacked > LIKELY * os.path.getsize(source) else 0
    check_bytes(needed, source, f"{rows} rows")


def check_lists(values: dict[str, int], rows: int, source: str, most: int) -> None:
    """Raise FormatError if columns of lists that hold so many values have more than `most` per row."""
    for name, count in values.items():
        if count > most * rows:
            got = f"{count} in {rows} rows"
            raise FormatError(source, None, f"column {name}: expected lists of at most {most} numbers, got {got}")
