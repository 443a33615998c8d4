"""The fields of a `.dpomdp` line: numbers, labels, states, joint actions and joint observations.

A place in a table is a code: an index from 0, ALL for `*`, or at most SOME for a joint index in which only some
agents have a `*` (such as `listen *`); SOME - k stands for the k-th of these met in the file. A file says the same
few things over and over, so that every field is a dictionary from the text between two colons to what it means,
which looks at a text only when it is new.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import prod
from sys import float_info

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.agent import numbered
from decpomdp.core.checks import ACCEPTED, Floats
from decpomdp.io.dpomdp_text import Lines

ALL = -1
SOME = -2

REMEMBERED = 1 << 16  # texts per field; a file with more distinct ones is forgotten and looked at again
_NUMERIC = re.compile(r"[0-9eE+\-.\s]*")  # keeps out nan, inf, 1_000 and digits of other scripts
_DIGITS = re.compile(r"[0-9]+")

Selection = slice | NDArray[np.intp]


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
    """The whole number that `text` is, None if it is none; a huge one comes out smaller, but still huge."""
    return int(text[-18:]) + 10**18 * (len(text) > 18) if _DIGITS.fullmatch(text) else None


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


class Field(dict[str, int]):
    """The base of fields that hold a code."""

    def __missing__(self, text: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        code = self[text] = self.read(text)
        return code

    def read(self, text: str) -> int:
        """The code of a text not seen before."""
        raise NotImplementedError

    def select(self, code: int) -> Selection:
        """What `code` selects of its axis."""
        return slice(None) if code == ALL else slice(code, code + 1)


class States(Field):
    """One state or `*`."""

    def __init__(self, lines: Lines, labels: Sequence[str]) -> None:
        super().__init__()
        self._states = Alphabet(lines, "a state", labels)

    def read(self, text: str) -> int:
        word = text.strip()
        return ALL if word == "*" else self._states.find(word)


class Joint(Field):
    """A joint action or observation: `*`, a joint index, or one word per agent (name, index or `*`)."""

    def __init__(self, lines: Lines, what: str, names: Sequence[str], labels: Sequence[Sequence[str]]) -> None:
        super().__init__()
        self._lines, self._what = lines, what
        self._parts = [Alphabet(lines, f"an {what} of {name}", own) for name, own in zip(names, labels, strict=True)]
        self.shape = tuple(len(own) for own in labels)
        self.size = prod(self.shape)
        self._strides = [prod(self.shape[n + 1 :]) for n in range(len(labels))]
        self._some: list[tuple[int, ...]] = []
        self._codes: dict[tuple[int, ...], int] = {}

    def read(self, text: str) -> int:
        words = text.split()
        if words == ["*"]:
            return ALL
        if len(words) == len(self._parts):
            return self._code(tuple(ALL if w == "*" else a.find(w) for w, a in zip(words, self._parts, strict=True)))
        index = whole(words[0]) if len(words) == 1 else None
        if index is None or index >= self.size:
            raise self._lines.wrong(
                f"expected a joint {self._what}: *, an index from 0 to {self.size - 1} or "
                f"{len(self._parts)} words, found {shown(text)}"
            )
        return index

    def _code(self, parts: tuple[int, ...]) -> int:
        if ALL not in parts:
            return sum(part * stride for part, stride in zip(parts, self._strides, strict=True))
        if set(parts) == {ALL}:
            return ALL
        if parts not in self._codes:
            self._codes[parts] = SOME - len(self._some)
            self._some.append(parts)
        return self._codes[parts]

    def select(self, code: int) -> Selection:
        if code > SOME:
            return super().select(code)
        indices = np.zeros(1, np.intp)
        for part, size, stride in zip(self._some[SOME - code], self.shape, self._strides, strict=True):
            own = np.arange(size, dtype=np.intp) if part == ALL else np.array([part], np.intp)
            indices = (indices[:, None] + own * stride).reshape(-1)
        return indices

    def label(self, index: int) -> str:
        """The joint thing in words, such as (listen, open-left)."""
        parts = np.unravel_index(index, self.shape)
        return f"({', '.join(a.labels[int(i)] for a, i in zip(self._parts, parts, strict=True))})"


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
