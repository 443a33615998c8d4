"""Reading logged data of any kind: an episodes file, a long table or a Minari dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.io.episodes.read import episodes_in
from decpomdp.io.files import FilePath, path_of
from decpomdp.io.kinds import KINDS, kind_of
from decpomdp.io.minari.read import read_minari
from decpomdp.io.tables.read import table_in
from decpomdp.io.validation import Checks


@dataclass(frozen=True, slots=True)
class Given:
    """Information that the user adds to a file; None: not given. Episodes files and Minari datasets have their own."""

    kind: str | None = None  # one of KINDS; None: detected
    discount: float | None = None
    agents: Sequence[Agent] | None = None
    name: str | None = None  # of the problem
    columns: Mapping[str, str] | None = None  # our column name -> that of the file


NOTHING = Given()


def read_logged(path: FilePath, given: Given = NOTHING) -> Episodes:
    """The episodes at `path`; raises the first error."""
    episodes: Episodes = _read(path, given, Checks())
    return episodes


def validate_logged(path: FilePath, given: Given = NOTHING) -> tuple[Episodes | None, list[FormatError]]:
    """The episodes at `path`, or None and the first error of every column."""
    check = Checks(collect=True)
    return check.run(_read, path, given, check), check.errors


def _read(path: FilePath, given: Given, check: Checks) -> Any:
    """The episodes; None if a check failed and its error was collected."""
    kind, source = given.kind or kind_of(path), path_of(path)
    if kind not in KINDS:
        raise InputError(f"kind of data: expected one of {', '.join(KINDS)}, got {kind!r}")
    if kind == "episodes":
        if given.discount is not None or given.agents is not None or given.columns:
            raise InputError(f"{source} has its own discount, agents and columns; expected none as options")
        return episodes_in(path, check)
    if given.discount is None:
        raise InputError(f"{source} does not contain the discount; expected it as an option")
    if kind == "long":
        return table_in(path, given.discount, given.agents, given.name or "", given.columns, check)
    if given.agents is not None or given.columns:
        raise InputError(f"{source} is a Minari dataset and has its own agents; expected none as options")
    return read_minari(path, given.discount, given.name)
