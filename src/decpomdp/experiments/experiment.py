"""What one table or figure of the paper is made of: cells to compute, and what to show of their results.

    effort --cells--> cells --results--> rows --+--> tables     words
                                                +--> pictures   curves (`draw`)
                                                +--> verdicts   on the claims of the paper (`judge`)

Rows are flat, one mapping per point, and are written as Parquet. Everything shown is a function of the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.judge import Claim, Rows, Verdict, judged

Results = Sequence[tuple[Cell, Any]]


@dataclass(frozen=True, slots=True)
class Table:
    """Words in rows and columns."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Points joined by a line, with the width of their error bars or band."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    style: str = "line"  # also "wide" (drawn below others), "dotted"; without markers "level" (dashed), "flat"


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes."""

    title: str
    across: str
    up: str
    curves: tuple[Curve, ...]
    logarithmic: bool = False  # both axes
    across_logarithmic: bool = False  # the x axis alone
    from_zero: bool = False  # the y axis
    span: tuple[float, float] | None = None  # of the y axis, for panels that are compared
    beside: bool = False  # points with the same x are drawn side by side; needs a logarithmic x axis
    event: float | None = None  # a thin vertical line, explained in the caption


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
    rows: Callable[[Results], Rows]
    tables: Callable[[Rows], list[Table]]
    pictures: Callable[[Rows], list[Picture]]
    claims: tuple[Claim, ...]
    judge: Callable[[Sequence[Claim], Rows], list[Verdict]] = judged

    def verdicts(self, rows: Rows) -> list[Verdict]:
        """What the paper says, and whether it is seen here."""
        return self.judge(self.claims, rows)


def curve(rows: Rows, x: str, y: str, name: str, style: str = "line") -> Curve:
    """The mean of `y` at every `x`, with the standard deviation over seeds; missing values are left out."""
    known = Rows(row for row in rows if row[y] is not None)
    means = {place: known.where(**{x: place}).mean(y) for place in known.distinct(x)}
    places, values = tuple(map(float, means)), tuple(mean.value for mean in means.values())
    return Curve(name, places, values, tuple(mean.spread for mean in means.values()), style)
