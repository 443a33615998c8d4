"""Long tables as files: which columns there are, and what is in them, not yet looked at."""

from collections.abc import Mapping
from typing import Any

from decpomdp.core import FormatError, InputError
from decpomdp.io.kinds import is_csv
from decpomdp.io.opening import CHANGED, check_file, check_rows, parquet
from decpomdp.io.packing import check_packed
from decpomdp.io.table_csv import header_of, texts_of

NEEDED = ("episode", "t", "agent", "observation", "action", "reward")
OPTIONAL = ("action_prob", "terminated", "truncated")
UNKNOWN = "Not yet implemented"  # how Arrow says that it cannot do something


def load_table(source: str, columns: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """An Arrow table (of texts, if CSV), and the file's names of its columns by ours."""
    return (_csv if is_csv(source) else _parquet)(source, _wanted(columns))


def _wanted(columns: Mapping[str, str]) -> dict[str, str]:
    for name in columns:
        if name not in (*NEEDED, *OPTIONAL):
            raise InputError(f"columns: expected names among {', '.join((*NEEDED, *OPTIONAL))}, got {name!r}")
    wanted = {name: columns.get(name, name) for name in (*NEEDED, *OPTIONAL)}
    owners: dict[str, str] = {}
    for name, called in wanted.items():
        other = owners.setdefault(called, name)
        if other != name:
            raise InputError(f"columns: expected a column of its own for each, got {called!r} for {other} and {name}")
    return wanted


def _present(source: str, wanted: dict[str, str], found: list[str]) -> dict[str, str]:
    """The wanted columns that are there; the needed ones have to be, each once."""
    for name, called in wanted.items():
        if found.count(called) > 1 or (name in NEEDED and called not in found):
            got = f"{found.count(called)} of that name" if called in found else f"only {', '.join(map(repr, found))}"
            raise FormatError(
                source, None, f"column {called}: expected one, got {got[:300]}{_hint(name, called, found)}"
            )
    return {name: called for name, called in wanted.items() if called in found}


def _hint(name: str, called: str, found: list[str]) -> str:
    """What may help where a column is missing."""
    if called in found:
        return ""
    if len(found) == 1 and any(sign in found[0] for sign in ";\t|"):
        return " (expected commas between columns)"
    return f" (under another name? --column {name}=THEIRS, columns={{{name!r}: ...}})"


def _csv(source: str, wanted: dict[str, str]) -> tuple[Any, dict[str, str]]:
    check_file(source)
    names = _present(source, wanted, header_of(source))
    check_packed(source, len(names))
    return texts_of(source, list(names.values())), names


def _parquet(source: str, wanted: dict[str, str]) -> tuple[Any, dict[str, str]]:
    import pyarrow as pa
    from pyarrow import types

    with parquet(source) as found:
        schema, before = found.schema_arrow, found.metadata
        names = _present(source, wanted, schema.names)
        check_rows(found, list(names.values()), source)
    kinds = {name: schema.field(name).type for name in names.values()}
    texts = [name for name, kind in kinds.items() if types.is_string(kind) or types.is_large_string(kind)]
    with parquet(source, texts) as found:  # a text that stands in every row is held once
        if not found.metadata.equals(before):
            raise FormatError(source, None, CHANGED)
        try:
            return found.read(columns=list(names.values())), names
        except (pa.ArrowNotImplementedError, OSError) as error:
            if UNKNOWN not in str(error):
                raise
    # an encoding whose texts cannot be numbered while they are read
    with parquet(source) as found:
        return found.read(columns=list(names.values())), names
