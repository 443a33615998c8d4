"""The belief set: reachable beliefs as flat arrays with offsets, each with its depth."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DIGITS = 10  # decimals to which beliefs are compared

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Beliefs(NamedTuple):
    """The data of a belief set."""

    offsets: Ints  # [p + 1]
    states: Ints  # [entry]
    weights: Floats  # [entry]
    depth: Ints  # [p] steps from the start when it was added


class BeliefSet:
    """A growing set of beliefs; the first is the start."""

    def __init__(self, data: Beliefs) -> None:
        self.offsets, self.states, self.weights, self.depth = data
        self._place = {key_of(*self.belief(place)): place for place in range(self.count)}

    @classmethod
    def of(cls, start: Floats) -> "BeliefSet":
        """The set of the start alone."""
        states = np.flatnonzero(start)
        return cls(Beliefs(np.array([0, len(states)]), states, start[states], np.zeros(1, np.int64)))

    @property
    def data(self) -> Beliefs:
        return Beliefs(self.offsets, self.states, self.weights, self.depth)

    @property
    def count(self) -> int:
        return len(self.depth)

    def place(self, states: Ints, weights: Floats) -> int | None:
        """The number of a belief; None when it is new."""
        return self._place.get(key_of(states, weights))

    def add(self, beliefs: list[tuple[Ints, Floats]], depths: list[int]) -> list[int]:
        """Add new beliefs; returns the number of every one of `beliefs`."""
        places: list[int] = []
        new: list[tuple[Ints, Floats, int]] = []
        for (states, weights), depth in zip(beliefs, depths, strict=True):
            order = np.argsort(states)
            key = key_of(states, weights)
            if key not in self._place:
                self._place[key] = self.count + len(new)
                new.append((states[order], weights[order], depth))
            places.append(self._place[key])
        if new:
            sizes = np.cumsum([len(states) for states, _, _ in new])
            self.offsets = np.concatenate([self.offsets, self.offsets[-1] + sizes])
            self.states = np.concatenate([self.states, *(states for states, _, _ in new)])
            self.weights = np.concatenate([self.weights, *(weights for _, weights, _ in new)])
            self.depth = np.concatenate([self.depth, [depth for _, _, depth in new]])
        return places

    def belief(self, place: int) -> tuple[Ints, Floats]:
        part = slice(self.offsets[place], self.offsets[place + 1])
        return self.states[part], self.weights[part]

    def layers(self) -> list[Ints]:
        """Numbers of the beliefs, grouped by depth, deepest first."""
        return [np.flatnonzero(self.depth == depth) for depth in np.unique(self.depth)[::-1]]


def key_of(states: Ints, weights: Floats) -> bytes:
    """Equal for beliefs that agree to DIGITS decimals, in any order of their states."""
    rounded = np.round(weights, DIGITS) + 0.0
    order = np.argsort(states)
    order = order[rounded[order] > 0]
    return np.ascontiguousarray(states[order], np.int64).tobytes() + rounded[order].tobytes()
