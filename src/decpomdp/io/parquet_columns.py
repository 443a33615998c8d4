"""Helper of the Minari reader, until it uses `parquet` directly."""

from collections.abc import Sequence
from typing import Any


def check_beside(schema: Any, columns: Sequence[str], source: str) -> None:
    """Nothing to check any more."""
