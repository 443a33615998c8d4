"""A table or figure of the paper: the cells to compute, and the tables, pictures and verdicts of their results.

    effort --cells--> cells --results--> rows --+--> tables     words
                                                +--> pictures   curves (`draw`)
                                                +--> verdicts   on the claims of the paper (`judge`)

Rows are flat, one mapping per point, and are written as Parquet. Everything shown is a function of the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.judge import ClaimVerdict, Effort, Judge, ResultRows, Weigh, judged, texts_of

Results = Sequence[tuple[Cell, Any]]


@dataclass(frozen=True, slots=True)
class TextTable:
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
    style: str = "line"  # also "wide" (below others), "dotted" (no errors); without markers "level" (dashed), "flat"


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
    side_by_side: bool = False  # points with the same x are drawn side by side; needs a logarithmic x axis


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure: panels in rows."""

    name: str  # of its files
    caption: str
    panels: tuple[tuple[Panel, ...], ...]  # [row][column]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of the paper; its efforts, texts and claims are in texts/NAME.toml."""

    name: str
    cells: Callable[[Effort], list[Cell]]
    rows: Callable[[Results], ResultRows]
    tables: Callable[[ResultRows], list[TextTable]]
    weigh: Mapping[str, Weigh]  # the evidence that claims name
    pictures: Callable[[ResultRows], list[Picture]] = lambda rows: []
    judge: Judge = judged
    facts: Mapping[str, Any] = field(default_factory=dict)  # named in braces by `about`

    @property
    def title(self) -> str:
        """The heading."""
        return texts_of(self.name).title

    @property
    def about(self) -> str:
        """How it is done here."""
        return texts_of(self.name).about.format(**self.facts)

    def verdicts(self, rows: ResultRows) -> list[ClaimVerdict]:
        """The claims of the paper, and whether they are seen here."""
        return self.judge(texts_of(self.name), self.weigh, rows)


def flat(results: Results, *keys: str, **renamed: str) -> ResultRows:
    """One row per result, or per element of a result that is a list, with these settings of its cell (or None)."""
    return ResultRows(
        {key: cell.settings.get(key) for key in keys}
        | msgspec.structs.asdict(point)
        | {name: cell.settings.get(key) for name, key in renamed.items()}
        for cell, result in results
        for point in (result if isinstance(result, list) else [result])
    )


def curve(rows: ResultRows, x: str, y: str, name: str, style: str = "line", best: bool = False) -> Curve:
    """The mean or the best `y` at every `x`, with the standard deviation over seeds; missing values are left out."""
    known = ResultRows(row for row in rows if row[y] is not None)
    places, means = zip(*sorted(known.means(y, x).items()), strict=True)
    values = tuple(mean.most if best else mean.value for mean in means)
    errors = None if style == "dotted" else tuple(mean.spread for mean in means)
    return Curve(name, tuple(map(float, places)), values, errors, style)


def level(name: str, places: Sequence[float], value: float, spread: float | None = None, style: str = "level") -> Curve:
    """The same value from the first place to the last."""
    return Curve(name, (min(places), max(places)), (value, value), None if spread is None else (spread, spread), style)
