"""The files of a Minari dataset, looked at before anything of them is read.

A dataset may come from anybody. Only real files inside its folder are opened: no pipe, no device, no link that leads
out. What the metadata announce is believed only as a bound: so many steps have to fit into memory, and where values
are not packed (HDF5, Arrow) they cannot stand for far more bytes than there are. Every episode is then measured
against what is left of that before its values are read; see `minari_hdf5` and `minari_arrow`.
"""

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from decpomdp.core import FormatError, InputError, checks
from decpomdp.io.files import read_bytes, words
from decpomdp.io.minari.arrow import read_arrow
from decpomdp.io.minari.hdf5 import hdf5_reader
from decpomdp.io.minari.spaces import parts_in
from decpomdp.io.opening import LIKELY, WIDTH, check_bytes

FORMATS = ("hdf5", "arrow", "parquet")
SPACES = ("observation_space", "action_space")
LIMIT = 2**22  # bytes of a metadata.json
NAME = 200  # letters of a dataset's
LITTLE = 1 << 26  # bytes that any dataset may stand for
FLAT = 3  # columns beside what agents saw and did: rewards and two ends
EPISODE = 512  # bytes that an episode takes beside its values
BESIDE = ("_", ".", "metadata.json")  # how names of files begin that Minari passes over
READING = Callable[[int, int], dict[str, Any]]  # episode k, of so many steps at most, as Minari itself gives it


class Announced(NamedTuple):
    """What the metadata say of a dataset."""

    form: str  # one of FORMATS
    episodes: int
    steps: int


def file_in(folder: Path, name: str, root: Path) -> Path:
    """The real path of a file of the folder; ValueError unless it is a real file below `root`, the dataset's folder."""
    path, around = os.path.realpath(folder / name), os.path.realpath(root)
    if os.path.commonpath([path, around]) != around:
        raise ValueError(f"{name}: expected a file of the dataset's folder, got a link that leads out of it")
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{name}: expected a file, got a folder, a pipe or a device")
    return Path(path)


def about_of(source: str) -> tuple[Path, dict[str, Any]]:
    """The folder with the data, and what its metadata say. Nothing that they name is run."""
    folder = next((Path(source, part) for part in ("data", "") if Path(source, part, "metadata.json").is_file()), None)
    if folder is None:
        parts = any(any(Path(source).glob(form)) for form in ("*.parquet", "*=*/*.parquet"))  # how tools divide tables
        got = "Parquet files; join them to one file first (pyarrow, duckdb)" if parts else "another"
        raise FormatError(source, None, f"expected the folder of a Minari dataset (with metadata.json), got {got}")
    try:
        about = json.loads(read_bytes(file_in(folder, "metadata.json", Path(source)), LIMIT).decode())
    except FormatError as error:
        raise FormatError(source, None, f"metadata.json: {error.message}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(source, None, f"metadata.json: {words(error)}") from None
    if not isinstance(about, dict) or about.get("data_format") not in FORMATS:
        raise FormatError(source, None, f"metadata.json: expected data_format to be one of {', '.join(FORMATS)}")
    for key in SPACES:  # without them Minari would make the environment to ask it
        if not isinstance(about.get(key), str):
            raise FormatError(source, None, f"metadata.json: expected {key}, got none")
    return folder, about


def name_of(about: dict[str, Any], source: str) -> str:
    """The name of the dataset."""
    try:
        return checks.line("dataset_id", " ".join(str(about.get("dataset_id", "")).split())[:NAME])
    except InputError as error:
        raise FormatError(source, None, f"metadata.json: {error}") from None


def announced(about: dict[str, Any], source: str) -> Announced:
    """How much there is to read, as far as the metadata can be right."""
    numbers = [about.get(key) for key in ("total_episodes", "total_steps")]
    for key, number in zip(("total_episodes", "total_steps"), numbers, strict=True):
        if type(number) is not int or not 0 <= number < 2**63:
            got = "none" if number is None else repr(number)[:80]
            raise FormatError(source, None, f"metadata.json: expected a whole number as {key}, got {got}")
    found = Announced(about["data_format"], about["total_episodes"], about["total_steps"])
    if not found.episodes:
        raise FormatError(source, None, "expected at least one episode, got none")
    if found.steps < found.episodes:
        got = f"{found.steps} steps in {found.episodes} episodes"
        raise FormatError(source, None, f"metadata.json: expected at least one step per episode, got {got}")
    return found


@contextmanager
def reader(folder: Path, told: Announced, spaces: tuple[Any, Any], source: str) -> Iterator[READING]:
    """How to read one episode after the other, after a look at all files; ValueError or FormatError."""
    width = sum(map(parts_in, spaces)) + FLAT
    needed = (told.steps + told.episodes) * width * WIDTH + told.episodes * EPISODE
    check_bytes(needed, source, f"{told.steps} steps")
    root = Path(source)
    if told.form == "hdf5":
        path = file_in(folder, "main_data.hdf5", root)
        _check_likely(needed, path.stat().st_size, told, source)
        with hdf5_reader(path, *spaces) as read:
            yield read
        return
    size = sum(_part(folder, k, told.form, root).stat().st_size for k in range(told.episodes))
    if told.form == "arrow":  # Parquet packs: `check_columns` asks its pages
        _check_likely(needed, size, told, source)
    yield lambda k, most: read_arrow(str(_part(folder, k, told.form, root)), told.form, spaces, most)


def _check_likely(needed: int, size: int, told: Announced, source: str) -> None:
    if needed > max(LIKELY * size, LITTLE):
        raise FormatError(source, None, f"expected what {size} bytes can hold, got {told.steps} steps as announced")


def _part(folder: Path, k: int, form: str, root: Path) -> Path:
    """The file of episode k: the only one in its folder beside its metadata."""
    with os.scandir(folder / str(k)) as entries:
        names = list(islice((entry.name for entry in entries if not entry.name.startswith(BESIDE)), 2))
    if len(names) != 1 or not names[0].endswith(f".{form}"):
        got = "several" if len(names) > 1 else "another" if names else "none"
        raise ValueError(f"episode {k}: expected one file .{form} in its folder, got {got}")
    return file_in(folder / str(k), names[0], root)
