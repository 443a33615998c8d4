"""What the pages of a Parquet file unpack to, by their headers: asked before any of them is unpacked.

A file ends with a footer (a struct), its length in four bytes, and PAR1. For every group of rows and every column the
footer says where its values are; they are pages in a row, each a header (a struct) and as many packed bytes as that
says. What the footer says of sizes and numbers of values need not be true of the pages, and a page of a few bytes can
unpack to two gigabytes: so the pages themselves are asked. Arrow's own footer is not used for this: it aborts the
process where a hostile one is wrong about a column.

What no writer writes is damage here, since Arrow may understand it otherwise: rows that do not add up, columns that lie
over each other, other pages than a dictionary and then data, and values that are not as many as the footer says. So the
time that it takes grows with the file, and what was counted is what is read.
Reference: Apache Parquet, parquet.thrift.
"""

import os
from collections.abc import Sequence
from itertools import pairwise
from typing import BinaryIO, NamedTuple

from decpomdp.io.opening import LIKELY
from decpomdp.io.thrift import INT, LONG, BrokenError, Found, Reader, ShortError, Wanted

CHUNK = {5: LONG, 7: LONG, 9: LONG, 11: LONG}  # values, bytes, places of the first page and of the dictionary
FOOTER: Wanted = {3: LONG, 4: [{1: [{3: CHUNK}], 3: LONG}]}  # rows of the file; columns and rows of its groups
# kind, bytes unpacked and packed; values and encoding by kind
HEADER: Wanted = {1: INT, 2: INT, 3: INT, 5: {1: INT, 2: INT}, 7: {1: INT}, 8: {1: INT, 4: INT}}
KINDS = {0: 5, 2: 7, 3: 8}  # of a page -> the field that says its values
ENCODINGS = {5: 2, 8: 4}  # that field -> the one inside that says how values are written
DELTA = (6, 7)  # of texts: by their lengths, or by what they share with the one before
DICTIONARY = 2
ENDING = 8  # bytes behind the footer
LITTLE, MOST = 1 << 10, 1 << 24  # bytes of a page's header that are read first, and that Arrow reads at most
BESIDE = 100  # bytes by which old files say too little


class Page(NamedTuple):
    """What its header says."""

    kind: int
    unpacked: int  # bytes
    packed: int
    values: int  # nulls and empty lists count as one
    delta: bool


class Chunk(NamedTuple):
    """Where a column of a group of rows is."""

    first: int
    end: int
    values: int


class Pages(NamedTuple):
    """Those of one column in one group of rows, as far as they can be read."""

    unpacked: int  # bytes of all
    packed: int
    values: int
    swollen: int  # bytes of the largest one that is packed unlikely well
    delta: bool  # whether texts are written by how they differ
    whole: bool  # False: one of them is damaged


class Group(NamedTuple):
    """A group of rows."""

    rows: int
    pages: list[Pages]  # [leaf]


def pages_of(source: str, leaves: Sequence[int]) -> list[Group]:
    """The pages of these leaves, which are columns as the file counts them; ValueError if the footer is damaged."""
    with open(source, "rb") as file:
        end, footer = _footer(file)
        groups = [(group.get(3, -1), [_chunk(group, leaf, end) for leaf in leaves]) for group in footer.get(4, [])]
        counts = [rows for rows, _ in groups]
        if min(counts, default=0) < 0 or sum(counts) != footer.get(3, -1):
            raise BrokenError("rows that do not add up")
        _check_apart([chunk for _, chunks in groups for chunk in chunks])
        return [Group(rows, [_pages(file, chunk) for chunk in chunks]) for rows, chunks in groups]


def _footer(file: BinaryIO) -> tuple[int, Found]:
    """Where it begins, and what it says."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - ENDING, 0))
    length = int.from_bytes(file.read(4), "little")
    if length + ENDING > size:
        raise BrokenError("a footer longer than the file")
    place = file.seek(size - ENDING - length)
    return place, Reader(file.read(length)).struct(FOOTER)


def _chunk(group: Found, leaf: int, end: int) -> Chunk:
    columns = group.get(1, [])
    told: Found = columns[leaf].get(3, {}) if leaf < len(columns) else {}
    values, size, first, dictionary = (told.get(field, 0) for field in CHUNK)
    first = dictionary if 0 < dictionary < first else first
    if values == 0:
        return Chunk(0, 0, 0)
    if min(values, size) < 0 or not 0 < first <= first + size <= end:
        raise BrokenError("a column that is not in the file")
    return Chunk(first, min(first + size + BESIDE, end), values)


def _check_apart(chunks: Sequence[Chunk]) -> None:
    """Raise BrokenError if pages belong to two: a small file would take long to walk through."""
    places = sorted(chunk for chunk in chunks if chunk.values)
    if any(before.end - BESIDE > after.first for before, after in pairwise(places)):
        raise BrokenError("columns that lie over each other")


def _pages(file: BinaryIO, chunk: Chunk) -> Pages:
    unpacked, packed, values, swollen, delta, at = 0, 0, 0, 0, False, chunk.first
    try:
        while values < chunk.values:
            page, at = _page(file, at, chunk)
            unpacked += page.unpacked
            packed += page.packed
            values += page.values if page.kind != DICTIONARY else 0
            delta = delta or page.delta
            if page.unpacked > LIKELY * page.packed:
                swollen = max(swollen, page.unpacked)
    except (BrokenError, OSError):
        return Pages(unpacked, packed, values, swollen, delta, whole=False)
    return Pages(unpacked, packed, values, swollen, delta, whole=values == chunk.values)


def _page(file: BinaryIO, at: int, chunk: Chunk) -> tuple[Page, int]:
    """The page at this place, and the place behind it."""
    reader, header = _header(file, at, chunk.end)
    kind, unpacked, packed = (header.get(field, -1) for field in (1, 2, 3))
    said = [field for field in KINDS.values() if field in header]
    if said != [KINDS.get(kind)] or min(unpacked, packed) < 0:
        raise BrokenError("a page of another kind than it says")
    if kind == DICTIONARY and at != chunk.first:
        raise BrokenError("a dictionary behind what it is for")
    values = header[said[0]].get(1, -1)
    if values < 0 or at + reader.at + packed > chunk.end:
        raise BrokenError("a page longer than its column")
    delta = header[said[0]].get(ENCODINGS.get(said[0], 0)) in DELTA
    return Page(kind, max(unpacked, packed), packed, values, delta), at + reader.at + packed


def _header(file: BinaryIO, at: int, end: int) -> tuple[Reader, Found]:
    """The header at this place, which is before `end`, and who has read it."""
    size = LITTLE
    while True:
        file.seek(at)
        data = file.read(min(size, end - at))
        try:
            reader = Reader(data)
            return reader, reader.struct(HEADER)
        except ShortError:
            if len(data) < size or size >= MOST:
                raise
            size *= 16
