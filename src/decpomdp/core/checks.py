"""The border: arrays are checked once here and come out contiguous, finite and read-only.

The rule for probabilities: no entry below 0, every row sums to 1 within 1e-6. A row that is off by more
than 1e-12 is divided by its sum, so that what is held sums to one to rounding.
"""

import reprlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from decpomdp.core.errors import InputError

Floats = NDArray[np.float64]

ACCEPTED = 1e-6  # a row whose sum is off by more than this is refused
EXACT = 1e-12  # a row whose sum is off by more than this is renormalised


def array(
    name: str, value: ArrayLike, axes: str, shape: Sequence[int | None], dtype: DTypeLike, *, finite: bool = True
) -> NDArray:
    """`value` as a C-contiguous read-only array of `dtype`; None in `shape` admits any size of at least 1.

    Whole numbers and truth values must survive the conversion unchanged; floats must be finite unless not `finite`.
    """
    given, converted = _convert(name, value, axes, np.dtype(dtype))
    _check_shape(name, converted, axes, shape)
    if converted.dtype.kind in "biu" and not np.array_equal(given, converted):
        wanted = "truth values" if converted.dtype.kind == "b" else f"whole numbers that fit {converted.dtype}"
        raise InputError(f"{name}: expected {wanted}, got other values")
    if finite and converted.dtype.kind == "f":
        _check_finite(name, converted, axes)
    return freeze(converted)


def probabilities(name: str, value: ArrayLike, axes: str, shape: Sequence[int | None]) -> Floats:
    """Like `array`, for numbers whose last axis is a probability distribution."""
    given = array(name, value, axes, shape, np.float64)
    if np.any(given < 0):
        at = _first(given < 0)
        raise InputError(f"{name}[{_place(axes, at)}] is {given[at]:.9g}, expected a probability of at least 0")
    with np.errstate(over="ignore"):  # a sum beyond the largest float is refused below like any other
        sums = given.sum(axis=-1)
    off = np.abs(sums - 1.0)
    if np.any(off > ACCEPTED):
        row = _first(off > ACCEPTED)
        where = f"[{_place(axes, row)}]" if row else ""
        raise InputError(f"{name}{where} sums to {sums[row]:.9g}, expected 1")
    if np.any(off > EXACT):
        given = given / np.where(off > EXACT, sums, 1.0)[..., None]
    return freeze(given)


def text(name: str, value: object) -> str:
    """`value` itself if it is a text that every file can hold."""
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text, got {_kind(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name}: expected a text of Unicode characters, got {value!r}") from None
    return value


def whole(name: str, value: object, least: int, most: int) -> int:
    """`value` as a whole number from `least` to `most`."""
    number = None if isinstance(value, bool | np.bool_ | str | bytes) else value
    try:
        result = int(number)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        result = None
    if result is None or result != number or not least <= result <= most:
        limits = f"from {least} to {most}" if most < 2**53 else f"of at least {least}"
        raise InputError(f"{name}: expected a whole number {limits}, got {_kind(value)}")
    return int(result)


def freeze(value: NDArray) -> NDArray:
    """The same numbers in memory that nobody can write to: not even its owner can make such an array writable."""
    if is_settled(value) or value.size == 0:
        value.setflags(write=False)
        return value
    return np.frombuffer(value.tobytes(), value.dtype).reshape(value.shape)


def is_settled(value: NDArray) -> bool:
    """Whether the numbers are kept in memory that can never change."""
    link: object = value
    while isinstance(link, np.ndarray):
        link = link.base
    return isinstance(link, bytes)


def _convert(name: str, value: ArrayLike, axes: str, dtype: np.dtype) -> tuple[NDArray, NDArray]:
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO":  # texts, dates and complex numbers would convert, but to what?
            raise TypeError(f"values of kind {given.dtype}")
        with np.errstate(invalid="ignore", over="ignore"):  # the checks of `array` find what did not fit
            return given, np.asarray(given, dtype=dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: expected numbers in an array [{axes}], got {_kind(value)} ({error})") from None


def _check_shape(name: str, value: NDArray, axes: str, shape: Sequence[int | None]) -> None:
    fits = value.ndim == len(shape) and all(
        (want is None and got > 0) or want == got for want, got in zip(shape, value.shape, strict=False)
    )
    if not fits:
        sizes = ", ".join("any" if want is None else str(want) for want in shape)
        raise InputError(f"{name}[{axes}]: expected shape ({sizes}), got {value.shape}")


def _check_finite(name: str, value: NDArray, axes: str) -> None:
    bad = ~np.isfinite(value)
    if np.any(bad):
        at = _first(bad)
        where = f"[{_place(axes, at)}]" if at else ""
        raise InputError(f"{name}{where} is {value[at]}, expected a finite number")


def _first(mask: NDArray) -> tuple[int, ...]:
    if mask.ndim == 0:
        return ()
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _place(axes: str, index: tuple[int, ...]) -> str:
    return ", ".join(f"{axis.strip()}={i}" for axis, i in zip(axes.split(","), index, strict=False))


def _kind(value: object) -> str:
    words = " ".join(reprlib.repr(value).split())
    return words if len(words) <= 40 else f"{type(value).__name__} {words[:36]}..."
