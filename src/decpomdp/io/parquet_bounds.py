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

LARGE = 1 << 26  # bytes that any page may unpack to; a megabyte is usual


def check_columns(found: Any, columns: Sequence[str], source: str) -> dict[str, int]:
    """Raise FormatError if these columns need more memory than there is; else how many values each of them holds.

    OSError if a page is damaged.
    """
    pages = _pages(found, columns, source)
    for name, parts in pages.items():
        swollen = max((part.pages.swollen for part in parts), default=0)
        if swollen > LARGE:
            expected = f"pages that unpack to at most {LARGE} bytes, or {LIKELY} times their own"
            raise FormatError(source, None, f"column {name[:80]}: expected {expected}, got one of {swollen}")
    values = {name: sum(part.pages.values for part in parts) for name, parts in pages.items()}
    _check_bytes(found, values, sum(part.pages.unpacked for parts in pages.values() for part in parts), source)
    for name, parts in pages.items():
        if not all(part.whole for part in parts):
            raise OSError(f"a damaged page in column {name[:80]}")
    return values


def largest_page(found: Any, columns: Sequence[str], source: str) -> int:
    """Bytes of the largest page of these columns: no text in them can be longer."""
    return max((part.pages.largest for parts in _pages(found, columns, source).values() for part in parts), default=0)


def whole_groups(found: Any, columns: Sequence[str], source: str) -> dict[str, list[bool]]:
    """Column -> [group]: whether its pages in this group of rows are what they should be, by their headers."""
    groups = range(found.num_row_groups)
    return {
        name: [all(part.whole for part in parts if part.group == group) for group in groups]
        for name, parts in _pages(found, columns, source).items()
    }


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
    known = frozenset(columns)
    leaves = [found.schema.column(place) for place in range(len(found.schema))]
    owners = {place: owner for place, leaf in enumerate(leaves) if (owner := _owner(leaf.path, known)) is not None}
    pages: dict[str, list[_Part]] = {name: [] for name in columns}
    for number, group in enumerate(pages_of(source, list(owners))):
        for (place, owner), part in zip(owners.items(), group.pages, strict=True):
            lists = leaves[place].max_repetition_level > 0
            fits = part.values >= group.rows if lists else part.values == group.rows
            pages[owner].append(_Part(number, part, part.whole and fits))
    return pages


def _owner(path: str, known: frozenset[str]) -> str | None:
    """Which of these columns is read with what is at this path: one of that name, or whose part it is."""
    ends = [place for place, letter in enumerate(path) if letter == "."]
    return next((path[:end] for end in (*ends, len(path)) if path[:end] in known), None)


def _check_bytes(found: Any, values: dict[str, int], unpacked: int, source: str) -> None:
    rows, kinds = found.metadata.num_rows, {field.name: field.type for field in found.schema_arrow}
    widths = {name: getattr(kinds[name], "list_size", 1) for name in values}  # of lists, where the file says it
    needed = sum(max(count, rows * widths[name]) for name, count in values.items()) * WIDTH
    needed += unpacked if unpacked > LIKELY * os.path.getsize(source) else 0
    check_bytes(needed, source, f"{rows} rows")
