"""A drawing that moves: fixed shapes, and parts that change from step to step.

The page's script moves it, an animated SVG moves by itself, and the painter of GIFs draws its frames: all from here.
A part changes in one or several ways, each with a few possible values: `display` (1 or 0), `move` (x, y), `turn`
(degrees clockwise), or a number of its only shape (`x2`, `y2`). A frame says which value each change takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from decpomdp.report.markup import Markup, number, tag

DISPLAY, MOVE, TURN = "display", "move", "turn"

Value = float | tuple[float, float]
Frame = tuple[int, ...]  # per change: the place of its value


@dataclass(frozen=True, slots=True)
class Shape:
    """A rect, circle, line, polygon or text; `look` is its CSS class, and decides its colour."""

    kind: str
    look: str
    at: Mapping[str, float]  # SVG attributes, and `wide` (stroke) and `size` (font)
    words: str = ""
    points: tuple[tuple[float, float], ...] = ()  # of a polygon
    dashes: tuple[float, ...] = ()  # of a line: length, gap

    def moved(self, values: Mapping[str, Any]) -> "Shape":
        """The shape with other numbers, where it has them."""
        return replace(self, at={name: float(values.get(name, value)) for name, value in self.at.items()})

    def markup(self, *inside: Markup, **attributes: Any) -> Markup:
        """As SVG."""
        names = {"wide": "stroke-width", "size": "font-size"}
        at: dict[str, str] = {names.get(name, name): number(value) for name, value in self.at.items()}
        if self.points:
            at["points"] = " ".join(f"{number(x)},{number(y)}" for x, y in self.points)
        if self.dashes:
            at["stroke-dasharray"] = " ".join(number(length) for length in self.dashes)
        return tag(self.kind, self.words or None, *inside, class_=self.look, **at, **attributes)


@dataclass(frozen=True, slots=True)
class Part:
    """Marks that change together, drawn around `at`."""

    shapes: tuple[Shape, ...]
    at: tuple[float, float] = (0.0, 0.0)
    tooltip: str = ""
    agent: int | None = None  # that it belongs to

    def markup(self, shapes: Markup, *more: Markup, **attributes: Any) -> Markup:
        """A group at its place."""
        shift = None if self.at == (0.0, 0.0) else f"translate({number(self.at[0])} {number(self.at[1])})"
        title = tag("title", self.tooltip) if self.tooltip else None
        return tag("g", title, shapes, *more, transform=shift, data_agent=self.agent, **attributes)


@dataclass(frozen=True, slots=True)
class Change:
    """One way in which a part changes."""

    part: int
    what: str
    choices: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """All shapes; the frames belong to episodes."""

    left: float
    top: float
    width: float
    height: float
    still: tuple[Shape, ...]
    parts: tuple[Part, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Film:
    """A drawing with its frames, and a caption for each."""

    drawing: Drawing
    frames: tuple[tuple[Frame, ...], ...]  # [k][t]
    captions: tuple[tuple[str, ...], ...]  # [k][t]
    of_streets: bool = False  # wide, with many small shapes


def for_page(drawing: Drawing) -> Markup:
    """The drawing as SVG, every part a group that the page's script moves."""
    turning = {change.part for change in drawing.changes if change.what == TURN}
    groups = []
    for p, part in enumerate(drawing.parts):
        shapes = [shape.markup() for shape in part.shapes]
        inside = tag("g", *shapes, class_="turning") if p in turning else Markup("".join(shapes))
        groups.append(part.markup(inside, data_part=p))
    box = " ".join(number(value) for value in (drawing.left, drawing.top, drawing.width, drawing.height))
    still = [shape.markup() for shape in drawing.still]
    return tag("svg", *still, *groups, id="moving", class_="moving", viewBox=box, role="img")


def for_script(film: Film) -> dict[str, Any]:
    """The data with which the page's script moves the drawing."""
    changes = [[change.part, change.what, list(change.choices)] for change in film.drawing.changes]
    return {"changes": changes, "frames": film.frames, "captions": film.captions}
