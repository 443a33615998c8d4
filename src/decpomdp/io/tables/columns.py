"""The columns of a long table, checked as they become arrays; nothing loops over rows in Python.

Cells of a CSV file are texts, those of a Parquet file have types; both become the same arrays. Errors name the place:
`row 17, column action: expected ..., got 'jump'`. Rows are counted from 0, the header of a CSV file not counted.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import FormatError

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # tabs and line ends may stand in a quoted cell
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
LOOKS = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")  # like a number
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
LABELS = "labels or whole numbers (cast others to text first)"


class Cells(NamedTuple):
    """A column of labels."""

    labels: list[str]  # distinct, in the order of their first row
    codes: NDArray[np.int64]  # [row] the place of its label; -1: empty


class Columns(NamedTuple):
    """The columns of a long table, under the names of the file."""

    source: str
    table: Any  # of Arrow
    names: dict[str, str]  # our name -> the file's

    def has(self, name: str) -> bool:
        """Whether the file has this optional column, with a value in it."""
        return name in self.names and self.table[self.names[name]].null_count < len(self.table)

    def labels(self, name: str, empty: bool = False) -> Cells:
        """Labels or whole numbers, as texts; `empty` cells are allowed or refused."""
        from pyarrow import types

        column = self._column(name, types.is_integer, types.is_floating, expected=LABELS)
        if types.is_floating(column.type):  # what some tools make of whole numbers beside an empty cell
            column = self._as_whole(column, name, empty)
        labels, codes = _distinct(column)
        if not empty:
            self.refuse(codes < 0, name, "a label or a whole number")
        odd = [code for code, label in enumerate(labels) if CONTROL.search(label)]
        if odd:
            self.refuse(np.isin(codes, odd), name, "a label without control characters")
        return Cells(labels, codes)

    def numbers(self, name: str, unknown: bool = False) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """[row] finite numbers, and [row] which cells are empty; NaN is refused or, if `unknown`, counts as empty."""
        import pyarrow as pa

        numbers = self._cast(name, pa.float64(), "a number")
        missing = _nulls(numbers)
        values = numbers.fill_null(0.0).to_numpy()
        if unknown:
            missing = missing | np.isnan(values)
            values = np.where(missing, 0.0, values)
        self.refuse(~np.isfinite(values), name, "a finite number")
        return values, missing

    def times(self, name: str) -> NDArray[np.int64]:
        """[row] whole numbers from 0."""
        import pyarrow as pa

        numbers = self._cast(name, pa.int64(), "a whole number")
        self.refuse(_nulls(numbers), name, "a whole number from 0")
        values = numbers.to_numpy()
        self.refuse(values < 0, name, "a whole number from 0")
        return values

    def flags(self, name: str) -> NDArray[np.bool_]:
        """[row] truth values: true or false, 1 or 0, also 1.0 or 0.0; [0] values if the table has no such column."""
        from pyarrow import types

        if not self.has(name):
            return np.zeros(0, bool)
        kinds = (types.is_boolean, types.is_integer, types.is_floating)
        labels, codes = _distinct(self._column(name, *kinds, expected="truth values"))
        truths = [TRUTHS.get(whole_text(label).lower()) for label in labels]
        known = np.array([truth is not None for truth in truths] + [False])
        self.refuse(~known[codes], name, "true or false")
        return np.array([truth is True for truth in truths] + [False])[codes]

    def refuse(self, wrong: NDArray[np.bool_], name: str, expected: str) -> None:
        """Raise FormatError for the first row that is `wrong`."""
        if np.any(wrong):
            self.refuse_row(int(np.argmax(wrong)), name, expected)

    def refuse_row(self, row: int, name: str, expected: str, got: str | None = None) -> NoReturn:
        """Raise FormatError for this row and column; `got` is looked up unless given."""
        if got is None:
            column = self.table[self.names[name]]
            cell = column[row].as_py()
            nothing = "nothing (the whole column is empty)" if column.null_count == len(column) else "nothing"
            got = nothing if cell is None else repr(cell)[:80]
        raise FormatError(self.source, None, f"row {row}, column {self.names[name]}: expected {expected}, got {got}")

    def _column(self, name: str, *kinds: Callable[[Any], bool], expected: str) -> Any:
        """An Arrow column of texts or of one of these kinds."""
        import pyarrow as pa

        column = self.table[self.names[name]]
        if pa.types.is_null(column.type):
            return column.cast(pa.string())
        if not _is_text(column.type) and not any(fits(column.type) for fits in kinds):
            said = f"column {self.names[name]}: expected {expected}, got {column.type}"
            raise FormatError(self.source, None, said)
        return column

    def _as_whole(self, column: Any, name: str, empty: bool) -> Any:
        """Floating point numbers as whole ones if all are; NaN counts as empty where `empty` cells are allowed."""
        import pyarrow as pa

        values = column.cast(pa.float64()).fill_null(0.0).to_numpy()
        nothing = _nulls(column) | (np.isnan(values) & empty)
        values = np.where(nothing, 0.0, values)
        self.refuse(~(np.abs(values) < 2**53), name, "a label or a whole number")
        if np.any(values != np.rint(values)):
            values = column.cast(pa.string()).to_numpy()
        return pa.chunked_array([pa.array(values if values.dtype == object else values.astype(np.int64), mask=nothing)])

    def _cast(self, name: str, kind: Any, expected: str) -> Any:
        """A column of numbers, or of texts that say them, as a `kind`; of repeated texts each is converted once."""
        import pyarrow as pa
        import pyarrow.compute as pc

        many = "numbers" if pa.types.is_floating(kind) else "whole numbers"
        numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        values, codes = self._column(name, *numeric, expected=many), None
        if _is_text(values.type):
            coded = values.dictionary_encode().combine_chunks()
            values, codes = coded.dictionary, coded.indices
            if pa.types.is_integer(kind):  # 12.0 is 12; and Arrow takes 0x0c for a number
                values = pc.replace_substring_regex(values, r"^(-?[0-9]+)\.0*$", r"\1")
                values = pc.replace_substring_regex(values, "^.*[xX].*$", "")
        try:
            values = values.cast(kind)
        except pa.ArrowInvalid:
            bad = _first_bad(values, kind)
            self.refuse_row(bad if codes is None else pc.index(codes, bad).as_py(), name, expected)
        return values if codes is None else values.take(codes)


def whole_text(label: str) -> str:
    """12.0, which some tools write for 12, as 12; other texts as they are."""
    found = WHOLE.fullmatch(label)
    return label if found is None else found[1]


def places_of(labels: Sequence[str]) -> dict[str, int]:
    """Cell -> the place of the label that it stands for: by its name, or else by its number.

    12 stands for a label 12.0 too, unless there is another 12. Numbers stand for labels only if no label looks like a
    number itself: among 1, 2, 3 a cell 0 would be the first, and 1 not the second; 1 may have been 01.
    """
    places = {label: place for place, label in enumerate(labels)}
    whole = [whole_text(label) for label in labels]
    counts = Counter(whole)
    names = {name: place for place, name in enumerate(whole) if counts[name] == 1}
    numeric = any(LOOKS.fullmatch(label) for label in labels)
    return ({} if numeric else {str(place): place for place in range(len(labels))}) | names | places


def place_of(label: str, places: dict[str, int]) -> int:
    """The place that a cell stands for, as it is written or, if it is 12.0, as 12; -1 if it has none."""
    return places.get(label, places.get(whole_text(label), -1))


def shown(labels: Sequence[str]) -> str:
    """The first few labels, for an error."""
    return ", ".join(labels[:8]) + (" ..." if len(labels) > 8 else "")


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _nulls(column: Any) -> NDArray[np.bool_]:
    return np.asarray(column.is_null())


def _distinct(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct values of an Arrow column as texts, and [row] the place of each; -1: empty."""
    import pyarrow as pa

    coded = column.dictionary_encode().combine_chunks()
    codes = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return coded.dictionary.cast(pa.string()).to_pylist(), codes


def _first_bad(values: Any, kind: Any) -> int:
    """The first value that cannot become a `kind`, by bisection."""
    import pyarrow as pa

    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            values.slice(low, middle - low).cast(kind)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low
