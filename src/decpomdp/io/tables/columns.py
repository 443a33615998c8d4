"""The columns of a long table as arrays, without Python loops over rows.

Cells of a CSV file are texts, those of a Parquet file have types; both become the same arrays. Errors give the place:
`row 17, column action: expected ..., got 'jump'`. Rows are counted from 0, without the header of a CSV file.
"""

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import FormatError

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:nan|inf)$"
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
EXACT = 2.0**53  # larger floats are not exact whole numbers

Numbers = tuple[NDArray[np.float64], NDArray[np.bool_]]  # [row] values, [row] which cells are empty


class Cells(NamedTuple):
    """A column of labels."""

    labels: list[str]  # distinct, in the order of their first row
    codes: NDArray[np.int64]  # [row] index into `labels`; -1: empty


class Columns(NamedTuple):
    """A long table, with the names of its columns in the file."""

    source: str
    table: Any  # of Arrow
    names: dict[str, str]  # standard name -> name in the file

    def has(self, name: str) -> bool:
        """Whether an optional column exists and has a value."""
        return name in self.names and self.table[self.names[name]].null_count < len(self.table)

    def labels(self, name: str, allow_empty: bool = False) -> Cells:
        """Labels or whole numbers, as texts."""
        import pyarrow.compute as pc
        from pyarrow import types

        column = self._column(name, "labels or whole numbers (cast others to text first)")
        if types.is_floating(column.type):  # data frames turn whole numbers into floats if a cell is empty
            column = pc.if_else(pc.is_nan(column), None, column)
        cells = _distinct(column)
        if not allow_empty:
            self.reject(cells.codes < 0, name, "a label or a whole number")
        unprintable = [code for code, label in enumerate(cells.labels) if CONTROL.search(label)]
        self.reject(np.isin(cells.codes, unprintable), name, "a label without control characters")
        return cells

    def numbers(self, name: str, allow_nan: bool = False) -> Numbers:
        """Finite numbers and empty cells; NaN counts as empty if allowed."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._column(name, "numbers")
        if _is_text(column.type):
            self.reject(~np.asarray(pc.match_substring_regex(column, DECIMAL).fill_null(True)), name, "a number")
        missing = np.asarray(column.is_null())
        values = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy()
        if allow_nan:
            missing = missing | np.isnan(values)
            values = np.where(missing, 0.0, values)
        self.reject(~np.isfinite(values), name, "a finite number")
        return values, missing

    def times(self, name: str) -> NDArray[np.int64]:
        """[row]: whole numbers from 0."""
        values, missing = self.numbers(name)
        valid = ~missing & (values >= 0) & (values < EXACT) & (values == np.rint(values))
        self.reject(~valid, name, "a whole number from 0")
        return values.astype(np.int64)

    def flags(self, name: str) -> NDArray[np.bool_]:
        """[row]: true or false, 1 or 0, 1.0 or 0.0; [0] values if the table has no such column."""
        if not self.has(name):
            return np.zeros(0, bool)
        cells = _distinct(self._column(name, "truth values", boolean=True))
        truths = [TRUTHS.get(whole_text(label).lower()) for label in cells.labels] + [None]
        self.reject(np.array([truth is None for truth in truths])[cells.codes], name, "true or false")
        return np.array([truth is True for truth in truths])[cells.codes]

    def reject(self, wrong: NDArray[np.bool_], name: str, expected: str) -> None:
        """Raise FormatError for the first row that is `wrong`."""
        if wrong.any():
            raise self.error(int(np.argmax(wrong)), name, expected)

    def error(self, row: int, name: str, expected: str, got: str = "") -> FormatError:
        """An error about a cell; `got` replaces the content of the cell in the message."""
        cell = self.table[self.names[name]][row].as_py()
        got = got or ("nothing" if cell is None else repr(cell)[:80])
        return FormatError(self.source, None, f"row {row}, column {self.names[name]}: expected {expected}, got {got}")

    def _column(self, name: str, expected: str, boolean: bool = False) -> Any:
        """An Arrow column of texts or numbers, or also of truth values."""
        import pyarrow as pa
        from pyarrow import types

        column = self.table[self.names[name]]
        if types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        if types.is_null(kind):
            return column.cast(pa.string())
        numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        if not (numeric or _is_text(kind) or (boolean and types.is_boolean(kind))):
            raise FormatError(self.source, None, f"column {self.names[name]}: expected {expected}, got {kind}")
        return column


def whole_text(label: str) -> str:
    """Turn `12.0`, which data frames write for 12, into `12`; other texts are unchanged."""
    match = WHOLE.fullmatch(label)
    return label if match is None else match[1]


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _distinct(column: Any) -> Cells:
    """The distinct values of an Arrow column as texts."""
    import pyarrow as pa

    encoded = column.dictionary_encode().combine_chunks()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Cells(encoded.dictionary.cast(pa.string()).to_pylist(), codes)
