"""The columns of a long table, each checked as it becomes an array; nothing loops over rows in Python.

Cells of a CSV file are texts; those of a Parquet file have types. Both end as the same arrays. A cell that does not fit
is refused with its place: `row 17, column action: expected ..., got 'jump'`. Rows are counted from 0 in the order of
the file, the header of a CSV file not counted.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import FormatError, InputError
from decpomdp.io.damage import refusal
from decpomdp.io.files import FilePath, path_of, words
from decpomdp.io.kinds import is_csv
from decpomdp.io.opening import DATA, RULE, check_bytes
from decpomdp.io.table_cells import (
    Cells,
    distinct,
    first_bad,
    first_rounded,
    is_text,
    nulls,
    numbered,
    whole_text,
    without_zeros,
)
from decpomdp.io.table_files import NEEDED, OPTIONAL, load_table

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # tabs and line ends may stand in a quoted cell
LETTERS = 1 << 14  # of a label
LABEL = 100  # bytes of a text of Python's, beside its letters, and of what leads to it
AS_TEXT = "cast others to text first"
TRUTHS = {"true": True, "1": True, "false": False, "0": False}


class LongColumns(NamedTuple):
    """An Arrow table with the columns of a long table, under the names that the file gives them."""

    source: str
    table: Any
    names: dict[str, str]  # our name -> the file's
    unread: dict[str, Any]  # the file's name -> type of those that are neither numbers nor texts nor truth values

    @classmethod
    def load(cls, path: FilePath, columns: Mapping[str, str]) -> "LongColumns":
        """The table in the file at `path`; `columns` says which of its columns is which, where names differ."""
        import pyarrow as pa

        source = path_of(path)
        try:
            found = load_table(source, columns)
            found.table.validate(full=True)
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            if is_csv(source):
                raise FormatError(source, None, f"cannot be read as a table: {words(error)}") from None
            wanted = [columns.get(name, name) for name in (*NEEDED, *OPTIONAL)]
            raise refusal(source, "a table", wanted, error) from None
        if not len(found.table):
            raise FormatError(source, None, "expected at least one row, got none")
        return cls(source, *found)

    def has(self, name: str) -> bool:
        """Whether the file has this column, one of the optional ones, and a single value in it."""
        if name not in self.names:
            return False
        called = self.names[name]
        return called in self.unread or self.table[called].null_count < len(self.table)

    def labels(self, name: str, empty: bool = False) -> Cells:
        """Texts or whole numbers, as texts; `empty` cells are allowed or refused."""
        import pyarrow as pa

        column = self._column(name, f"labels or whole numbers ({AS_TEXT})")
        if pa.types.is_floating(column.type):  # what a whole number becomes beside an empty cell in some tools
            column = self._numbered(column, name, empty)
        if pa.types.is_integer(column.type):
            each = column.dictionary_encode()
            column = pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(pa.large_string()))
        if not _is_texts(column.type):
            self.refuse_type(name, f"labels or whole numbers ({AS_TEXT})", column.type)
        labels, codes = self._told(name, *distinct(column))
        if not empty:
            self.refuse(codes < 0, name, "a label or a whole number")
        odd = [code for code, label in enumerate(labels) if CONTROL.search(label)]
        if odd:
            self.refuse(np.isin(codes, odd), name, "a label without control characters")
        return Cells(labels, codes)

    def _told(self, name: str, texts: Any, codes: NDArray[np.int64]) -> Cells:
        """Labels as Python's texts, unless they are too long or too many."""
        import pyarrow.compute as pc

        needed, rule = len(texts) * LABEL + texts.nbytes, RULE if is_csv(self.source) else DATA
        check_bytes(needed, self.source, f"{len(texts)} labels in column {self.names[name]}", rule)
        long = pc.greater(pc.utf8_length(texts), LETTERS).to_numpy(zero_copy_only=False)
        if long.any():
            row = int(np.argmax(np.append(long, False)[codes]))
            self.refuse_row(row, name, f"a label of at most {LETTERS} letters", "a longer one")
        return Cells(texts.to_pylist(), codes)

    def numbers(self, name: str, unknown: bool = False) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """[row] finite numbers, and [row] which cells are empty; NaN is refused or, if `unknown`, counts as empty."""
        import pyarrow as pa

        column = self._column(name, "numbers")
        if pa.types.is_boolean(column.type):
            self.refuse_type(name, "numbers", column.type)
        missing = nulls(column)
        values = self._cast(column, pa.float64(), name, "a number").fill_null(0.0).to_numpy(zero_copy_only=False)
        if unknown:
            missing = missing | np.isnan(values)
            values = np.where(missing, 0.0, values)
        self.refuse(~np.isfinite(values), name, "a finite number")
        return values, missing

    def times(self, name: str) -> NDArray[np.int64]:
        """[row] whole numbers from 0."""
        import pyarrow as pa

        column = self._column(name, "whole numbers")
        if pa.types.is_floating(column.type):
            column = self._whole(column, name, "a whole number")
        if pa.types.is_boolean(column.type):
            self.refuse_type(name, "whole numbers", column.type)
        self.refuse(nulls(column), name, "a whole number from 0")
        values = self._cast(column, pa.int64(), name, "a whole number").to_numpy(zero_copy_only=False)
        self.refuse(values < 0, name, "a whole number from 0")
        return values

    def flags(self, name: str) -> NDArray[np.bool_]:
        """[row] truth values: true or false, 1 or 0, also 1.0 or 0.0."""
        import pyarrow as pa

        column = self._column(name, "truth values")
        if pa.types.is_floating(column.type):
            column = self._whole(column, name, "true or false")
        if not _is_texts(column.type):
            column = column.cast(pa.large_string())
        labels, codes = numbered(column)
        said = [TRUTHS.get(whole_text(label).lower()) for label in labels]
        known = np.array([truth is not None for truth in said] + [False])
        truths = np.array([truth is True for truth in said] + [False])
        self.refuse(~known[codes], name, "true or false")
        return truths[codes]

    def refuse(self, wrong: NDArray[np.bool_], name: str, expected: str) -> None:
        """Raise FormatError for the first row that is `wrong`."""
        if np.any(wrong):
            self.refuse_row(int(np.argmax(wrong)), name, expected)

    def refuse_row(self, row: int, name: str, expected: str, got: str | None = None) -> NoReturn:
        """Raise FormatError for this row and column; what was found is looked up unless given."""
        if got is None:
            column = self.table[self.names[name]]
            cell = column[row].as_py()
            nothing = "nothing (the whole column is empty)" if column.null_count == len(column) else "nothing"
            got = nothing if cell is None else repr(cell)[:80]
        raise FormatError(self.source, None, f"row {row}, column {self.names[name]}: expected {expected}, got {got}")

    def refuse_type(self, name: str, expected: str, kind: Any) -> NoReturn:
        """Raise FormatError for a column of another type."""
        raise FormatError(self.source, None, f"column {self.names[name]}: expected {expected}, got {kind}")

    def _column(self, name: str, expected: str) -> Any:
        """An Arrow array: texts as they are or numbered, everything else written out."""
        import pyarrow as pa

        called = self.names[name]
        if called in self.unread:
            self.refuse_type(name, expected, self.unread[called])
        column = _joinable(self.table[called]).combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # what some versions make of no chunks, or of very long texts
            column = pa.concat_arrays(column.chunks)
        if pa.types.is_dictionary(column.type) and not is_text(column.type.value_type):
            column = column.dictionary_decode()
        return column.cast(pa.large_string()) if pa.types.is_null(column.type) else column  # no cell, so no type

    def _numbered(self, column: Any, name: str, empty: bool) -> Any:
        """Numbers as labels: whole ones if all are, else as they are written; NaN is an empty cell, if there may be."""
        import pyarrow as pa

        values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        nothing = nulls(column) | (np.isnan(values) & empty)
        values = np.where(nothing, 0.0, values)
        self.refuse(~(np.abs(values) < 2**53), name, "a label or a whole number")
        if np.any(values != np.rint(values)):
            return pa.array(column.cast(pa.large_string()).to_numpy(zero_copy_only=False), mask=nothing)
        return pa.array(np.rint(values).astype(np.int64), mask=nothing)

    def _whole(self, column: Any, name: str, expected: str) -> Any:
        import pyarrow as pa

        values = column.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64)
        self.refuse(~(np.abs(values) < 2**53) | (values != np.rint(values)), name, expected)
        return pa.array(np.rint(values).astype(np.int64), mask=nulls(column))

    def _cast(self, column: Any, kind: Any, name: str, expected: str) -> Any:
        """Numbers, or texts that say them, as a `kind`; of numbered texts each is looked at once."""
        import pyarrow as pa
        import pyarrow.compute as pc

        codes = None
        if pa.types.is_dictionary(column.type):
            column, codes = distinct(column)
        if is_text(column.type) and pa.types.is_integer(kind):
            column = without_zeros(column)
            hexadecimal = pc.match_substring_regex(column, "[xX]").fill_null(False).to_numpy(zero_copy_only=False)
            if hexadecimal.any():  # which Arrow takes for numbers
                self._refuse_text(int(np.argmax(hexadecimal)), codes, name, expected)
        if pa.types.is_decimal(column.type) and pa.types.is_floating(kind):
            column = column.cast(pa.large_string())  # Arrow's own way may miss the nearest number
        try:
            values = column.cast(kind)
        except pa.ArrowInvalid:
            self._refuse_text(first_bad(column, kind), codes, name, expected)
        if is_text(column.type) and (place := first_rounded(column, values)) is not None:
            self._refuse_text(place, codes, name, f"{expected} that floating point can hold")
        return values if codes is None else values.take(pa.array(codes, mask=codes < 0))

    def _refuse_text(self, place: int, codes: NDArray[np.int64] | None, name: str, expected: str) -> NoReturn:
        """Raise FormatError for the first row with this text, by its place among all or among those that differ."""
        self.refuse_row(place if codes is None else int(np.argmax(codes == place)), name, expected)


def _joinable(column: Any) -> Any:
    """A column whose parts can be put together: numbers of labels as wide as those of all of them need."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    kind = pa.dictionary(pa.int64(), column.type.value_type)
    parts = [pa.DictionaryArray.from_arrays(each.indices.cast(pa.int64()), each.dictionary) for each in column.chunks]
    return pa.chunked_array(parts, kind)


def _is_texts(kind: Any) -> bool:
    """Whether an Arrow type is one of texts, numbered or not."""
    return is_text(getattr(kind, "value_type", kind))
