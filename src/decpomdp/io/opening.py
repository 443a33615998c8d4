"""Helpers of the .dpomdp and Minari readers, until these use `parquet` and `open` directly."""

import os
from io import BufferedReader

from decpomdp.core.errors import FormatError
from decpomdp.io.parquet import CELL, memory, open_parquet

__all__ = ["LIKELY", "WIDTH", "check_bytes", "opened", "parquet"]
LIKELY, WIDTH = 100, CELL
parquet = open_parquet


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """The file at `path`, open for reading."""
    return open(path, "rb")


def check_bytes(needed: int, source: str, got: str) -> None:
    """Raise FormatError for more than half of the memory."""
    if needed > memory() // 2:
        raise FormatError(source, None, f"{got} need {needed} bytes, more than half of the memory")
