"""The belief set: beliefs that can be reached from the start, laid end to end, each with its depth."""

import numpy as np
from numpy.typing import NDArray

DIGITS = 10  # beliefs that agree to this many decimals are one

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class BeliefSet:
    """Grows only. The first belief is the start."""

    def __init__(self, offsets: Whole, states: Whole, weights: Floats, depth: Whole) -> None:
        self.offsets = offsets  # [p + 1]
        self.states = states  # [entry]
        self.weights = weights  # [entry]
        self.depth = depth  # [p] steps from the start on the path by which it was reached first
        self._place = {key_of(*self.belief(place)): place for place in range(self.count)}

    @classmethod
    def of(cls, start: Floats) -> "BeliefSet":
        """The start alone."""
        states = np.flatnonzero(start)
        return cls(np.array([0, len(states)]), states, start[states], np.zeros(1, np.int64))

    @property
    def count(self) -> int:
        """How many beliefs there are."""
        return len(self.depth)

    def place(self, states: Whole, weights: Floats) -> int | None:
        """Where a belief is, None when it is new."""
        return self._place.get(key_of(states, weights))

    def add(self, beliefs: list[tuple[Whole, Floats]], depths: list[int]) -> list[int]:
        """Add what is new; returns the place of every one of `beliefs`."""
        places: list[int] = []
        fresh: list[tuple[Whole, Floats, int]] = []
        for (states, weights), depth in zip(beliefs, depths, strict=True):
            order = np.argsort(states)
            key = key_of(states, weights)
            if key not in self._place:
                self._place[key] = self.count + len(fresh)
                fresh.append((states[order], weights[order], depth))
            places.append(self._place[key])
        if fresh:
            sizes = np.cumsum([len(states) for states, _, _ in fresh])
            self.offsets = np.concatenate([self.offsets, self.offsets[-1] + sizes])
            self.states = np.concatenate([self.states, *(states for states, _, _ in fresh)])
            self.weights = np.concatenate([self.weights, *(weights for _, weights, _ in fresh)])
            self.depth = np.concatenate([self.depth, [depth for _, _, depth in fresh]])
        return places

    def belief(self, place: int) -> tuple[Whole, Floats]:
        """States and weights of one belief."""
        part = slice(self.offsets[place], self.offsets[place + 1])
        return self.states[part], self.weights[part]

    def layers(self) -> list[Whole]:
        """Places of the beliefs, deepest first, those of one depth together."""
        return [np.flatnonzero(self.depth == depth) for depth in np.unique(self.depth)[::-1]]


def key_of(states: Whole, weights: Floats) -> bytes:
    """Equal for beliefs that agree to DIGITS decimals, whatever the order of their states."""
    rounded = np.round(weights, DIGITS) + 0.0
    order = np.argsort(states)
    kept = order[rounded[order] > 0]
    return np.ascontiguousarray(states[kept], np.int64).tobytes() + rounded[kept].tobytes()
