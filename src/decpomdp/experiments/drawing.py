"""Figures: panels of curves, drawn by matplotlib as PNG and SVG; the same numbers give the same files."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from decpomdp.core import InputError
from decpomdp.experiments.rows import ResultRows
from decpomdp.io.files import replacing

COLOURS = ("#1b7f79", "#d1642e", "#5b5ea6", "#b8902a", "#7a7a7a", "#a6365b")  # distinct with any colour vision
WIDE, HIGH = 3.6, 2.7  # inches of a panel
DOTS = 110  # per inch
LETTERS, MARK = 15, 8  # letters per inch of a legend; width of the mark before a name, in letters
DECADE = 12.0  # least ratio of the ends of a logarithmic axis
LOOKS: dict[str, dict[str, Any]] = {
    "line": {"linestyle": "-"},
    "wide": {"linestyle": "-", "linewidth": 5, "alpha": 0.45, "solid_capstyle": "butt"},
    "dotted": {"linestyle": ":"},
    "level": {"linestyle": "--", "linewidth": 1.2},
    "flat": {"linestyle": "-", "linewidth": 1.2},
}
LEVELS = ("level", "flat")
MANY = 25  # points of a curve without marks
ASIDE = 0.5  # of the distance to the next point, for all curves together
FEW = 8  # points of a curve with error bars, at most; longer curves have a band


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
    logarithmic: str = ""  # axes: "x" or "xy"
    span: tuple[float | None, float | None] = (None, None)  # of the y axis; None: automatic
    side_by_side: bool = False  # points with the same x are drawn side by side; needs a logarithmic x axis


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure: panels in rows."""

    name: str  # of its files
    caption: str
    panels: tuple[tuple[Panel, ...], ...]  # [row][column], as many in every row


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


def draw(picture: Picture, folder: Path) -> None:
    """Write NAME.png and NAME.svg into `folder`."""
    plt = pyplot()
    rows, columns = len(picture.panels), len(picture.panels[0])
    colours = _colours(picture)
    with plt.rc_context({"font.size": 8, "svg.hashsalt": picture.name, "svg.fonttype": "path"}):
        size = (WIDE * columns, HIGH * rows)
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        try:
            for place, panel in zip(axes.flat, chain.from_iterable(picture.panels), strict=True):
                _draw_panel(place, panel, colours)
            _legend(figure, columns)
            for kind in ("png", "svg"):
                _save(figure, folder / f"{picture.name}.{kind}")
        finally:
            plt.close(figure)


def _colours(picture: Picture) -> dict[str, str]:
    """A curve has the same colour in all panels; text after a colon in its name is a remark."""
    curves = (curve for row in picture.panels for panel in row for curve in panel.curves)
    names = dict.fromkeys(curve.name.partition(":")[0] for curve in curves)
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}


def _legend(figure: Any, panels: int) -> None:
    """One legend for all panels; one per panel if the names have remarks."""
    known: dict[str, Any] = {}
    for axes in figure.axes:
        known |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if any(":" in name for name in known):
        for axes in figure.axes:
            axes.legend(fontsize=6.5, frameon=False)
    else:
        room = LETTERS * WIDE * panels / (max(map(len, known)) + MARK)
        columns = max(1, min(len(known), int(room)))
        figure.legend(known.values(), known, loc="outside lower center", ncols=columns, frameon=False, fontsize=7.5)


def pyplot() -> Any:
    """Matplotlib, by default with a backend that needs no display."""
    os.environ.setdefault("MPLBACKEND", "agg")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise InputError("figures need matplotlib: pip install decpomdp[figures]") from None
    return plt


def _save(figure: Any, path: Path) -> None:
    kind = path.suffix.removeprefix(".")
    metadata: dict[str, str | None] = {"Date": None} if kind == "svg" else {"Software": None}  # no date or version
    with replacing(path) as part:
        figure.savefig(part, format=kind, dpi=DOTS, metadata=metadata)


def _draw_panel(axes: Any, panel: Panel, colours: dict[str, str]) -> None:
    for curve in _side_by_side(panel.curves) if panel.side_by_side else panel.curves:
        _draw_curve(axes, curve, colours[curve.name.partition(":")[0]])
    axes.set_title(panel.title, fontsize=9)
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.span != (None, None):
        axes.set_ylim(*panel.span)
    if panel.logarithmic:
        _logarithmic(axes, panel)


def _side_by_side(curves: tuple[Curve, ...]) -> list[Curve]:
    """Each curve a little to the right of the previous one, so that bars do not hide each other."""
    places = sorted({x for curve in curves for x in curve.x})
    step = min(high / low for low, high in pairwise(places)) ** (ASIDE / len(curves)) if len(places) > 1 else 1.0
    shifts = (step ** (place - (len(curves) - 1) / 2) for place in range(len(curves)))
    return [replace(c, x=tuple(x * shift for x in c.x)) for c, shift in zip(curves, shifts, strict=True)]


def _logarithmic(axes: Any, panel: Panel) -> None:
    """Ticks at the sizes; the y axis spans at least a decade, so that noise does not look like growth."""
    axes.set_xscale("log")
    places = sorted({x for curve in panel.curves for x in curve.x})
    axes.set_xticks(places, [f"{x:g}" for x in places], minor=False)
    axes.set_xticks([], minor=True)
    if panel.logarithmic == "xy":
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        wider = max(1.0, (DECADE / (high / low)) ** 0.5)
        axes.set_ylim(low / wider, high * wider)


def _draw_curve(axes: Any, curve: Curve, colour: str) -> None:
    marks = {} if curve.style in LEVELS or len(curve.x) > MANY else {"marker": "o", "markersize": 3}
    axes.plot(curve.x, curve.y, color=colour, label=curve.name, **LOOKS[curve.style], **marks)
    if curve.error is None:
        return
    if curve.style in LEVELS or len(curve.x) > FEW:
        y, error = np.array(curve.y), np.array(curve.error)
        axes.fill_between(curve.x, y - error, y + error, color=colour, alpha=0.15, linewidth=0)
    else:
        axes.errorbar(curve.x, curve.y, curve.error, color=colour, fmt="none", capsize=2, linewidth=0.8)
