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
from threading import Lock
from typing import Any, Self

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import RULE

MARKS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}  # how files begin
MARKS |= {bytes([first]) + b"\x2a\x4d\x18": "zstd" for first in range(0x50, 0x60)}  # with what is to be passed over
ENDINGS = {".gz": "gzip", ".zst": "zstd"}  # how their names end
OTHERS = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}  # that are not unpacked here
PIECE = 1 << 20  # bytes unpacked at a time


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
    return pa.input_stream(source, compression=kind)


class WholeEnds:
    """A stream for Arrow's reader of CSV, no piece of which ends between the two bytes of a line end.

    Where a piece ends in CR, Arrow passes over an LF that the next one begins with: in a quoted cell too.
    """

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream, self._next = stream, b""  # the byte that was read too much
        self._ended, self._lock = False, Lock()  # Arrow reads ahead in a thread of its own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # whoever reads is waited for, and finds nothing more
            self._ended = True

    def read(self, size: int) -> bytes:
        """So many bytes at most; none: there are no more."""
        with self._lock:
            return b"" if self._ended else self._read(size)

    def _read(self, size: int) -> bytes:
        piece: bytes = self._next + self._stream.read(max(size - 1 - len(self._next), 1))
        self._next = self._stream.read(1) if piece.endswith(b"\r") else b""
        if self._next == b"\n":
            piece, self._next = piece + b"\n", b""
        return piece


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


@contextmanager
def packed(path: Path, name: str) -> Iterator[Any]:
    """A stream into the new file at `path`, packed as the `name` says that it will have."""
    import pyarrow as pa

    with pa.output_stream(str(path), compression=ENDINGS.get(Path(name).suffix.lower())) as stream:
        yield stream
