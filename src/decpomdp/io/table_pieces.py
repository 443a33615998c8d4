"""A table that is read piece by piece, its texts numbered, for as long as memory has room for it.

Every piece numbers its own texts. What is held twice that way is put together whenever it has doubled, so that memory
grows with the rows and with the texts that differ, and not with the text that was read.
"""

from collections.abc import Iterable
from typing import Any

from decpomdp.io.opening import WIDTH, check_bytes
from decpomdp.io.table_cells import is_text

SMALL = 1 << 26  # bytes that are not worth putting together


class Pieces:
    """What has been read so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tables: list[Any] = []
        self.rows = 0
        self._held, self._enough = 0, SMALL  # bytes, and those from which on they are put together

    def add_all(self, batches: Iterable[Any]) -> None:
        """One batch after the other."""
        for batch in batches:
            self.add(batch)

    def add(self, batch: Any) -> None:
        """A batch of rows; FormatError if it does not fit, nor the arrays that will be made of its rows."""
        self.tables.append(_with_numbers(batch))
        self.rows += len(batch)
        self._held += self.tables[-1].nbytes
        if self._held > self._enough:
            self._put_together()
        made = self.rows * batch.num_columns * WIDTH
        check_bytes(self._held + made, self.source, f"{self.rows} rows and more")

    def _put_together(self) -> None:
        import pyarrow as pa

        self.tables = [pa.concat_tables(self.tables).unify_dictionaries()]
        self._held = self.tables[0].get_total_buffer_size()
        self._enough = max(SMALL, 2 * self._held)

    def table(self) -> Any:
        """All of it; there has to be a row."""
        import pyarrow as pa

        return pa.concat_tables(self.tables)


def _with_numbers(batch: Any) -> Any:
    import pyarrow as pa

    columns = [column.dictionary_encode() if is_text(column.type) else column for column in batch.columns]
    return pa.table(columns, names=batch.schema.names)
