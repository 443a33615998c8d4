"""Cells of one column of a long table: what is asked of Arrow's arrays while they become ours."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Cells(NamedTuple):
    """A column of labels: the distinct ones in the order of their first appearance, and which of them each row has."""

    labels: list[str]
    codes: NDArray[np.int64]  # [row] -1: empty


def first_bad(column: Any, kind: Any) -> int:
    """The first row whose cell cannot become a `kind`, by halving."""
    import pyarrow as pa

    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low).cast(kind)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def without_zeros(column: Any) -> Any:
    """Texts such as 12.0, what some tools make of 12 beside an empty cell, as 12; others as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.cast(pa.large_string())
    if not pc.any(pc.match_substring(column, ".")).as_py():
        return column
    return pc.replace_substring_regex(column, r"^(-?[0-9]+)\.0*$", r"\1")


def ends(labels: Any) -> NDArray[np.int64]:
    """[label + 1]: where labels end, in bytes."""
    import pyarrow.compute as pc

    return np.cumsum(np.append(0, pc.binary_length(labels).fill_null(0).to_numpy(zero_copy_only=False)))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"


def nulls(column: Any) -> NDArray[np.bool_]:
    """[row]: which cells are empty."""
    return column.is_null().to_numpy(zero_copy_only=False)
