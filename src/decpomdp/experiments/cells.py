"""A cell of a table: one piece of work, kept on disk the moment it is finished.

The work is a function, named by where it lives, of settings that JSON can hold. It is pure: the same settings give the
same result, but for what is called `seconds`. The result is written at once or not at all, under a digest of the work,
its settings and our version: a finished cell is never computed again, and two tables share the cells they share. What
code made it (`origin`) is written beside it.

Files can be edited by hand. Before results are shown, all of one work are held against each other (`check_results`):
every one has the keys that most have, numbers are finite, a key has the kind of value (number, text, nothing, list)
that it has in most, and points are of the iterations of which they are in most. What a result repeats of its settings,
such as the seed, is what they say.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decpomdp.core import FormatError
from decpomdp.io.files import finite, in_words, read_bytes, write_bytes
from decpomdp.io.runs import read_record

Settings = Mapping[str, Any]  # what JSON can hold
FOLDER = "cells"
LIMIT = 100_000_000  # bytes of a file that we wrote ourselves
BY_METHOD = ("inferred", "sample_size")  # nothing for methods that infer or weigh nothing
MEASURED = {"nodes", "sweeps"}  # limits in settings; in a result what came of them
LARGEST = 2**63  # what a column of whole numbers can hold


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
    return path.exists() and not (cell.own_file and not read_record(path).finished)


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
    return FormatError(
        str(path), None, "expected what a run of this table has left there, got something else; delete it"
    )


def results_of(folder: Path, cells: Sequence[Cell]) -> list[tuple[Cell, Any]] | None:
    """All cells with their results; None while one of them is missing."""
    if not all(finished(folder, cell) for cell in cells):
        return None
    return [(cell, result_of(folder, cell)) for cell in cells]


def check_results(folder: Path, results: Sequence[tuple[Cell, Any]]) -> None:
    """Every cell says what the others of its work say; a file that someone emptied or edited does not."""
    told: dict[str, list[Any]] = {}
    votes: dict[object, Counter[str]] = {}
    for cell, result in results:
        told.setdefault(cell.work, []).append(result)
        for place, kind in _kinds(cell, result):
            votes.setdefault(place, Counter())[kind] += 1
    keys = {work: Counter(map(_keys, some)).most_common(1)[0][0] for work, some in told.items()}
    iterations = {work: Counter(map(_iterations, some)).most_common(1)[0][0] for work, some in told.items()}
    kinds = {place: max(found, key=lambda kind: (found[kind], kind == "number")) for place, found in votes.items()}
    for cell, result in results:
        whole = (own := _keys(result)) and own >= keys[cell.work]
        whole = whole and _iterations(result) == iterations[cell.work] and _of_itself(cell, result)
        if not whole or any(kind != kinds[place] or "infinite" in kind for place, kind in _kinds(cell, result)):
            words = "expected the result of a finished cell, got one without its numbers; delete it"
            raise FormatError(str(folder / cell.place), None, words)


def _keys(result: Any) -> frozenset[str]:
    """What a result, or every point of one, says; the last point may say more."""
    points = result if isinstance(result, list) else [result]
    if not points or not all(isinstance(point, dict) for point in points):
        return frozenset()
    return frozenset.intersection(*map(frozenset, points)) | {f"{key} at the end" for key in points[-1]}


def _iterations(result: Any) -> str:
    """Of which iterations the points of a result are: the same for all methods and problems of a work."""
    points = result if isinstance(result, list) else []
    return str([point.get("iteration") for point in points if isinstance(point, dict)])


def _of_itself(cell: Cell, result: Any) -> bool:
    """Whether a result, or every point of one, repeats of the cell's settings only what they are."""
    points = result if isinstance(result, list) else [result]
    return all(
        point[key] == cell.settings[key] for point in points for key in (point.keys() & cell.settings.keys()) - MEASURED
    )


def _kinds(cell: Cell, result: Any) -> Iterator[tuple[object, str]]:
    """What kind of value is where in a result; where points hold lists, all their keys are of one kind."""
    for position, point in enumerate(result if isinstance(result, list) else [result]):
        if not isinstance(point, dict):
            continue
        alike = any(isinstance(value, list) for value in point.values())
        for key, value in point.items():
            method = cell.settings.get("method") if key in BY_METHOD else None
            yield (cell.work, position, "" if alike else key, method), _kind(value)


def _kind(value: Any) -> str:
    """What a value is, to be compared.

    >>> [_kind(value) for value in (1, 0.5, math.inf, "1", None, [1.0, math.nan])]
    ['number', 'number', 'infinite', 'text', 'nothing', 'list of number, infinite']
    """
    if isinstance(value, list):  # of lists there are none in ours
        return "list of " + ", ".join("list" if isinstance(each, list) else _kind(each) for each in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        bounded = abs(value) < LARGEST if isinstance(value, int) else math.isfinite(value)
        return "number" if bounded else "infinite"
    return "text" if isinstance(value, str) else "nothing" if value is None else "other"
