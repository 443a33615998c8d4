"""Cells of one column of a long table: what is asked of Arrow's arrays while they become ours."""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
LOOKS = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")  # like a number
DIGITS = re.compile(r"\s*([+-]?[0-9]+)(?:\.0*)?\s*")
EXACT = 2.0**53  # from here on not every whole number is one of floating point


class Cells(NamedTuple):
    """A column of labels: the distinct ones in the order of their first appearance, and which of them each row has."""

    labels: list[str]
    codes: NDArray[np.int64]  # [row] -1: empty


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view"


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is one of lists."""
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def numbered(column: Any) -> Cells:
    """The texts of an Arrow array."""
    texts, codes = distinct(column)
    return Cells(texts.to_pylist(), codes)


def distinct(column: Any) -> tuple[Any, NDArray[np.int64]]:
    """The same, the distinct texts as an Arrow array; those that are numbered already are never written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        coded = pc.dictionary_encode(column.cast(pa.large_string()))
        return coded.dictionary, _codes(coded.indices)
    once = pc.dictionary_encode(column.dictionary.cast(pa.large_string()))  # a file may have one text twice
    codes = np.append(_codes(once.indices), -1)[_codes(column.indices)]
    rows = np.flatnonzero(codes >= 0)[::-1]
    first = np.full(len(once.dictionary), len(codes))  # [label] the row where it appears first
    first[codes[rows]] = rows  # of many rows the one written last stays
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    places = np.full(len(first) + 1, -1)
    places[order] = np.arange(len(order))
    return once.dictionary.take(pa.array(order, pa.int64())), places[codes]


def _codes(indices: Any) -> NDArray[np.int64]:
    """[row]: -1 where there is none."""
    import pyarrow as pa

    return indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)


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


def first_rounded(texts: Any, values: Any) -> int | None:
    """The first of these texts that says another whole number than its value; None: there is none."""
    numbers = values.to_numpy(zero_copy_only=False)
    if not np.issubdtype(numbers.dtype, np.floating):
        return None
    for place in np.flatnonzero((np.abs(numbers) >= EXACT) & np.isfinite(numbers)).tolist():
        said = DIGITS.fullmatch(texts[place].as_py())
        if said is not None and int(said[1]) != int(numbers[place]):
            return place
    return None


def whole_text(label: str) -> str:
    """A whole number such as 12.0, what some tools make of 12 beside an empty cell, as 12; other texts as they are."""
    found = WHOLE.fullmatch(label)
    return label if found is None else found[1]


def without_zeros(column: Any) -> Any:
    """A column of texts, those such as 12.0 as 12."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.cast(pa.large_string())
    if not pc.any(pc.match_substring(column, ".")).as_py():
        return column
    return pc.replace_substring_regex(column, r"^(-?[0-9]+)\.0*$", r"\1")


def nulls(column: Any) -> NDArray[np.bool_]:
    """[row]: which cells are empty."""
    return column.is_null().to_numpy(zero_copy_only=False)
