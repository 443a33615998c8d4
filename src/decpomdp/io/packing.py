"""Packed text: gzip and zstd files, known by their first bytes whatever their names, and unpacked piece by piece.

A small file can unpack to more than any memory holds: whoever reads it counts what is kept (`table_csv`). It can also
unpack to so much that nobody wants to wait for its end, and is refused for that.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import most_of

MARKS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}  # how files begin
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


@contextmanager
def unpacked(source: str) -> Iterator[io.BufferedReader]:
    """The same bytes for Python's readers."""
    with stream_of(source) as stream, io.BufferedReader(stream, PIECE) as file:
        yield file


def count_of(source: str, sign: bytes) -> int:
    """How often a byte occurs; FormatError if the file unpacks to more than anybody would wait for."""
    size, count, most = 0, 0, most_of(source)
    with unpacked(source) as file:
        for piece in iter(partial(file.read, PIECE), b""):
            size += len(piece)
            count += piece.count(sign)
            if size > most:
                unlikely = f"expected a file that unpacks to at most {most} bytes, got more; unpack it first"
                raise FormatError(source, None, unlikely)
    return count


@contextmanager
def packed(path: Path, name: str) -> Iterator[Any]:
    """A stream into the new file at `path`, packed as the `name` says that it will have."""
    import pyarrow as pa

    with pa.output_stream(str(path), compression=ENDINGS.get(Path(name).suffix.lower())) as stream:
        yield stream
