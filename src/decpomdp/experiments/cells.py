"""A cell of a table: one piece of work, kept on disk the moment it is finished.

The work is a function, named by where it lives, of settings that JSON can hold. It is pure: the same settings give the
same result, but for what is called `seconds`. The result is written at once or not at all, under a digest of the work,
its settings and our version: a finished cell is never computed again, and two tables share the cells they share. What
code made it (`origin`) is written beside it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decpomdp.core import FormatError
from decpomdp.io.files import finite, in_words, read_bytes, write_bytes
from decpomdp.io.run_folder import BEGUN

Settings = Mapping[str, Any]  # what JSON can hold
FOLDER = "cells"
LIMIT = 100_000_000  # bytes of a file that we wrote ourselves


@dataclass(frozen=True, slots=True)
class Cell:
    """What is to be computed, and where the result is kept below the table's folder."""

    work: str  # "package.module:function"
    settings: Settings
    cost: float = 1.0  # seconds, about: how the time that is left is foretold
    alone: bool = False  # its time is its result: nothing else runs beside it
    own_file: str = ""  # the work itself writes this file; otherwise the result is kept under the digest

    @property
    def digest(self) -> str:
        """What the result depends on, in 24 characters."""
        from decpomdp import __version__

        told = json.dumps([self.work, self.settings, __version__], sort_keys=True, allow_nan=False)
        return hashlib.sha256(told.encode()).hexdigest()[:24]

    @property
    def place(self) -> str:
        """The file of the finished cell."""
        return self.own_file or f"{FOLDER}/{self.digest}.json"

    @property
    def name(self) -> str:
        """For people: what it is about."""
        told = [self.settings[key] for key in ("problem", "method", "vary") if key in self.settings]
        return " ".join(str(part) for part in (*told, f"seed {self.settings.get('seed', 0)}"))


def finished(folder: Path, cell: Cell) -> bool:
    """Whether the cell's result is there; a run folder is one when the run in it is over."""
    path = folder / cell.place
    return path.exists() and not (cell.own_file and (path.parent / BEGUN).exists())


def keep(folder: Path, cell: Cell, result: Any, code: str) -> None:
    """Write the result and the digest of the code that made it, complete or not at all."""
    from decpomdp import __version__

    path = folder / cell.place
    with in_words(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    made = {"version": __version__, "code": code}
    told = {"work": cell.work, "settings": cell.settings, "result": finite(result), **made}
    write_bytes(path, json.dumps(told, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n")


def result_of(folder: Path, cell: Cell) -> Any:
    """The result of a finished cell; None if it is not finished."""
    content = content_of(folder / cell.place) if finished(folder, cell) else None
    if content is None or cell.own_file:
        return content
    if content.get("settings") != json.loads(json.dumps(cell.settings)) or "result" not in content:
        raise _other(folder / cell.place)
    return content["result"]


def content_of(path: Path) -> Any:
    """What a finished cell's file says, a JSON object; None if there is none."""
    if not path.exists():
        return None
    try:
        content = json.loads(read_bytes(path, LIMIT))
    except (ValueError, RecursionError):
        raise _other(path) from None
    if not isinstance(content, dict):
        raise _other(path)
    return content


def _other(path: Path) -> FormatError:
    return FormatError(str(path), None, "expected a finished cell, got something else; delete it")


def results_of(folder: Path, cells: Sequence[Cell]) -> list[tuple[Cell, Any]] | None:
    """All cells with their results; None while one of them is missing."""
    if not all(finished(folder, cell) for cell in cells):
        return None
    return [(cell, result_of(folder, cell)) for cell in cells]
