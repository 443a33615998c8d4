"""Helper of the Minari reader, until it uses `parquet` directly."""

from collections.abc import Sequence
from typing import Any


def check_columns(found: Any, columns: Sequence[str], source: str) -> dict[str, int]:
    """Column -> how many values the footer announces."""
    values = dict.fromkeys(columns, 0)
    for group in map(found.metadata.row_group, range(found.num_row_groups)):
        for part in map(group.column, range(group.num_columns)):
            name = part.path_in_schema.partition(".")[0]
            if name in values:
                values[name] += part.num_values
    return values
