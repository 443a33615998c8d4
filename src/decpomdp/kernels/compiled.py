"""The one decorator of our kernels."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile on first use, keep the result on disk, release the GIL, divide as numpy does."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """A piece of a kernel, compiled into its callers."""
    return cast(F, numba.njit(inline="always", error_model="numpy")(function))


def reordered(function: F) -> F:
    """Like `kernel`; sums may be taken in any order (vector instructions). NaN and infinity keep their meaning."""
    options = {"reassoc", "contract", "nsz"}
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=options)(function))
