"""Checks of arguments. Arrays are checked once and returned contiguous, finite and read-only.

Probabilities: no entry below 0, every row sums to 1 within 1e-6. A row with a larger error than rounding can cause
(4 machine epsilons per entry, at most 1e-12) is divided by its sum; a second check does not change it.
"""

import os
import reprlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from decpomdp.core.errors import InputError

Floats = NDArray[np.float64]
Kind = TypeVar("Kind")

ACCEPTED = 1e-6  # a row whose sum is off by more than this is rejected
ROUNDING = 4 * float(np.finfo(float).eps)  # a row whose sum is off by more than this for every entry is renormalised
EXACT = 1e-12  # and so is a long row whose sum is off by more than this
LARGEST_REWARD = 1e40  # importance ratios go up to 1e260, and sums of their products must be finite
BREAKS = "\x7f\x85\u2028\u2029"  # line breaks and controls outside the ASCII control characters


def array(
    name: str, value: ArrayLike, axes: str, shape: Sequence[int | None], dtype: DTypeLike, *, finite: bool = True
) -> NDArray:
    """`value` as a C-contiguous read-only array of `dtype`; None in `shape` admits any size of at least 1.

    Whole numbers and truth values must not change in the conversion; floats must be finite unless not `finite`.
    """
    original, converted = _convert(name, value, axes, np.dtype(dtype))
    fits = converted.ndim == len(shape) and all(
        (want is None and got > 0) or want == got for want, got in zip(shape, converted.shape, strict=False)
    )
    if not fits:
        sizes = ", ".join("any" if want is None else str(want) for want in shape)
        raise InputError(f"{name}[{axes}]: expected shape ({sizes}), got {converted.shape}")
    if converted.dtype.kind in "biu" and not np.array_equal(original, converted):
        expected = "truth values" if converted.dtype.kind == "b" else f"whole numbers that fit {converted.dtype}"
        raise InputError(f"{name}: expected {expected}, got other values")
    if finite and converted.dtype.kind == "f" and not np.all(np.isfinite(converted)):
        at = _first(~np.isfinite(converted))
        where = f"[{_place(axes, at)}]" if at else ""
        raise InputError(f"{name}{where} is {converted[at]}, expected a finite number")
    return freeze(converted)


def probabilities(name: str, value: ArrayLike, axes: str, shape: Sequence[int | None]) -> Floats:
    """Like `array`, for numbers whose last axis is a probability distribution."""
    table = array(name, value, axes, shape, np.float64)
    if np.any(table < 0):
        at = _first(table < 0)
        raise InputError(f"{name}[{_place(axes, at)}] is {table[at]:.9g}, expected a probability of at least 0")
    with np.errstate(over="ignore"):  # an infinite sum is rejected below
        sums = table.sum(axis=-1)
    off = np.abs(sums - 1.0)
    if np.any(off > ACCEPTED):
        row = _first(off > ACCEPTED)
        where = f"[{_place(axes, row)}]" if row else ""
        raise InputError(f"{name}{where} sums to {sums[row]:.9g}, expected 1")
    exact = min(EXACT, ROUNDING * table.shape[-1])
    if np.any(off > exact):
        table = table / np.where(off > exact, sums, 1.0)[..., None]
    return freeze(table)


def rewards(name: str, value: ArrayLike, axes: str, shape: Sequence[int | None]) -> Floats:
    """Like `array`, for rewards, whose sums are squared: larger ones than LARGEST_REWARD are rejected."""
    table = array(name, value, axes, shape, np.float64)
    large = np.abs(table) > LARGEST_REWARD
    if np.any(large):
        at = _first(large)
        raise InputError(f"{name}[{_place(axes, at)}] is {table[at]:g}, expected at most {LARGEST_REWARD:g} in size")
    return table


def text(name: str, value: object) -> str:
    """`value` itself if it is a string that can be encoded."""
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text, got {_kind(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name}: expected a text of Unicode characters, got {value!r}") from None
    return value


def line(name: str, value: object) -> str:
    """`value` itself if it is a string without line breaks and control characters."""
    if any(letter in BREAKS or ord(letter) < 32 for letter in text(name, value)):
        raise InputError(f"{name}: expected a text on one line, got {_kind(value)}")
    return str(value)


def of_kind(name: str, value: object, kind: type[Kind], hint: str = "") -> Kind:
    """`value` itself if it is a `kind`; the `hint` is added when it is a string or a path."""
    if isinstance(value, kind):
        return value
    more = f"; {hint}" if hint and isinstance(value, str | os.PathLike) else ""
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    raise InputError(f"{name}: expected {article} {kind.__name__}, got {kind_of(value)}{more}")


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """`value` itself if it is one of the `known` words."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name}: expected one of {', '.join(known)}, got {kind_of(value)}")
    return value


def truth(name: str, value: object) -> bool:
    """`value` as True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}: expected True or False, got {kind_of(value)}")
    return bool(value)


def callback(name: str, value: Kind) -> Kind:
    """`value` itself if it can be called."""
    if not callable(value):
        raise InputError(f"{name}: expected a function, got {kind_of(value)}")
    return value


def threads(value: object) -> int | None:
    """A number of threads; None: all cores."""
    return None if value is None else whole("threads", value, 1, 2**16)


def number(name: str, value: object, least: float, most: float) -> float:
    """`value` as a number from `least` to `most`, not NaN."""
    try:
        result = float("nan") if _is_no_number(value) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        result = float("nan")
    if not least <= result <= most:
        got = _kind(value) if np.isnan(result) else result
        raise InputError(f"{name}: expected a number from {least:g} to {most:g}, got {got}")
    return result


def whole(name: str, value: object, least: int, most: int) -> int:
    """`value` as a whole number from `least` to `most`."""
    try:
        result = None if _is_no_number(value) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        result = None
    if result is None or result != value or not least <= result <= most:
        limits = f"from {least} to {most}" if most < 2**53 else f"of at least {least}"
        raise InputError(f"{name}: expected a whole number {limits}, got {_kind(value)}")
    return int(result)


def _is_no_number(value: object) -> bool:
    """Whether `value` is not a number although Python would convert it."""
    return isinstance(value, bool | np.bool_ | str | bytes) or (isinstance(value, np.ndarray) and value.ndim > 0)


def freeze(value: NDArray) -> NDArray:
    """The same numbers in immutable memory: the array cannot be made writable again."""
    if _is_immutable(value) or value.size == 0:
        value.setflags(write=False)
        return value
    return np.frombuffer(value.tobytes(), value.dtype).reshape(value.shape)


def _is_immutable(value: NDArray) -> bool:
    """Whether the memory of an array is a bytes object."""
    link: object = value
    while isinstance(link, np.ndarray):
        link = link.base
    return isinstance(link, bytes)


def _convert(name: str, value: ArrayLike, axes: str, dtype: np.dtype) -> tuple[NDArray, NDArray]:
    try:
        original = np.asarray(value)
        if original.dtype.kind not in "biufO":  # no strings, dates or complex numbers, although numpy converts them
            raise TypeError(f"values of kind {original.dtype}")
        with np.errstate(invalid="ignore", over="ignore"):  # `array` compares the numbers afterwards
            return original, np.asarray(original, dtype=dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: expected numbers in an array [{axes}], got {_kind(value)} ({error})") from None


def _first(mask: NDArray) -> tuple[int, ...]:
    if mask.ndim == 0:
        return ()
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _place(axes: str, index: tuple[int, ...]) -> str:
    return ", ".join(f"{axis.strip()}={i}" for axis, i in zip(axes.split(","), index, strict=False))


def kind_of(value: object) -> str:
    """A short description for error messages: small values themselves, others by their type."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    plain = value is None or isinstance(value, str | bytes | int | float | os.PathLike)
    return _kind(value) if plain else type(value).__name__


def _kind(value: object) -> str:
    words = " ".join(reprlib.repr(value).split())
    return words if len(words) <= 40 else f"{type(value).__name__} {words[:36]}..."
