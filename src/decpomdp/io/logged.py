"""Reading recorded episodes of any kind: an episodes file, a long table or a Minari dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decpomdp.core import Agent, Episodes, FormatError, InputError
from decpomdp.io.episodes import episodes_in
from decpomdp.io.files import FilePath, path_of
from decpomdp.io.kinds import KINDS, kind_of
from decpomdp.io.minari import read_minari
from decpomdp.io.tables.read import table_in
from decpomdp.io.validation import Checks


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of the reader, for information that the file does not contain; None: not options."""

    kind: str | None = None  # one of KINDS; None: detected
    discount: float | None = None
    agents: Sequence[Agent] | None = None
    name: str | None = None  # of the problem
    columns: Mapping[str, str] | None = None  # standard name of a column -> name in the file
    bins: int | None = None  # observations are numbers, put into so many bins


NO_OPTIONS = ReadOptions()


def read_logged(path: FilePath, options: ReadOptions = NO_OPTIONS) -> Episodes:
    """The episodes at `path`; raises the first error."""
    episodes: Episodes = _read(path, options, Checks())
    return episodes


def validate_logged(path: FilePath, options: ReadOptions = NO_OPTIONS) -> tuple[Episodes | None, list[FormatError]]:
    """The episodes at `path`, or None and the first error of every column."""
    check = Checks(collect=True)
    return check.run(_read, path, options, check), check.errors


def _read(path: FilePath, options: ReadOptions, check: Checks) -> Any:
    """The episodes; None if a check failed and its error was collected."""
    kind, source = options.kind or kind_of(path), path_of(path)
    if kind not in KINDS:
        raise InputError(f"kind of data: expected one of {', '.join(KINDS)}, got {kind!r}")
    if options.bins is not None and kind != "long":
        raise InputError(f"bins: expected none, because {source} is not a long table, got {options.bins}")
    if kind == "episodes":
        if options.discount is not None or options.agents is not None or options.columns:
            raise InputError(
                f"{source}: an episodes file has its own discount, agents and columns; expected no such options"
            )
        return episodes_in(path, check)
    if options.discount is None:
        raise InputError(f"{source}: contains no discount; pass --discount or discount=")
    if kind == "long":
        return table_in(
            path, options.discount, options.agents, options.name or "", options.columns, options.bins, check
        )
    if options.agents is not None or options.columns:
        raise InputError(f"{source}: a Minari dataset has its own agents; expected no such options")
    return read_minari(path, options.discount, options.name)
