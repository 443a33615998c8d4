"""What one table or figure of the paper is made of: cells to compute, and what to show of their results.

    effort --cells--> cells --results--> rows --+--> tables     words
                                                +--> pictures   curves, drawn by `drawing`
                                                +--> claims     what the paper says, and whether we see it

Rows are flat, one line per point, and are what is written as Parquet. Everything shown is a function of the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from decpomdp.core.fit import Row
from decpomdp.experiments.cells import Cell
from decpomdp.experiments.judging import LEAST_SEEDS

Results = Sequence[tuple[Cell, Any]]
Rows = Sequence[Row]
NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Table:
    """Words in rows and columns."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the paper says, and what we see of it."""

    says: str
    seen: str  # "yes", "partly", "no" or "not judged"
    told: str  # the numbers
    rule: str  # by which they are judged: what "yes" and "partly" take, and how vague words are read

    @property
    def evidence(self) -> str:
        """The numbers with the rule by which they were judged."""
        return f"{self.told} Rule: {self.rule}"


@dataclass(frozen=True, slots=True)
class Curve:
    """Points joined by a line, with the width of their error bars or band."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    style: str = "line"  # also "wide" (others are seen on it), "dotted"; without points "level" (dashed), "flat"


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes."""

    title: str
    across: str
    up: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False  # both axes
    across_logarithmic: bool = False  # that one alone
    from_zero: bool = False  # the upright axis
    span: tuple[float, float] | None = None  # of the upright axis, where panels are to be compared
    beside: bool = False  # points of the same place are drawn side by side; a logarithmic axis
    event: float | None = None  # a thin upright line, which the caption explains


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure: panels in rows."""

    name: str  # of its files
    caption: str
    panels: tuple[tuple[Panel, ...], ...]  # [row][column]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    title: str
    about: str  # how it is done here, what is the paper's and what is not
    efforts: Mapping[str, Any]  # "quick" and "full"; each has `seeds`
    cells: Callable[[Any], list[Cell]]  # of an effort
    rows: Callable[[Results], list[Row]]
    tables: Callable[[Rows], list[Table]]
    pictures: Callable[[Rows], list[Picture]]
    claims: Callable[[Rows], list[Claim]]


def judged(claims: Sequence[Claim], rows: Rows) -> list[Claim]:
    """The claims as they are, or not judged where there are too few seeds to compare."""
    seeds = len(distinct(rows, "seed"))
    if seeds >= LEAST_SEEDS:
        return list(claims)
    few = f"Not judged: that takes at least three seeds, here {seeds}. "
    return [replace(claim, seen=NOT_JUDGED, told=few + claim.told) for claim in claims]


def chosen(rows: Rows, **wanted: Any) -> list[Row]:
    """The rows that say this."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def distinct(rows: Rows, key: str) -> list[Any]:
    """The different things that rows say, in the order in which they come."""
    return list(dict.fromkeys(row[key] for row in rows))


def column(rows: Rows, key: str) -> list[float]:
    """A column of numbers; what is missing is left out."""
    return [float(row[key]) for row in rows if row[key] is not None]  # type: ignore[arg-type]
