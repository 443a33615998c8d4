"""An episode as an animated GIF, for places that show no SVG. Pillow paints it (`pip install decpomdp[data]`).

Frames are painted twice as large and made smaller, which smooths the edges.
"""

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from decpomdp.core import InputError
from decpomdp.report.animation import COLOURS, INK, PAPER, SECONDS, WIDTH, captions_of, film_in
from decpomdp.report.drawing import DISPLAY, MOVE, TURN, Drawing, Frame, Mark, Part, Value
from decpomdp.report.replay import Replay

if TYPE_CHECKING:
    from PIL.Image import Image

FINER = 2
TALLEST = 900  # pixels


def animated_gif(replay: Replay, title: str) -> bytes:
    """The first episode of a replay that has a film."""
    film, captions = film_in(replay, title), captions_of(replay)
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise InputError(
            "a GIF is painted by Pillow: pip install decpomdp[data]; an animation.svg needs nothing"
        ) from None
    painter = _Painter(film.drawing)
    pictures = [painter.paint(frame, words) for frame, words in zip(film.frames[0], captions, strict=True)]
    packed = io.BytesIO()
    options: dict[str, Any] = {"duration": round(1000 * SECONDS), "loop": 0, "optimize": True}
    pictures[0].save(packed, "GIF", save_all=True, append_images=pictures[1:], **options)
    return packed.getvalue()


class _Painter:
    """Paints frames of one drawing."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.foot = drawing.width / 24
        self.scale = FINER * min(WIDTH / drawing.width, TALLEST / (drawing.height + self.foot))
        self.values: list[dict[str, int]] = [{} for _ in drawing.parts]
        for c, change in enumerate(drawing.changes):
            self.values[change.part][change.what] = c

    def paint(self, frame: Frame, words: str) -> "Image":
        """One frame, with words below."""
        from PIL import Image, ImageDraw

        drawing = self.drawing
        size = round(drawing.width * self.scale), round((drawing.height + self.foot) * self.scale)
        image = Image.new("RGB", size, PAPER)
        self.pen = ImageDraw.Draw(image)
        for mark in drawing.still:
            self._mark(mark, (0.0, 0.0), 0.0)
        for p, part in enumerate(drawing.parts):
            taken = {what: drawing.changes[c].choices[frame[c]] for what, c in self.values[p].items()}
            if taken.get(DISPLAY, 1.0):
                self._part(part, taken)
        at = {
            "x": drawing.left + drawing.width / 2,
            "y": drawing.top + drawing.height + 0.62 * self.foot,
            "size": drawing.width / 58,
        }
        self._mark(Mark("text", "caption", at, words), (0.0, 0.0), 0.0)
        return image.reduce(FINER).quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)

    def _part(self, part: Part, taken: Mapping[str, Value]) -> None:
        moved, turned = taken.get(MOVE, (0.0, 0.0)), taken.get(TURN, 0.0)
        shift = (part.at[0] + moved[0], part.at[1] + moved[1]) if isinstance(moved, tuple) else part.at
        for mark in part.marks:
            changed = {what: value for what, value in taken.items() if what in mark.at and isinstance(value, float)}
            at = {**mark.at, **changed}
            self._mark(Mark(mark.kind, mark.look, at, mark.words, mark.points, mark.dashes), shift, _number(turned))

    def _on(self, x: float, y: float, shift: tuple[float, float], turn: float) -> tuple[float, float]:
        """Where a point of a mark lies in the picture."""
        c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        x, y = shift[0] + c * x - s * y, shift[1] + s * x + c * y
        return (x - self.drawing.left) * self.scale, (y - self.drawing.top) * self.scale

    def _mark(self, mark: Mark, shift: tuple[float, float], turn: float) -> None:
        fill, stroke = COLOURS.get(mark.look, (INK, None))
        wide = max(1, round(mark.at.get("wide", 1.0) * self.scale))
        if mark.kind == "rect" and (fill or stroke):
            self._rect(mark, shift, fill, stroke)
        elif mark.kind == "circle":
            (x, y), r = self._on(mark.at["cx"], mark.at["cy"], shift, 0.0), mark.at["r"] * self.scale
            self.pen.ellipse((x - r, y - r, x + r, y + r), fill)
        elif mark.kind == "polygon":
            self.pen.polygon([self._on(x, y, shift, turn) for x, y in mark.points], fill)
        elif mark.kind == "text":
            self._text(mark, shift, fill or INK)
        elif mark.kind == "line" and stroke:
            for start, end in _dashes(mark):
                self.pen.line([self._on(*start, shift, turn), self._on(*end, shift, turn)], stroke, wide)

    def _rect(self, mark: Mark, shift: tuple[float, float], fill: str | None, stroke: str | None) -> None:
        x, y = self._on(mark.at["x"], mark.at["y"], shift, 0.0)
        box = (x, y, x + mark.at["width"] * self.scale, y + mark.at["height"] * self.scale)
        self.pen.rounded_rectangle(box, mark.at.get("rx", 0.0) * self.scale, fill, stroke, max(1, round(self.scale)))

    def _text(self, mark: Mark, shift: tuple[float, float], fill: str) -> None:
        from PIL import ImageFont

        font = ImageFont.load_default(mark.at["size"] * self.scale)
        self.pen.text(self._on(mark.at["x"], mark.at["y"], shift, 0.0), mark.words, fill, font, anchor="ms")


def _number(value: Value) -> float:
    return value if isinstance(value, float) else 0.0


def _dashes(mark: Mark) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The pieces of a line."""
    x1, y1, x2, y2 = (mark.at[name] for name in ("x1", "y1", "x2", "y2"))
    length = math.hypot(x2 - x1, y2 - y1)
    if not mark.dashes or length == 0:
        return [((x1, y1), (x2, y2))] if length else []
    on, off = mark.dashes[0], mark.dashes[1]
    count = math.ceil((length - 1e-6) / (on + off))
    pieces = []
    for k in range(count):
        a, b = k * (on + off) / length, min(k * (on + off) + on, length) / length
        pieces.append(((x1 + a * (x2 - x1), y1 + a * (y2 - y1)), (x1 + b * (x2 - x1), y1 + b * (y2 - y1))))
    return pieces
