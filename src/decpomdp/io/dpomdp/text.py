"""The lines of a `.dpomdp` file: bytes in, numbered lines without comments and blank lines out.

A file may be hostile, so everything is bounded. A gzip file is recognised by its first two bytes, unpacked piece by
piece and refused once it unpacks to more bytes or lines than `Limits` allow; this happens before a line is looked at,
so that a bomb costs the time to unpack the limit and no more. Pieces are then decoded and cut into lines one by one and
forgotten, so that the text is never held as a list of lines.
"""

import codecs
import gzip
import os
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from decpomdp.core.errors import FormatError
from decpomdp.io.opening import opened

PIECE = 1 << 20  # bytes read, unpacked and decoded at a time
_BARE = re.compile(r"\r(?!\n|\Z)")
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may ask for before it is refused."""

    file_bytes: int = 256 << 20  # of the file, after unpacking
    lines: int = 16 << 20
    line_length: int = 8 << 20  # characters
    table_bytes: int = 2 << 30  # of all dense tables of the model together
    agents: int = 64  # numpy arrays have no more axes than this


STANDARD = Limits()


class Lines:
    """Iterates over the lines that say something, stripped and without comments; knows the place for complaints."""

    def __init__(self, pieces: Iterable[str], source: str, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.number = 0  # of the line last handed out
        self._stream = self._cut(pieces)

    def __iter__(self) -> Iterator[str]:
        return self._stream

    def next(self, expected: str) -> str:
        """The next line; FormatError if there is none."""
        line = next(self._stream, None)
        if line is None:
            raise self.wrong(f"expected {expected}, found the end of the file")
        return line

    def wrong(self, message: str) -> FormatError:
        """The complaint `message` about the current line."""
        return FormatError(self.source, max(self.number, 1), message)

    def _cut(self, pieces: Iterable[str]) -> Iterator[str]:
        rest, read = "", 0
        for piece in pieces:
            lines = (rest + piece).split("\n")
            self._check(lines, read)
            rest = lines.pop()
            for self.number, line in enumerate(lines, read + 1):
                if content := (line.partition("#")[0] if "#" in line else line).strip():
                    yield content
            read += len(lines)
        self.number = read + 1 if rest else read
        if content := rest.partition("#")[0].strip():
            yield content

    def _check(self, lines: list[str], read: int) -> None:
        if max(map(len, lines)) > self.limits.line_length:
            self.number = read + next(i for i, line in enumerate(lines, 1) if len(line) > self.limits.line_length)
            raise self.wrong(f"expected lines of at most {self.limits.line_length} characters, found a longer one")


def lines_of_text(text: str, source: str, limits: Limits) -> Lines:
    """The lines of a text in memory."""
    _check_size(source, limits, len(text), text.count("\n"))
    text = text.removeprefix("\ufeff")  # a byte order mark, which some editors write
    pieces = (text[at : at + PIECE] for at in range(0, len(text), PIECE))
    return Lines(_checked(pieces, source), source, limits)


def lines_of_file(path: str | os.PathLike[str], limits: Limits) -> Lines:
    """The lines of a file, gzipped or not. Its content is held, so that pipes can be read too."""
    source = os.fsdecode(path)
    try:
        with opened(path) as file:
            unpacked = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == GZIP else file
            content = _read(unpacked, source, limits)
    except FormatError:
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(source, None, f"expected a whole gzip file, found a damaged one ({error})") from None
    except OSError as error:
        raise FormatError(source, None, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a path with a null byte
        raise FormatError(repr(source), None, f"cannot be read: {error}") from None
    return Lines(_checked(_decoded(content, source), source), source, limits)


def _read(file: IO[bytes] | gzip.GzipFile, source: str, limits: Limits) -> deque[bytes]:
    content: deque[bytes] = deque()
    size = lines = 0
    while piece := file.read(PIECE):
        content.append(piece)
        size += len(piece)
        lines += piece.count(b"\n")
        _check_size(source, limits, size, lines)
    return content


def _check_size(source: str, limits: Limits, size: int, lines: int) -> None:
    if size > limits.file_bytes:
        raise FormatError(source, None, f"expected at most {limits.file_bytes} bytes (unpacked), found more")
    if lines > limits.lines:
        raise FormatError(source, None, f"expected at most {limits.lines} lines, found more")


def _decoded(content: deque[bytes], source: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    line = 1
    while content:
        piece = content.popleft()
        try:
            text = decoder.decode(piece, final=not content)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
            raise FormatError(
                source, line, f"expected UTF-8 text, found byte 0x{error.object[error.start]:02x}"
            ) from None
        line += piece.count(b"\n")
        yield text


def _checked(pieces: Iterable[str], source: str) -> Iterator[str]:
    line, after_return = 1, False
    for piece in (piece for piece in pieces if piece):
        if "\0" in piece:
            line += piece[: piece.index("\0")].count("\n")
            raise FormatError(source, line, "expected text, found a NUL character (a binary file?)")
        if after_return and not piece.startswith("\n"):
            raise _bare_return(source, line)
        if "\r" in piece and (bare := _BARE.search(piece)):
            raise _bare_return(source, line + piece[: bare.start()].count("\n"))
        after_return = piece.endswith("\r")  # the piece ends within an end of line
        line += piece.count("\n")
        yield piece


def _bare_return(source: str, line: int) -> FormatError:
    """Editors show a new line there, where this format has none: a statement after it would belong to a comment."""
    return FormatError(source, line, "expected a new line after a carriage return, found none")
