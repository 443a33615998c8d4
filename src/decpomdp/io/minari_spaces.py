"""Discrete Gymnasium spaces as alphabets: every combination of the values of their parts is one symbol."""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError

MOST_LABELS = 2**15  # symbols are kept in 16 bits


def labels_of(what: str, space: Any) -> tuple[str, ...]:
    """A label for every combination of the values of the parts: `3/0/1`."""
    ranges = ranges_of(what, space)
    if math.prod(len(values) for values in ranges) > MOST_LABELS:
        raise InputError(f"{what}: expected at most {MOST_LABELS}, got {math.prod(len(values) for values in ranges)}")
    return tuple("/".join(map(str, values)) for values in itertools.product(*ranges))


def ranges_of(what: str, space: Any) -> list[range]:
    """The values of every part of a discrete space, in the order of `parts_of`."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return [range(int(space.start), int(space.start) + int(space.n))]
    if isinstance(space, spaces.MultiDiscrete):
        lows, sizes = np.ravel(space.start), np.ravel(space.nvec)
        return [range(int(low), int(low) + int(size)) for low, size in zip(lows, sizes, strict=True)]
    if isinstance(space, spaces.MultiBinary):
        return [range(2)] * math.prod(space.shape)
    if isinstance(space, spaces.Tuple | spaces.Dict):
        inner = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        return [values for part in inner for values in ranges_of(what, part)]
    raise InputError(f"{what}: expected a discrete space, got {space}")


def parts_of(space: Any, values: Any) -> Iterable[NDArray]:
    """[t] for every part of what was recorded in a discrete space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return [part for key in space.spaces for part in parts_of(space[key], values[key])]
    if isinstance(space, spaces.Tuple):
        return [part for n, inner in enumerate(space.spaces) for part in parts_of(inner, values[n])]
    array = np.asarray(values)
    return array.reshape(len(array), -1).T


def symbols_of(space: Any, values: Any, where: str) -> NDArray[np.int64]:
    """[t]: the number of every combination of parts, the last part fastest."""
    total: NDArray[np.int64] = np.zeros(1, np.int64)
    for part, known in zip(parts_of(space, values), ranges_of(where, space), strict=True):
        wrong = ~np.isin(part, known)
        if wrong.any():
            t = int(np.argmax(wrong))
            raise InputError(f"t = {t}, {where}: expected {known[0]} to {known[-1]}, got {part[t]}")
        total = total * len(known) + (part.astype(np.int64) - known[0])
    return total
