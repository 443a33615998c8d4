"""Discrete Gymnasium spaces as alphabets: every combination of the values of their parts is one symbol.

The spaces of a Minari dataset are JSON texts. They are decoded here, strictly and with bounds, before Minari sees
them. A decoded space is a tuple of ranges, one per recorded number, or a dictionary of the spaces inside a Dict (by
key) or a Tuple (by index).
"""

import itertools
import json
import math
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from decpomdp.core import InputError
from decpomdp.io.files import words

SYMBOLS = 2**15  # of an agent: symbols are stored in 16 bits
PARTS = 4096  # of a MultiBinary space
LARGEST = 2**53
NESTING = 16  # levels of spaces

Space = tuple[range, ...] | dict[Any, Any]
Count = Annotated[int, Meta(ge=1, le=LARGEST)]
Value = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]


class _Discrete(Struct, tag_field="type", tag="Discrete"):
    n: Count
    start: Value = 0


class _MultiDiscrete(Struct, tag_field="type", tag="MultiDiscrete"):
    nvec: list[Any]
    start: list[Any]
    dtype: Literal["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


class _MultiBinary(Struct, tag_field="type", tag="MultiBinary"):
    n: Count | Annotated[list[Count], Meta(max_length=8)]


class _Tuple(Struct, tag_field="type", tag="Tuple"):
    subspaces: list["_Json"]


class _Dict(Struct, tag_field="type", tag="Dict"):
    subspaces: dict[str, "_Json"]


_Json = _Discrete | _MultiDiscrete | _MultiBinary | _Tuple | _Dict


def decode_space(text: str) -> Space:
    """The space in a JSON text; InputError unless it is a discrete space."""
    try:
        return _space(msgspec.convert(json.loads(text), _Json), NESTING)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"expected a discrete space: {words(error)}") from None


def _space(space: Any, levels: int) -> Space:
    if not levels:
        raise ValueError(f"more than {NESTING} levels of spaces")
    if isinstance(space, _Dict):  # sorted by Gymnasium as well
        return {key: _space(inner, levels - 1) for key, inner in sorted(space.subspaces.items())}
    if isinstance(space, _Tuple):
        return {n: _space(inner, levels - 1) for n, inner in enumerate(space.subspaces)}
    if isinstance(space, _Discrete):
        return (range(space.start, space.start + space.n),)
    if isinstance(space, _MultiBinary):
        parts = math.prod(space.n) if isinstance(space.n, list) else space.n
        if parts > PARTS:
            raise ValueError(f"a MultiBinary space of more than {PARTS} parts")
        return (range(2),) * parts
    lows, sizes = (
        msgspec.convert(np.ravel(values).tolist(), kind)
        for values, kind in ((space.start, list[Value]), (space.nvec, list[Count]))
    )
    return tuple(range(low, low + size) for low, size in zip(lows, sizes, strict=True))


def ranges_of(space: Space) -> list[range]:
    """The values of every part of a space."""
    if isinstance(space, tuple):
        return list(space)
    return [values for inner in space.values() for values in ranges_of(inner)]


def labels_of(what: str, space: Space) -> tuple[str, ...]:
    """A label for every combination of the values of the parts: `3/0/1`."""
    ranges, count = ranges_of(space), 1
    for values in ranges:
        count *= len(values)
        if count > SYMBOLS:
            raise InputError(f"{what}: expected at most {SYMBOLS} combinations of values, got more")
    return tuple("/".join(map(str, values)) for values in itertools.product(*ranges))


def symbols_of(space: Space, recorded: Any, where: str) -> NDArray[np.int16]:
    """[t]: the index of every combination of values, the last part fastest."""
    total: NDArray[np.int64] = np.zeros(1, np.int64)
    for part, known in zip(_parts_of(space, recorded), ranges_of(space), strict=True):
        wrong = ~np.isin(part, known)
        if wrong.any():
            t = int(np.argmax(wrong))
            raise InputError(f"t = {t}, {where}: expected {known[0]} to {known[-1]}, got {part[t]}")
        total = total * len(known) + (part.astype(np.int64) - known[0])
    return total.astype(np.int16)


def _parts_of(space: Space, recorded: Any) -> list[NDArray]:
    """[t] for every part of the values recorded in a space."""
    if isinstance(space, dict):
        return [part for key, inner in space.items() for part in _parts_of(inner, recorded[key])]
    array = np.asarray(recorded)
    return list(array.reshape(len(array), -1).T)
