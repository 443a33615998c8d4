"""What kind of logged data lies at a path, and what to do with those that a reader does not take.

episodes  our own Parquet file, read by `read_episodes`
long      one row per agent and step, CSV or Parquet
minari    the folder of a Minari dataset
"""

from pathlib import Path

from decpomdp.io.files import FilePath, path_of
from decpomdp.io.opening import parquet
from decpomdp.io.packing import ENDINGS

KINDS = ("episodes", "long", "minari")
CSV = (".csv", *(f".csv{ending}" for ending in ENDINGS))
KEY = "decpomdp"  # of the metadata of an episodes file
MISSING = "but there is no such file"
TOLD = {"long": "a long table; convert it first", "minari": "a folder; if it is a Minari dataset, convert it first"}


def is_csv(source: str) -> bool:
    """Whether a file of this name is CSV, packed or not; every other one is Parquet."""
    return source.lower().endswith(CSV)


def is_logged(path: FilePath) -> bool:
    """Whether a name is that of logged data, and not of a problem."""
    return path_of(path).lower().endswith((".parquet", *CSV))


def kind_of(path: FilePath) -> str:
    """What kind of data is there: a folder is a Minari dataset, CSV a long table; Parquet is asked."""
    source = path_of(path)
    if _is_folder(source):
        return "minari"
    if is_csv(source):
        return "long"
    return "long" if _has_column(source, "agent") else "episodes"


def conversion(path: FilePath) -> str | None:
    """In words, what is at `path` instead of an episodes file, and the command that makes one of it; None: it is one.

    Quoted as a shell wants it, so that the line can be copied.
    """
    import shlex

    source, kind = path_of(path), kind_of(path)
    if kind == "episodes":
        return None
    if not is_there(source):
        return MISSING
    target = f"{_stem(source)}-episodes.parquet"
    command = f"decpomdp data convert {shlex.quote(source)} {shlex.quote(target)} --discount NUMBER"
    return f"got {TOLD[kind]}: {command}"


def _stem(source: str) -> str:
    name = Path(source).name
    ending = next((ending for ending in (*CSV, ".parquet") if name.lower().endswith(ending)), "")
    return name[: len(name) - len(ending)]


def is_there(source: str) -> bool:
    """Whether anything has this name."""
    try:
        return Path(source).exists()
    except (OSError, ValueError):  # a name that nothing can have
        return False


def _is_folder(source: str) -> bool:
    try:
        return Path(source).is_dir()
    except (OSError, ValueError):  # too long, or with a null byte: no path at all
        return False


def is_damaged(source: str) -> bool:
    """Whether a Parquet file is there whose columns cannot be told."""
    import pyarrow as pa

    try:
        with parquet(source):
            return False
    except (pa.ArrowException, OSError, ValueError):
        return is_there(source)


def _has_column(source: str, column: str) -> bool:
    """Whether a Parquet file has this column and is not ours; a file that cannot be read has not."""
    import pyarrow as pa

    try:
        with parquet(source) as found:
            schema = found.schema_arrow
            return column in schema.names and KEY.encode() not in (schema.metadata or {})
    except (pa.ArrowException, OSError, ValueError):  # a FormatError too: it is a pipe
        return False
