"""Logged data in any form that can be read: our episodes file, a long table, or a Minari dataset."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from decpomdp.core import Agent, Episodes, InputError
from decpomdp.io.episodes import KEY, read_episodes
from decpomdp.io.files import FilePath
from decpomdp.io.minari import read_minari
from decpomdp.io.table_files import is_csv
from decpomdp.io.tables import read_table

KINDS = ("episodes", "long", "minari")


def kind_of(path: FilePath) -> str:
    """What kind of data is there: a folder is a Minari dataset, CSV a long table; Parquet is asked."""
    if Path(path).is_dir():
        return "minari"
    if is_csv(os.fspath(path)):
        return "long"
    return "long" if _has_column(path, "agent") else "episodes"


def read_logged(
    path: FilePath,
    kind: str | None = None,
    discount: float | None = None,
    agents: Sequence[Agent] | None = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Episodes:
    """The episodes at `path`, whatever its `kind`. What the file itself says (ours does) is not to be said again."""
    found = kind_of(path) if kind is None else kind
    if found not in KINDS:
        raise InputError(f"kind of data: expected one of {', '.join(KINDS)}, got {found!r}")
    if found == "episodes":
        if discount is not None or agents is not None or columns:
            raise InputError(f"{os.fspath(path)} says its own discount, agents and columns; expected none beside it")
        return read_episodes(path)
    if discount is None:
        raise InputError(f"{os.fspath(path)} does not say the discount; expected it to be given")
    if found == "long":
        return read_table(path, discount, agents, "" if name is None else name, columns)
    if agents is not None or columns:
        raise InputError(f"{os.fspath(path)} is a Minari dataset and says its own agents; expected none beside it")
    return read_minari(path, discount, name)


def _has_column(path: FilePath, column: str) -> bool:
    """Whether a Parquet file has this column and is not ours; a file that cannot be read has not."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.OSFile(os.fspath(path), "rb") as file, pq.ParquetFile(file) as parquet:
            schema = parquet.schema_arrow
            return column in schema.names and KEY.encode() not in (schema.metadata or {})
    except (pa.ArrowException, OSError, ValueError):
        return False
