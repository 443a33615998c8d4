"""Long tables as files: which columns there are, and what is in them, not yet looked at."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from decpomdp.core import FormatError, InputError
from decpomdp.io.kinds import is_csv
from decpomdp.io.opening import CHANGED, check_file, parquet
from decpomdp.io.packing import refuse_other_packing
from decpomdp.io.parquet_bounds import check_columns
from decpomdp.io.parquet_columns import check_beside, is_plain, read_plain, texts_in
from decpomdp.io.table_csv import header_of, texts_of

NEEDED = ("episode", "t", "agent", "observation", "action", "reward")
OPTIONAL = ("action_prob", "terminated", "truncated")


class Loaded(NamedTuple):
    """What a file has of the columns of a long table."""

    table: Any  # of Arrow; of texts, if CSV
    names: dict[str, str]  # our name -> the file's
    unread: dict[str, Any]  # the file's name -> type of those that are neither numbers nor texts nor truth values


def load_table(source: str, columns: Mapping[str, str]) -> Loaded:
    """The columns of the long table in a file, by the file's names where they differ from ours."""
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


def _csv(source: str, wanted: dict[str, str]) -> Loaded:
    check_file(source)
    refuse_other_packing(source)
    names = _present(source, wanted, header_of(source))
    return Loaded(texts_of(source, list(names.values())), names, {})


def _parquet(source: str, wanted: dict[str, str]) -> Loaded:
    with parquet(source) as found:
        schema, before = found.schema_arrow, found.metadata
        names = _present(source, wanted, schema.names)
        kinds = {called: schema.field(called).type for called in names.values()}
        read = [called for called, kind in kinds.items() if is_plain(kind)]
        check_beside(schema, read, source)
        check_columns(found, read, source)
    table = read_plain(source, read, texts_in(schema, read), before)
    if table is None:
        raise FormatError(source, None, CHANGED)
    return Loaded(table, names, {called: kind for called, kind in kinds.items() if called not in read})
