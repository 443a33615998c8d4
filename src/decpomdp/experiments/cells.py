"""Cells of a table: the work of one run, and the file of its result.

The work is a module-level function of JSON-compatible settings; its return annotation is the type of the result. It is
pure: the same settings give the same result, except for times. A result is written atomically, under a digest of the
work, its settings and the version of the package: a finished cell is never computed again, and two tables share the
cells they have in common. A file without a result of that type is rejected.

Code changes more often than versions do. A finished cell is reused even if different code computed it, because a full
run takes an hour. The file contains a digest of that code, and commands and pages report which cells were reused.
"""

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

import msgspec

from decpomdp.core import FormatError
from decpomdp.engines.threads import serial_products
from decpomdp.io.files import one_line_errors, read_bytes, write_bytes

Settings = Mapping[str, Any]  # values of JSON
Result = TypeVar("Result")
FOLDER = "cells"
LIMIT = 100_000_000  # bytes of a result
NO_EFFECT = ("cli", "report")  # rooms whose code does not change results


@dataclass(frozen=True, slots=True)
class Cell:
    """The work of one run."""

    work: Callable[[Settings], Any]
    settings: Settings
    cost: float = 1.0  # seconds, about: for the estimate of the time that is left
    alone: bool = False  # its result is a time: no other cell may run at the same time

    @property
    def work_name(self) -> str:
        """Where the work is defined."""
        return f"{self.work.__module__}:{self.work.__qualname__}"

    @property
    def digest(self) -> str:
        """Identifies everything that the result depends on, in 24 characters."""
        from decpomdp import __version__

        content = json.dumps([self.work_name, self.settings, __version__], sort_keys=True, allow_nan=False)
        return hashlib.sha256(content.encode()).hexdigest()[:24]

    @property
    def place(self) -> str:
        """The file of the result, below the folder of the table."""
        return f"{FOLDER}/{self.digest}.json"

    @property
    def name(self) -> str:
        """A short name for messages."""
        known = [self.settings[key] for key in ("problem", "method", "vary") if key in self.settings]
        return " ".join(str(part) for part in (*known, f"seed {self.settings.get('seed', 0)}"))


class Computed(msgspec.Struct, Generic[Result], frozen=True):
    """The content of a result file."""

    work: str
    settings: dict[str, Any]
    result: Result
    version: str
    code: str = "not recorded"  # digest of the code that computed it


def compute(cell: Cell) -> Computed[Any]:
    """Do the work of a cell, with one thread for matrix products."""
    from decpomdp import __version__

    code = code_digest()
    with warnings.catch_warnings(), serial_products():
        warnings.simplefilter("ignore")  # learners' warnings are part of their results
        return Computed(cell.work_name, dict(cell.settings), cell.work(cell.settings), __version__, code)


def finished(folder: Path, cell: Cell) -> bool:
    """Whether the result file exists."""
    return (folder / cell.place).is_file()


def save(folder: Path, cell: Cell, computed: Computed[Any]) -> None:
    """Write the result file atomically."""
    path = folder / cell.place
    with one_line_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, msgspec.json.format(msgspec.json.encode(computed), indent=1) + b"\n")


def load(folder: Path, cell: Cell) -> Computed[Any]:
    """The content of the result file of a finished cell."""
    path, kind = folder / cell.place, get_type_hints(cell.work).get("return", Any)
    try:
        stored = msgspec.json.decode(read_bytes(path, LIMIT), type=Computed[kind])  # type: ignore[valid-type]
    except (msgspec.DecodeError, RecursionError):
        stored = None
    if stored is None or stored.settings != json.loads(json.dumps(cell.settings)):
        words = "not a result file of this experiment; delete it to recompute"
        raise FormatError(str(path), None, words)
    return stored


@cache
def code_digest(root: Path | None = None) -> str:
    """The names and contents of the package's files, in 12 characters."""
    root, digest = root or Path(__file__).resolve().parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.is_file() and name.parts[0] not in NO_EFFECT and "__pycache__" not in name.parts:
            digest.update(f"{name.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:12]


def codes_of(computed: Iterable[Computed[Any]]) -> dict[str, int]:
    """The number of results per digest of the code that computed them, the most frequent first."""
    return dict(Counter(one.code for one in computed).most_common())
