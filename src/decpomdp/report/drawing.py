"""A drawing that moves: marks that stay, parts that change from step to step. The page's script moves it, an animated
file moves by itself, and a painter makes pictures of it: all from what is here.

A part changes in one or several ways, each with a few possible values: `display` (1 or 0), `move` (x, y), `turn`
(degrees, clockwise), or a number of its only mark (`x2`, `y2`). A frame says which value each change takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decpomdp.report.markup import Markup, number, tag

DISPLAY, MOVE, TURN = "display", "move", "turn"

Value = float | tuple[float, float]
Frame = tuple[int, ...]  # per change: which of its choices


@dataclass(frozen=True, slots=True)
class Mark:
    """A rect, circle, line, polygon or text; `look` says what it stands for, and with it its colour."""

    kind: str
    look: str
    at: Mapping[str, float]  # numbers of SVG: x, y, width, height, rx; cx, cy, r; x1, y1, x2, y2, wide; x, y, size
    words: str = ""
    points: tuple[tuple[float, float], ...] = ()  # of a polygon
    dashes: tuple[float, ...] = ()  # of a line: how long, how far apart


@dataclass(frozen=True, slots=True)
class Part:
    """Marks that change together, drawn around `at`."""

    marks: tuple[Mark, ...]
    at: tuple[float, float] = (0.0, 0.0)
    said: str = ""  # what it is, for who points at it
    agent: int | None = None  # whose it is


@dataclass(frozen=True, slots=True)
class Change:
    """One way in which a part changes."""

    part: int
    what: str
    choices: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything about a drawing but the frames: those belong to episodes."""

    left: float
    top: float
    width: float
    height: float
    still: tuple[Mark, ...]
    parts: tuple[Part, ...]
    changes: tuple[Change, ...]

    @property
    def box(self) -> str:
        """What an SVG says about its size."""
        return " ".join(number(value) for value in (self.left, self.top, self.width, self.height))


@dataclass(frozen=True, slots=True)
class Film:
    """A drawing with its frames, and words about each."""

    drawing: Drawing
    frames: tuple[tuple[Frame, ...], ...]  # [k][t]
    captions: tuple[tuple[str, ...], ...]  # [k][t]
    of_streets: bool = False  # wide, and full of small things


def inside(drawing: Drawing) -> list[Markup]:
    """The marks as SVG, every part in a group of its own, for the script to move."""
    turning = {change.part for change in drawing.changes if change.what == TURN}
    still = [mark_up(mark) for mark in drawing.still]
    return still + [part_up(part, p in turning, data_part=p) for p, part in enumerate(drawing.parts)]


def part_up(part: Part, turns: bool, *more: Markup, **attributes: Any) -> Markup:
    """A group at its place; what turns is in a group inside."""
    marks: tuple[Markup, ...] = tuple(mark_up(mark) for mark in part.marks)
    if turns:
        marks = (tag("g", *marks, class_="turning"),)
    said = tag("title", part.said) if part.said else None
    shift = None if part.at == (0.0, 0.0) else f"translate({number(part.at[0])} {number(part.at[1])})"
    return tag("g", said, *marks, *more, transform=shift, data_agent=part.agent, **attributes)


def mark_up(mark: Mark, *more: Markup) -> Markup:
    """One mark as SVG."""
    at = {name: number(value) for name, value in mark.at.items() if name not in ("wide", "size")}
    if mark.kind == "polygon":
        at["points"] = " ".join(f"{number(x)},{number(y)}" for x, y in mark.points)
    if "wide" in mark.at:
        at["stroke-width"] = number(mark.at["wide"])
    if "size" in mark.at:
        at["font-size"] = number(mark.at["size"])
    if mark.dashes:
        at["stroke-dasharray"] = " ".join(number(length) for length in mark.dashes)
    words = mark.words if mark.kind == "text" else None
    return tag(mark.kind, words, *more, class_=mark.look, **at)


def for_script(film: Film) -> dict[str, Any]:
    """What the page's script needs to move the drawing."""
    changes = [[change.part, change.what, list(change.choices)] for change in film.drawing.changes]
    return {"changes": changes, "frames": film.frames, "captions": film.captions}
