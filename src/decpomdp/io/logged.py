"""Reading recorded episodes of any kind.

episodes  an episodes file (Parquet with metadata): `episodes.py`
long      one row per agent and step, CSV or Parquet: `tables/`
minari    the folder of a Minari dataset: `minari.py`
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.io.episodes import KEY, read_episodes
from decpomdp.io.files import FilePath, is_csv, open_parquet, path_of
from decpomdp.io.minari import read_minari
from decpomdp.io.tables.read import column_errors, read_table


def kind_of(path: FilePath) -> str:
    """A folder is a Minari dataset, CSV a long table; a Parquet file is a long table if it has a column `agent`."""
    source = path_of(path)
    if os.path.isdir(source):
        return "minari"
    if is_csv(source):
        return "long"
    with open_parquet(source) as file:
        schema = file.schema_arrow
        return "long" if "agent" in schema.names and KEY.encode() not in (schema.metadata or {}) else "episodes"


def read_logged(
    path: FilePath,
    discount: float | None = None,
    agents: Sequence[Agent] | None = None,
    name: str | None = None,
    columns: Mapping[str, str] | None = None,
    bins: int | None = None,
) -> Episodes:
    """The episodes at `path`; the parameters are those of `Episodes.load`."""
    source = path_of(path)
    if not os.path.lexists(source):
        raise FormatError(source, None, "no such file")
    kind = kind_of(path)
    if kind != "long" and (agents is not None or columns or bins is not None):
        raise InputError(f"{source}: agents, columns and bins are options for long tables; this is not one")
    if kind == "episodes":
        episodes = read_episodes(path)
        return episodes if discount is None else replace(episodes, discount=discount)
    if discount is None:
        raise InputError(f"{source}: contains no discount; pass --discount or discount=")
    if kind == "minari":
        return read_minari(path, discount, name)
    return read_table(path, discount, agents, name or "", columns, bins)


def validate_logged(path: FilePath, **options: Any) -> tuple[Episodes | None, list[FormatError]]:
    """The episodes at `path`, or None and its errors: of a long table the first one of every column."""
    try:
        return read_logged(path, **options), []
    except FormatError as error:
        errors = [error]
    with suppress(InputError):
        if kind_of(path) == "long":
            by_column = column_errors(path_of(path), options.get("columns"), options.get("bins") is not None)
            errors = [*by_column, *(each for each in errors if str(each) not in map(str, by_column))]
    return None, errors
