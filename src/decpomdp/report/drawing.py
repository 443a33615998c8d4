"""Animated drawings: fixed shapes, and parts that change from step to step.

Used by the page's script, by animated SVG files and by GIFs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from decpomdp.report.markup import Markup, join, number, tag

DISPLAY, MOVE, TURN = "display", "move", "turn"

ChangeValue = float | tuple[float, float]
Track = tuple[tuple[ChangeValue, ...], ...]  # [k][t]


@dataclass(frozen=True, slots=True)
class Mark:
    """A rect, circle, line, polygon or text; `look` is its CSS class, and decides its colour."""

    kind: str
    look: str
    at: Mapping[str, float]  # SVG attributes
    words: str = ""
    points: tuple[tuple[float, float], ...] = ()  # of a polygon
    dashes: tuple[float, ...] = ()  # of a line: length, gap

    def moved(self, values: Mapping[str, Any]) -> "Mark":
        """The shape with other values of the attributes that it has."""
        return replace(self, at={name: float(values.get(name, value)) for name, value in self.at.items()})

    def markup(self, *inside: Markup, **attributes: Any) -> Markup:
        """As SVG."""
        at = {name: number(value) for name, value in self.at.items()}
        if self.points:
            at["points"] = " ".join(f"{number(x)},{number(y)}" for x, y in self.points)
        if self.dashes:
            at["stroke-dasharray"] = " ".join(number(length) for length in self.dashes)
        return tag(self.kind, self.words or None, *inside, class_=self.look, **at, **attributes)


@dataclass(frozen=True, slots=True)
class Part:
    """Shapes around `at` that change together.

    Changes: `display` (1 or 0), `move` (x, y), `turn` (degrees clockwise), or a number of the only shape (`x2`, `y2`).
    """

    shapes: tuple[Mark, ...]
    changes: Mapping[str, Track]
    at: tuple[float, float] = (0.0, 0.0)
    tooltip: str = ""
    agent: int | None = None  # agent shown by the part

    def values(self, t: int) -> dict[str, Any]:
        """All changes in step t of the first episode."""
        return {what: values[0][t] for what, values in self.changes.items()}

    def markup(self, shapes: Markup, *more: Markup, **attributes: Any) -> Markup:
        """A group at its place."""
        shift = None if self.at == (0.0, 0.0) else f"translate({number(self.at[0])} {number(self.at[1])})"
        title = tag("title", self.tooltip) if self.tooltip else None
        return tag("g", title, shapes, *more, transform=shift, data_agent=self.agent, **attributes)


@dataclass(frozen=True, slots=True)
class Film:
    """Episodes as an animated drawing, with a caption for each step."""

    box: tuple[float, float, float, float]  # left, top, width, height
    still: tuple[Mark, ...]
    parts: tuple[Part, ...]
    captions: tuple[tuple[str, ...], ...]  # [k][t]
    legend: str = ""  # of a drawing with many small shapes

    def frame(self, t: int) -> Iterator[tuple[Mark, tuple[float, float], float]]:
        """The visible shapes in step t of the first episode, with their shift and turn."""
        for shape in self.still:
            yield shape, (0.0, 0.0), 0.0
        for part in self.parts:
            values = part.values(t)
            x, y = values.get(MOVE, (0.0, 0.0))
            for shape in part.shapes if values.get(DISPLAY, 1.0) else ():
                yield shape.moved(values), (part.at[0] + x, part.at[1] + y), values.get(TURN, 0.0)


def for_page(film: Film) -> Markup:
    """The drawing as SVG, every part a group that the page's script moves."""
    groups = []
    for p, part in enumerate(film.parts):
        shapes = join(shape.markup() for shape in part.shapes)
        groups.append(part.markup(tag("g", shapes, class_="turning") if TURN in part.changes else shapes, data_part=p))
    still = [shape.markup() for shape in film.still]
    return tag("svg", *still, *groups, id="moving", class_="moving", viewBox=view_box(film.box), role="img")


def for_script(film: Film) -> dict[str, Any]:
    """The data with which the page's script moves the drawing: part, change, possible values, place of each [k][t]."""
    changes = []
    for p, part in enumerate(film.parts):
        for what, values in part.changes.items():
            choices = {value: place for place, value in enumerate(dict.fromkeys(chain.from_iterable(values)))}
            changes.append([p, what, list(choices), [[choices[value] for value in episode] for episode in values]])
    return {"changes": changes, "captions": film.captions}


def view_box(box: tuple[float, ...]) -> str:
    """Left, top, width and height as an attribute."""
    return " ".join(number(value) for value in box)
