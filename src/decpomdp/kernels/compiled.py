"""The decorators of kernels, and the cache folder of compiled code.

numba's cache finds compiled code by the file and line of a function. It does not notice a change of a callee in another
file, and it fails on an index that names a class which no longer exists. The folder is therefore named after a digest
of all kernel sources: if sources change, a new folder is used, and the previous one is deleted.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.misc.appdirs import AppDirs

F = TypeVar("F", bound=Callable[..., Any])

SOURCES = Path(__file__).parent
CONFIG: Any = numba.config


def cache_folder() -> str | None:
    """The cache folder: below NUMBA_CACHE_DIR, otherwise next to the sources or in the user's cache folder.

    None if none of them is writable: code is then compiled in every process.
    """
    files = sorted(SOURCES.glob("*.py"))
    if not files:
        return None
    sources = hashlib.sha256(b"\0".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)).hexdigest()
    place = f"decpomdp-{hashlib.sha256(bytes(SOURCES)).hexdigest()[:8]}-"  # installations may share NUMBA_CACHE_DIR
    user = AppDirs("decpomdp", appauthor=False).user_cache_dir  # type: ignore[no-untyped-call]
    for base in map(Path, filter(None, (CONFIG.CACHE_DIR, SOURCES / "__pycache__", user))):
        folder = base / f"{place}{sources[:16]}" / f"numba-{numba.__version__}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        for old in base.glob(f"{place}*"):
            if old != folder.parent:
                shutil.rmtree(old, ignore_errors=True)
        return str(folder)
    return None


FOLDER = cache_folder()


def _compiled(function: F, **options: Any) -> F:
    """Compile on first use, release the GIL, divide like numpy; cache the result on disk if possible."""
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    if FOLDER is None:
        return cast(F, numba.njit(**options)(function))
    before = CONFIG.CACHE_DIR
    CONFIG.CACHE_DIR = FOLDER  # read when the function is decorated
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    finally:
        CONFIG.CACHE_DIR = before


def kernel(function: F) -> F:
    """A loop that Python calls."""
    return _compiled(function)


def helper(function: F) -> F:
    """A function that only kernels call: compiled once for all of them, without a wrapper for Python.

    Its sums keep their order even in `reordered` kernels: numba passes that option on to callees that do not set it.
    """
    return _compiled(function, no_cpython_wrapper=True, fastmath=False)


def inlined(function: F) -> F:
    """A part of a kernel, compiled into each of its callers: only for innermost loops, because it duplicates code."""
    return cast(F, numba.njit(inline="always", error_model="numpy")(function))


def reordered(function: F) -> F:
    """Like `kernel`; sums may be taken in any order (vector instructions). NaN and infinity keep their meaning."""
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"})
