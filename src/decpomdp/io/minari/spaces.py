"""Discrete Gymnasium spaces as alphabets: every combination of the values of their parts is one symbol.

A space comes as a text of JSON in which a few letters can ask for gigabytes (an array of any shape, a number type of
any width) or for any depth; so the text is looked at before Minari makes a space of it, and the space before labels
are made of it.
"""

import itertools
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError
from decpomdp.io.files import words

MOST_LABELS = 2**15  # symbols are kept in 16 bits
MOST_PARTS = 2**20  # of all labels of an agent's actions or observations together
MOST_SPACES = 10_000  # one inside another or side by side
MOST_NUMBERS = 2**20  # that a space may have
NESTING = 16  # levels of spaces
LARGEST = 2**53  # a value: beyond, numbers that are not whole may look as if they were
WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = {"MultiDiscrete": WHOLE, "Box": (*WHOLE, "bool", "float16", "float32", "float64")}
SIZES = {"MultiBinary": "n", "Box": "shape"}
KINDS = ("Discrete", "MultiDiscrete", "MultiBinary", "Text", "Box")
GROUPS = {"Tuple": list, "Dict": dict}


def check_space(what: str, text: str) -> None:
    """Raise InputError unless Minari can make a space of this text without more than little memory."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what}: {words(error)}") from None
    todo, count = [(found, NESTING)], 0
    while todo:
        space, levels = todo.pop()
        count += 1
        inner = _checked_inner(what, space)
        if inner and not levels:
            raise InputError(f"{what}: expected at most {NESTING} levels of spaces, got more")
        if count + len(todo) + len(inner) > MOST_SPACES:
            raise InputError(f"{what}: expected at most {MOST_SPACES} spaces, got more")
        todo += [(part, levels - 1) for part in inner]


def _checked_inner(what: str, space: Any) -> list[Any]:
    """The spaces inside one; checked is what it alone says."""
    kind = space.get("type") if isinstance(space, dict) else None
    if isinstance(kind, str) and kind in GROUPS:
        inner = space.get("subspaces")
        if not isinstance(inner, GROUPS[kind]):
            raise InputError(f"{what}: expected the subspaces of a {kind}, got none")
        return list(inner.values() if isinstance(inner, dict) else inner)
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{what}: expected one of {', '.join((*KINDS, *GROUPS))}, got {str(kind)[:80]!r}")
    if kind in DTYPES and space.get("dtype") not in DTYPES[kind]:
        raise InputError(f"{what}: expected the type of a {kind}'s numbers, got {str(space.get('dtype'))[:80]!r}")
    if kind in SIZES:
        _check_size(f"{what}: {kind}", space.get(SIZES[kind]))
    return []


def _check_size(what: str, size: Any) -> None:
    sizes = size if isinstance(size, list) else [size]
    if not all(type(number) is int and number >= 0 for number in sizes):
        raise InputError(f"{what}: expected whole numbers as its size, got {str(size)[:80]}")
    if len(sizes) > NESTING or math.prod(sizes) > MOST_NUMBERS:
        raise InputError(f"{what}: expected at most {MOST_NUMBERS} numbers, got more")


def labels_of(what: str, space: Any) -> tuple[str, ...]:
    """A label for every combination of the values of the parts: `3/0/1`."""
    ranges, count = ranges_of(what, space), 1
    for values in ranges:  # not all of them: the product may have any number of digits
        count *= len(values)
        if count > MOST_LABELS:
            raise InputError(f"{what}: expected at most {MOST_LABELS}, got {count if len(ranges) == 1 else 'more'}")
    if count * len(ranges) > MOST_PARTS:
        raise InputError(f"{what}: expected at most {MOST_PARTS} numbers in all labels, got {count * len(ranges)}")
    return tuple("/".join(map(str, values)) for values in itertools.product(*ranges))


def parts_in(space: Any) -> int:
    """How many numbers are recorded for every value of a space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Tuple | spaces.Dict):
        inner = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        return sum(parts_in(part) for part in inner)
    return math.prod(space.shape or ())


def ranges_of(what: str, space: Any) -> list[range]:
    """The values of every part of a discrete space, in the order of `parts_of`."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return [_range(what, space.start, space.n)]
    if isinstance(space, spaces.MultiDiscrete):
        lows, sizes = np.ravel(space.start), np.ravel(space.nvec)
        return [_range(what, low, size) for low, size in zip(lows, sizes, strict=True)]
    if isinstance(space, spaces.MultiBinary):
        return [range(2)] * parts_in(space)
    if isinstance(space, spaces.Tuple | spaces.Dict):
        inner = space.spaces.values() if isinstance(space, spaces.Dict) else space.spaces
        return [values for part in inner for values in ranges_of(what, part)]
    raise InputError(f"{what}: expected a discrete space, got {str(space)[:80]}")


def _range(what: str, low: Any, size: Any) -> range:
    first, count = int(low), int(size)
    if abs(first) > LARGEST or count < 1 or count > LARGEST:
        raise InputError(f"{what}: expected values up to {LARGEST}, got {count} from {first}")
    return range(first, first + count)


def parts_of(space: Any, values: Any) -> Iterable[NDArray]:
    """[t] for every part of what was recorded in a discrete space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return [part for key in space.spaces for part in parts_of(space[key], values[key])]
    if isinstance(space, spaces.Tuple):
        return [part for n, inner in enumerate(space.spaces) for part in parts_of(inner, values[n])]
    array = np.asarray(values)
    return array.reshape(len(array), -1).T


def symbols_of(space: Any, values: Any, where: str) -> NDArray[np.int16]:
    """[t]: the number of every combination of parts, the last part fastest."""
    total: NDArray[np.int64] = np.zeros(1, np.int64)
    for part, known in zip(parts_of(space, values), ranges_of(where, space), strict=True):
        wrong = ~np.isin(part, known)
        if wrong.any():
            t = int(np.argmax(wrong))
            raise InputError(f"t = {t}, {where}: expected {known[0]} to {known[-1]}, got {part[t]}")
        total = total * len(known) + (part.astype(np.int64) - known[0])
    return total.astype(np.int16)
