"""The places that the fields of a `.dpomdp` line name: states, joint actions and joint observations.

A place is a code: an index from 0, ALL for `*`, or SOME and below for a joint index in which only some agents have a
`*` (such as `listen *`); SOME - k stands for the k-th of these in the file. A file names the same few places over and
over, so a field is a dictionary from the text between two colons to its code that looks at a text only when it is new.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.joint import joint_parts
from decpomdp.io.dpomdp.text import Lines
from decpomdp.io.dpomdp.words import REMEMBERED, Alphabet, shown, whole

ALL = -1
SOME = -2

Selection = slice | NDArray[np.intp]


class Axis(Protocol):
    """Knows what a code selects of an axis of a table."""

    def select(self, code: int) -> Selection: ...


class Field(dict[str, int], ABC):
    """From the text of a field to its code."""

    def __missing__(self, text: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        code = self[text] = self.read(text)
        return code

    @abstractmethod
    def read(self, text: str) -> int:
        """The code of a text not seen before."""

    def select(self, code: int) -> Selection:
        """What `code` selects of the axis of this field."""
        return one_or_all(code)


def one_or_all(code: int) -> slice:
    """What an index or ALL selects."""
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
            return one_or_all(code)
        indices = np.zeros(1, np.intp)
        for part, size, stride in zip(self._some[SOME - code], self.shape, self._strides, strict=True):
            own = np.arange(size, dtype=np.intp) if part == ALL else np.array([part], np.intp)
            indices = (indices[:, None] + own * stride).reshape(-1)
        return indices

    def label(self, index: int) -> str:
        """The joint thing in words, such as (listen, open-left)."""
        parts = joint_parts(index, self.shape)
        return f"({', '.join(a.labels[int(i)] for a, i in zip(self._parts, parts, strict=True))})"
