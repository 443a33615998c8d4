"""Round numbers along an axis, and few enough points for the pixels there are."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def ticks(low: float, high: float, step: float) -> list[float]:
    """The multiples of `step` from `low` to `high`.

    >>> ticks(-3.2, 9.6, 2.0)
    [-2.0, 0.0, 2.0, 4.0, 6.0, 8.0]
    """
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def step_for(span: float, about: int) -> float:
    """1, 2 or 5 times a power of ten, of which about so many make the span."""
    rough = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda step: abs(math.log(step / rough)))


def said(value: float, step: float) -> str:
    """A number on an axis whose ticks are `step` apart.

    >>> said(1500000.0, 500000.0), said(0.25, 0.05), said(12.0, 2.0), said(-3e16, 1e16)
    ('1.5M', '0.25', '12', '-3e+16')
    """
    if abs(value) >= 1e12:
        return f"{value:.3g}"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size or (value == 0 and step >= size):
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:.{_digits(step / unit)}f}{letter}" if value else "0"
    if 0 < step < 1e-6:
        return f"{value:.3g}"
    return f"{value:.{_digits(step)}f}"


def thinned(x: NDArray[np.float64], y: NDArray[np.float64], pieces: int) -> tuple[list[float], list[float]]:
    """The line through all points as it looks in `pieces` columns of pixels: the ends and extremes of each.

    Points that are not finite are left out.
    """
    fine = np.isfinite(x) & np.isfinite(y)
    x, y = x[fine], y[fine]
    if len(x) <= 4 * pieces:
        return x.tolist(), y.tolist()
    span = float(x.max() - x.min()) or 1.0
    column = np.minimum(((x - x.min()) / span * pieces).astype(int), pieces - 1)
    kept: set[int] = set()
    bounds = [*np.flatnonzero(np.diff(column, prepend=-1)).tolist(), len(x)]
    for first, end in pairwise(bounds):
        part = y[first:end]
        kept.update((first, end - 1, first + int(part.argmin()), first + int(part.argmax())))
    chosen = sorted(kept)
    return x[chosen].tolist(), y[chosen].tolist()


def around(values: Sequence[float]) -> tuple[float, float]:
    """A range with all values inside, and some air."""
    low, high = min(values), max(values)
    air = 0.06 * (high - low) or max(abs(high) * 0.1, 0.5)
    return low - air, high + air


def _digits(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
