"""What the pages of a Parquet file unpack to, by their headers: asked before any of them is unpacked.

A file ends with a footer (a struct), its length in four bytes, and PAR1. For every group of rows and every column the
footer says where its values are; they are pages in a row, each a header (a struct) and as many packed bytes as that
says. What the footer says of sizes and numbers of values need not be true of the pages, and a page of a few bytes can
unpack to two gigabytes: so the pages themselves are asked. Arrow's own footer is not used for this: it aborts the
process where a hostile one is wrong about a column.
Reference: Apache Parquet, parquet.thrift.
"""

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from decpomdp.io.thrift import BrokenError, Found, Reader, ShortError, Wanted

FOOTER = {4: [{1: [{3: {5: None, 7: None, 9: None, 11: None}}]}]}  # groups, columns, their values, bytes and places
HEADER: Wanted = {
    2: None,
    3: None,
    5: {1: None},
    8: {1: None},
}  # bytes unpacked and packed; values of both kinds of pages
LIKELY = 100  # times smaller than its content a page or a file may be
ENDING = 8  # bytes behind the footer
LITTLE, MOST = 1 << 10, 1 << 24  # bytes of a page's header that are read first, and that Arrow reads at most
BESIDE = 100  # bytes by which old files say too little


class Page(NamedTuple):
    """What its header says."""

    unpacked: int  # bytes
    packed: int
    values: int  # nulls and empty lists count as one; 0 if it is a dictionary


class Pages(NamedTuple):
    """Those of one column in one group of rows, as far as they can be read."""

    unpacked: int  # bytes of all
    values: int
    largest: int  # bytes of the largest one
    swollen: int  # and of the largest one that is packed unlikely well
    whole: bool  # False: one of them is damaged


def pages_of(source: str, leaves: Sequence[int]) -> list[list[Pages]]:
    """[group][leaf]: the pages of these leaves, the columns as the file counts them; ValueError if there are none."""
    with open(source, "rb") as file:
        return [[_pages(file, _chunk(group, leaf)) for leaf in leaves] for group in _groups(file)]


def _groups(file: BinaryIO) -> list[Found]:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - ENDING, 0))
    length = int.from_bytes(file.read(4), "little")
    if length + ENDING > size:
        raise BrokenError("a footer longer than the file")
    file.seek(size - ENDING - length)
    groups: list[Found] = Reader(file.read(length)).struct(FOOTER).get(4, [])
    return groups


def _chunk(group: Found, leaf: int) -> Found:
    columns = group.get(1, [])
    if leaf >= len(columns):
        raise BrokenError("a group of rows without one of its columns")
    found: Found = columns[leaf].get(3, {})
    return found


def _pages(file: BinaryIO, chunk: Found) -> Pages:
    unpacked, values, largest, swollen = 0, 0, 0, 0
    try:
        for page in _walk(file, chunk):
            unpacked += page.unpacked
            values += page.values
            largest = max(largest, page.unpacked)
            if page.unpacked > LIKELY * page.packed:
                swollen = max(swollen, page.unpacked)
    except (BrokenError, OSError, OverflowError):
        return Pages(unpacked, values, largest, swollen, whole=False)
    return Pages(unpacked, values, largest, swollen, whole=True)


def _walk(file: BinaryIO, chunk: Found) -> Iterator[Page]:
    """Page after page, as long as values are missing."""
    at, dictionary = chunk.get(9, -1), chunk.get(11, 0)
    at = dictionary if 0 < dictionary < at else at
    end, missing = at + chunk.get(7, 0) + BESIDE, chunk.get(5, 0)
    while missing > 0 and at < end:
        page, at = _page(file, at)
        missing -= page.values
        yield page


def _page(file: BinaryIO, at: int) -> tuple[Page, int]:
    """The page at this place, and the place behind it."""
    size = LITTLE
    while True:
        file.seek(at)
        data = file.read(size)
        try:
            reader = Reader(data)
            header = reader.struct(HEADER)
            break
        except ShortError:
            if len(data) < size or size >= MOST:
                raise
            size *= 16
    unpacked, packed = header.get(2, -1), header.get(3, -1)
    of_values: Found = header.get(5) or header.get(8) or {}
    values = of_values.get(1, 0)
    if min(unpacked, packed, values) < 0:
        raise BrokenError("sizes below zero")
    return Page(unpacked, packed, values), at + reader.at + packed
