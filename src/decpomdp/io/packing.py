"""Packed text: gzip and zstd files, known by their first bytes whatever their names, and unpacked piece by piece.

A small file can unpack to more than any memory holds: whoever reads it counts what is kept (`table_csv`). It can also
unpack to so much that nobody wants to wait for its end, and is refused for that.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from decpomdp.core.errors import FormatError
from decpomdp.io.arrow_files import arrow_file
from decpomdp.io.opening import RULE

MARKS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}  # how files begin
MARKS |= {bytes([first]) + b"\x2a\x4d\x18": "zstd" for first in range(0x50, 0x60)}  # with what is to be passed over
ENDINGS = {".gz": "gzip", ".zst": "zstd"}  # how their names end
OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}  # that are not unpacked here
PIECE = 1 << 20  # bytes unpacked at a time
TRIES = 1000  # sizes of blocks


def packing(beginning: bytes) -> str | None:
    """How a file that begins so is packed; None if it is not."""
    return next((name for mark, name in MARKS.items() if beginning.startswith(mark)), None)


def refuse_other_packing(source: str) -> None:
    """Raise FormatError for a file that is packed as nobody here can read it."""
    with open(source, "rb") as file:
        beginning = file.peek(8)
    for mark, name in OTHERS.items():
        if beginning.startswith(mark):
            said = f"expected CSV, got a {name} file; unpack it first, or pack it with gzip or zstandard"
            raise FormatError(source, None, said)


def stream_of(source: str) -> Any:
    """An Arrow stream of the bytes of the file at `source`, unpacked if it is packed."""
    import pyarrow as pa

    with open(source, "rb") as file:
        kind = packing(file.peek(4))
    return pa.input_stream(arrow_file(source, "rb"), compression=kind)


@contextmanager
def unpacked(source: str) -> Iterator[io.BufferedReader]:
    """The same bytes for Python's readers."""
    with stream_of(source) as stream, io.BufferedReader(stream, PIECE) as file:
        yield file


def signs_in(source: str, signs: bytes) -> bytes:
    """Which of these bytes occur; FormatError if the file unpacks to more than anybody would wait for."""
    size, found, most = 0, set[int](), RULE.most(os.path.getsize(source))
    with unpacked(source) as file:
        for piece in iter(partial(file.read, PIECE), b""):
            size += len(piece)
            found.update(sign for sign in signs if sign not in found and sign in piece)
            if size > most:
                unlikely = f"expected a file that unpacks to at most {most} bytes, got more; unpack it first"
                raise FormatError(source, None, unlikely)
    return bytes(found)


def whole_blocks(source: str, longest: int) -> int:
    """Bytes of blocks, not many less than the longest, none of which ends between the CR and the LF of a quoted cell.

    Arrow passes over an LF that a block begins with where the one before ends in CR, also in the middle of a cell.
    Best is a size that divides no CRLF; in a very long file, one that divides none behind an odd number of quotation
    marks, which is in a quoted cell unless others hold marks too.
    """
    sizes = range(longest, max(longest - TRIES, longest // 2), -1)
    outside, inside = set[int](), set[int]()  # those that divide one
    before, quotes, last = 0, 0, b""
    with unpacked(source) as file:
        for piece in iter(partial(file.read, PIECE), b""):
            data, first = last + piece, before - len(last)  # with the last byte of the piece before
            for size in sizes:
                for at in range(-(-max(before, 1) // size) * size - first, len(data), size):
                    if data[at - 1 : at + 1] == b"\r\n":
                        odd = (quotes + data.count(b'"', 0, at)) % 2
                        (inside if odd else outside).add(size)
            quotes += data.count(b'"', 0, len(data) - 1)
            before, last = before + len(piece), piece[-1:]
    for wrong in (outside | inside, inside):
        for size in sizes:
            if size not in wrong:
                return size
    raise FormatError(source, None, "expected LF as line ends in quoted cells, got very many CRLF; write it anew")


@contextmanager
def packed(path: Path, name: str) -> Iterator[Any]:
    """A stream into the new file at `path`, packed as the `name` says that it will have."""
    import pyarrow as pa

    kind = ENDINGS.get(Path(name).suffix.lower())
    with arrow_file(path, "wb") as file, pa.output_stream(file, compression=kind) as stream:
        yield stream
