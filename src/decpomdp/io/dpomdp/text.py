"""The text of a `.dpomdp` file: bytes to numbered lines, and lines to numbers, names and labels.

A name is a word without `:`, `#` and quotation marks that is neither `*` nor a number: it is never taken for
an index. Quotation marks around a word are dropped: some tools write `values: "reward"` and quoted labels.
Files repeat the same few numbers and names in most of their lines; `Memo` parses each text once.
"""

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np

from decpomdp.core.agent import numbered
from decpomdp.core.checks import ACCEPTED, LARGEST_REWARD, Floats
from decpomdp.core.errors import FormatError
from decpomdp.io.files import FilePath, path_of, read_bytes

Value = TypeVar("Value")

FILE_BYTES = 256 << 20  # of a file, after decompression
MEMO_SIZE = 1 << 16  # texts; a full memo is emptied
_GZIP = b"\x1f\x8b"
_BARE_RETURN = re.compile(rb"\r(?!\n|\Z)")
_NUMERIC = re.compile(r"[0-9eE+\-.\s]*")  # excludes nan, inf, 1_000 and digits of other scripts
_QUOTED = re.compile(r'(?<![^\s:])"([^"\s:]+)"(?![^\s:])')  # a single word in quotation marks
_WHOLE = re.compile(r"[0-9]{1,18}")


class Lines:
    """Iterates over the non-empty lines, stripped and without comments; keeps the line number for errors."""

    def __init__(self, data: bytes, source: str) -> None:
        _check_text(data, source)
        self.source = source
        self.number = 0  # of the line last returned
        self._stream = self._read(data)

    def __iter__(self) -> Iterator[str]:
        return self._stream

    def next(self, expected: str) -> str:
        """The next line; FormatError at the end of the file."""
        line = next(self._stream, None)
        if line is None:
            raise self.error(f"expected {expected}, got the end of the file")
        return line

    def error(self, message: str) -> FormatError:
        """An error in the current line."""
        return FormatError(self.source, max(self.number, 1), message)

    def _read(self, data: bytes) -> Iterator[str]:
        stream = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="\n")
        for self.number, line in enumerate(stream, 1):
            if content := (line.partition("#")[0] if "#" in line else line).strip():
                yield _QUOTED.sub(r"\1", content) if '"' in content else content


def read_data(path: FilePath) -> bytes:
    """The content of the file, decompressed if it starts with the magic number of gzip."""
    source, data = path_of(path), read_bytes(path, FILE_BYTES)
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(FILE_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(source, None, f"expected a complete gzip file, got a damaged one ({error})") from None
    if len(unpacked) > FILE_BYTES:
        raise FormatError(source, None, f"expected at most {FILE_BYTES} bytes after decompression, got more")
    return unpacked


def _check_text(data: bytes, source: str) -> None:
    place, message = -1, ""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        place, message = error.start, f"expected UTF-8 text, got byte 0x{data[error.start]:02x}"
    else:
        if (place := data.find(b"\0")) >= 0:
            message = "expected text, got a NUL character (a binary file?)"
        elif bare := _BARE_RETURN.search(data):  # editors show a line break that the format does not have
            place, message = bare.start(), "expected a new line after a carriage return, got none"
    if message:
        raise FormatError(source, data.count(b"\n", 0, place) + 1, message)


def shown(text: str) -> str:
    """`text` for an error message: quoted, on one line, shortened."""
    text = " ".join(text[:400].split())
    return "nothing" if not text else repr(text) if len(text) <= 60 else f"{text[:56]!r}..."


def number(text: str) -> float | None:
    """The number in `text`, None if it is not a number."""
    if not _NUMERIC.fullmatch(text):
        return None
    try:
        return float(text) + 0.0  # + 0.0 turns -0.0 into 0.0
    except ValueError:
        return None


def whole(text: str) -> int | None:
    """The whole number in `text`, None if it is not a number of at most 18 digits."""
    return int(text) if _WHOLE.fullmatch(text) else None


def is_name(text: str) -> bool:
    """Whether `text` can be a name: one word, no `:`, no `#`, no quotation mark, neither `*` nor a number."""
    return text.split() == [text] and not any(mark in text for mark in ':#"\0') and text != "*" and number(text) is None


def read_labels(lines: Lines, text: str, what: str, check_count: Callable[[int], None]) -> tuple[str, ...]:
    """The labels in `text`: names, or their number. `check_count` may reject the number before labels are made."""
    words = text.split()
    if not words or ":" in text:
        raise lines.error(f"expected the number of {what} or their names, got {shown(text)}")
    if len(words) == 1 and number(text) is not None:
        count = whole(words[0])
        if not count:
            raise lines.error(f"expected a number of {what} of at least 1, got {shown(text)}")
        check_count(count)
        return numbered(count)
    check_count(len(words))
    for word in words:
        if not is_name(word):
            raise lines.error(f"expected names of {what} (no numbers, * or quotation marks), got {shown(word)}")
    if len(set(words)) < len(words):
        twice = next(word for word, times in Counter(words).items() if times > 1)
        raise lines.error(f"expected distinct names of {what}, got {shown(twice)} twice")
    return tuple(words)


class Memo(dict[str, Value]):
    """A cache of the function `read`, used like a dictionary."""

    def __init__(self, read: Callable[[str], Value]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Value:
        if len(self) >= MEMO_SIZE:
            self.clear()
        value = self[text] = self._read(text)
        return value


class LabelIndex:
    """Labels that are found by name or by index."""

    def __init__(self, lines: Lines, what: str, labels: Sequence[str]) -> None:
        self.lines, self.what, self.labels = lines, what, labels
        self._indices = {label: index for index, label in enumerate(labels)}

    def find(self, word: str) -> int:
        """The index of the label `word`."""
        index = self._indices.get(word)
        if index is None:
            index = whole(word)
            if index is None or index >= len(self.labels):
                most = len(self.labels) - 1
                raise self.lines.error(f"expected {self.what}, by name or index from 0 to {most}, got {shown(word)}")
        return index


class Numbers:
    """Parser of numbers from `low` to `high`."""

    def __init__(self, lines: Lines, expected: str, low: float, high: float) -> None:
        self._lines, self._expected = lines, expected
        self._low, self._high = low, high

    def read(self, text: str) -> float:
        """The number in `text`."""
        value = number(text)
        if value is None or not self._low <= value <= self._high:
            raise self._lines.error(f"expected {self._expected}, got {shown(text)}")
        return value

    def row(self, text: str, count: int) -> Floats:
        """The `count` numbers in the line `text`."""
        words = text.split()
        if len(words) != count:
            other = any(number(word) is None for word in words[:count])
            raise self._lines.error(f"expected {count} numbers, got {shown(text) if other else len(words)}")
        if _NUMERIC.fullmatch(text):
            with suppress(ValueError):
                values = np.fromiter(map(float, words), np.float64, count) + 0.0
                if np.all((values >= self._low) & (values <= self._high)):
                    return values
        return np.array([self.read(word) for word in words])  # raises the error of the first wrong word


def probabilities(lines: Lines) -> Numbers:
    """Parser of probabilities; the sums of rows are checked at the end of the file."""
    return Numbers(lines, "a probability from 0 to 1", 0.0, 1.0 + ACCEPTED)


def rewards(lines: Lines) -> Numbers:
    """Parser of rewards."""
    return Numbers(lines, f"a number up to {LARGEST_REWARD:g}", -LARGEST_REWARD, LARGEST_REWARD)
