"""The words of a `.dpomdp` file: numbers, names, labels.

A name is a word without `:` and `#` that is neither `*` nor a number, so that a name is never taken for an index.
A file says the same few numbers over and over; `Numbers` looks at a text only when it is new.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from sys import float_info

import numpy as np

from decpomdp.core.agent import numbered
from decpomdp.core.checks import ACCEPTED, Floats
from decpomdp.io.dpomdp.text import Lines

REMEMBERED = 1 << 16  # texts; beyond that all are forgotten and looked at again
HUGE = 1000  # digits of a count that are looked at: Python takes long over millions
_NUMERIC = re.compile(r"[0-9eE+\-.\s]*")  # keeps out nan, inf, 1_000 and digits of other scripts
_DIGITS = re.compile(r"[0-9]+")


def shown(text: str) -> str:
    """`text` for a complaint: quoted, on one line, not too long."""
    text = " ".join(text[:400].split())
    return "nothing" if not text else repr(text) if len(text) <= 60 else f"{text[:56]!r}..."


def number(text: str) -> float | None:
    """The number that `text` is, None if it is none."""
    if not _NUMERIC.fullmatch(text):
        return None
    try:
        return float(text) + 0.0  # + 0.0 turns -0.0 into 0.0
    except ValueError:
        return None


def whole(text: str) -> int | None:
    """The whole number that `text` is, None if it is none; of more than a thousand digits 10^1000, which is enough."""
    if not _DIGITS.fullmatch(text):
        return None
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= HUGE else 10**HUGE


def is_name(text: str) -> bool:
    """Whether `text` can be the name of something: one word, no `:`, no `#`, neither `*` nor a number."""
    return text.split() == [text] and not any(mark in text for mark in ":#\0") and text != "*" and number(text) is None


def read_labels(lines: Lines, text: str, what: str, fits: Callable[[int], None]) -> tuple[str, ...]:
    """The labels in `text`: names, or how many there are. `fits` may refuse the count before anything is made."""
    words = text.split()
    if not words or ":" in text:
        raise lines.wrong(f"expected the number of {what} or their names, found {shown(text)}")
    if len(words) == 1 and number(text) is not None:
        count = whole(words[0])
        if not count:
            raise lines.wrong(f"expected a number of {what} of at least 1, found {shown(text)}")
        fits(count)
        return numbered(count)
    fits(len(words))
    for word in words:
        if not is_name(word):
            raise lines.wrong(f"expected names of {what} that are neither * nor numbers, found {shown(word)}")
    if len(set(words)) < len(words):
        twice = next(word for word, times in Counter(words).items() if times > 1)
        raise lines.wrong(f"expected distinct names of {what}, found {shown(twice)} twice")
    return tuple(words)


class Alphabet:
    """The labels of one kind of thing, found by name or by index."""

    def __init__(self, lines: Lines, what: str, labels: Sequence[str]) -> None:
        self.lines, self.what, self.labels = lines, what, labels
        self._places = {label: place for place, label in enumerate(labels)}

    def find(self, word: str) -> int:
        """The place of the thing that `word` names."""
        place = self._places.get(word)
        if place is None:
            place = whole(word)
            if place is None or place >= len(self.labels):
                among = f"0 to {len(self.labels) - 1}"
                raise self.lines.wrong(f"expected {self.what}, by name or index from {among}, found {shown(word)}")
        return place


class Numbers(dict[str, float]):
    """Numbers of one kind, from `low` to `high`."""

    def __init__(self, lines: Lines, expected: str, low: float, high: float) -> None:
        super().__init__()
        self._lines, self._expected = lines, expected
        self._low, self._high = low, high

    def __missing__(self, text: str) -> float:
        if len(self) >= REMEMBERED:
            self.clear()
        value = number(text)
        if value is None or not self._low <= value <= self._high:
            raise self._lines.wrong(f"expected {self._expected}, found {shown(text)}")
        self[text] = value
        return value

    def row(self, text: str, count: int) -> Floats:
        """The line `text` as `count` numbers."""
        words = text.split()
        if len(words) != count:
            strange = any(number(word) is None for word in words[:count])
            raise self._lines.wrong(f"expected {count} numbers, found {shown(text) if strange else len(words)}")
        if _NUMERIC.fullmatch(text):
            with suppress(ValueError):
                values = np.fromiter(map(float, words), np.float64, count) + 0.0
                if np.all((values >= self._low) & (values <= self._high)):
                    return values
        return np.array([self[word] for word in words])  # complains about the first wrong one


def probabilities(lines: Lines) -> Numbers:
    """Numbers that can be probabilities; whether rows sum to one is known only at the end of the file."""
    return Numbers(lines, "a probability from 0 to 1", 0.0, 1.0 + ACCEPTED)


def rewards(lines: Lines) -> Numbers:
    """Numbers that can be rewards: finite ones."""
    return Numbers(lines, "a finite number", -float_info.max, float_info.max)
