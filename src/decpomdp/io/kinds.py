"""The kinds of recorded episodes.

episodes  an episodes file (Parquet with metadata), read by `read_episodes`
long      one row per agent and step, CSV or Parquet, read by `read_table`
minari    the folder of a Minari dataset, read by `read_minari`
"""

import os
import re
import shlex

from decpomdp.io.files import FilePath, is_csv, path_of
from decpomdp.io.parquet import open_parquet

KINDS = ("episodes", "long", "minari")
KEY = "decpomdp"  # of the metadata of an episodes file
MISSING = "but there is no such file"
FOUND = {"long": "a long table;", "minari": "a folder; if it is a Minari dataset,"}


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


def conversion(path: FilePath) -> str | None:
    """A hint for other data: the command that converts them to an episodes file; None for an episodes file."""
    source = path_of(path)
    if not os.path.exists(source):
        return MISSING
    kind = kind_of(source)
    if kind == "episodes":
        return None
    stem = re.sub(r"\.(parquet|csv|csv\.gz|csv\.zst)$", "", os.path.basename(source), flags=re.IGNORECASE)
    target = f"{stem}-episodes.parquet"
    command = f"decpomdp data convert {shlex.quote(source)} {shlex.quote(target)} --discount NUMBER"
    return f"got {FOUND[kind]} convert it first: {command}"
