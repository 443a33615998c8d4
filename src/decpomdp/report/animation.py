"""An episode as one animated file: an SVG without scripts, which plays in any browser and as an image, or a GIF.

SVG: moves take the beginning of their step, lights switch; only changes are written, so that the file stays small. GIF:
painted by Pillow (`pip install decpomdp[data]`) at twice the size and reduced, which smooths the edges.
"""

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decpomdp.core import InputError
from decpomdp.report.drawing import DISPLAY, MOVE, TURN, Drawing, Film, Frame, Part, Shape, Value
from decpomdp.report.markup import NO_XML, Markup, join, number, shortened, tag, trusted
from decpomdp.report.replay import Replay

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, TALLEST = 640, 900  # pixels
SECONDS = 0.8  # per step
MOVING = 0.3  # of a step, for moves
LARGEST = 4_000_000  # bytes
LONGEST = 104  # characters of a caption
FEW = 3  # agents whose actions are in the caption
FINER = 2  # a GIF is painted so many times as large

INK, PAPER = "#1d2126", "#fbfaf7"
COLOURS: dict[str, tuple[str | None, str | None]] = {  # look -> fill, stroke
    "cell": ("#fbfaf7", "#dcdad3"), "zone": ("#efede7", None), "box": ("#c99a57", "#8a6427"),
    "site": (None, "#5b626b"), "site done": ("#d7eef0", "#0b6e75"), "tick": ("#0b6e75", None),
    "robot a0": ("#0b6e75", None), "robot a1": ("#c2571a", None), "robot a2": ("#5b4fb0", None),
    "robot a3": ("#a8761a", None), "name": ("#ffffff", None), "label": ("#5b626b", None), "onbox": ("#3d2b0d", None),
    "road": (None, "#e2dfd6"), "cars": (None, "#37506b"), "full": (None, "#b3362b"), "light": ("#23282e", None),
    "stop": (None, "#d2493c"), "go": (None, "#35c46a"), "hand": (None, None), "caption": (INK, None),
}  # fmt: skip


def animated_svg(replay: Replay, title: str) -> str:
    """The first episode of a replay that has a film."""
    film = _film(replay, title)
    drawing, captions = film.drawing, _captions(replay, film)
    foot = _foot(drawing)
    box = (drawing.left, drawing.top, drawing.width, drawing.height + foot)
    texts = [
        _caption(drawing, words).markup(
            _animation(DISPLAY, [float(t == now) for now in range(len(captions))]), display="none" if t else None
        )
        for t, words in enumerate(captions)
    ]
    looks = (
        f".{look.replace(' ', '.')}{{fill:{fill or 'none'}{f';stroke:{stroke}' if stroke else ''}}}"
        for look, (fill, stroke) in COLOURS.items()
    )
    style = "text{font-family:sans-serif;text-anchor:middle}.name{font-weight:700}" + "".join(looks)
    content = tag(
        "svg",
        tag("title", title),
        tag("style", trusted(style)),
        tag("rect", x=box[0], y=box[1], width=box[2], height=box[3], fill=PAPER),
        *(shape.markup() for shape in drawing.still),
        *(_part(drawing, p, film.frames[0]) for p in range(len(drawing.parts))),
        *texts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=" ".join(number(value) for value in box),
        width=WIDTH,
        height=round(WIDTH * box[3] / box[2]),
    ).translate(NO_XML)
    if len(content) > LARGEST:
        raise InputError(f"animation: expected at most {LARGEST} bytes, got {len(content)}: too much moves in {title}")
    return content + "\n"


def _film(replay: Replay, title: str) -> Film:
    if replay.film is None:
        raise InputError(f"animation: {title} has no drawing; grids (gridsmall, boxpushing, marsrovers) and streets do")
    return replay.film


def _captions(replay: Replay, film: Film) -> list[str]:
    """A caption for every step of the first episode: the event and, with few agents, their actions."""
    first, agents = replay.content["episodes"][0], replay.content["agents"]
    captions = []
    for t, (reward, taken, words) in enumerate(zip(first["rewards"], first["actions"], film.captions[0], strict=True)):
        acts = ", ".join(agent["actions"][a] for agent, a in zip(agents, taken, strict=True))
        done = f"{acts}; " if len(agents) <= FEW else ""
        captions.append(shortened(f"step {t}: {done}{words}; reward {reward:g}", LONGEST))
    return captions


def _foot(drawing: Drawing) -> float:
    return drawing.width / 24


def _caption(drawing: Drawing, words: str) -> Shape:
    at = {"x": drawing.left + drawing.width / 2, "y": drawing.top + drawing.height + 0.62 * _foot(drawing)}
    return Shape("text", "caption", {**at, "size": drawing.width / 58}, words)


def _part(drawing: Drawing, p: int, frames: Sequence[Frame]) -> Markup:
    """A part with all that moves it: a line's ends inside its shape, a turn inside a group of its own."""
    part, own = drawing.parts[p], [(c, change) for c, change in enumerate(drawing.changes) if change.part == p]
    values = {change.what: [change.choices[frame[c]] for frame in frames] for c, change in own}
    moving = {what: _animation(what, taken) for what, taken in values.items()}
    line = [moving.pop(what) for what in ("x2", "y2") if what in moving]
    turn = moving.pop(TURN, None)
    start = {what: taken[0] for what, taken in values.items()}
    shapes: Markup = join(shape.moved(start).markup(*line) for shape in part.shapes)
    return part.markup(shapes if turn is None else tag("g", shapes, turn), *moving.values())


def _animation(what: str, values: Sequence[Value]) -> Markup:
    """Makes one change happen, step by step."""
    moves = what not in (DISPLAY, TURN)
    times, taken = [0.0], [values[0]]
    for t in range(1, len(values)):
        if values[t] != values[t - 1]:
            times += [t / len(values), (t + MOVING) / len(values)] if moves else [t / len(values)]
            taken += [values[t - 1], values[t]] if moves else [values[t]]
    if moves:
        times, taken = [*times, 1.0], [*taken, values[-1]]
    kind = {MOVE: "translate", TURN: "rotate"}.get(what)
    return tag(
        "animateTransform" if kind else "animate",
        attributeName="transform" if kind else what,
        type=kind,
        values=";".join(_value(what, value) for value in taken),
        keyTimes=";".join(f"{time:.4f}".rstrip("0").rstrip(".") for time in times),
        calcMode="linear" if moves else "discrete",
        dur=f"{SECONDS * len(values):g}s",
        repeatCount="indefinite",
    )


def _value(what: str, value: Value) -> str:
    if isinstance(value, tuple):
        return f"{number(value[0])},{number(value[1])}"
    return ("inline" if value else "none") if what == DISPLAY else number(value)


def animated_gif(replay: Replay, title: str) -> bytes:
    """The first episode of a replay that has a film."""
    film = _film(replay, title)
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise InputError("a GIF needs Pillow: pip install decpomdp[data]; an animated SVG needs nothing") from None
    painter = _Painter(film.drawing)
    frames = zip(film.frames[0], _captions(replay, film), strict=True)
    pictures = [painter.paint(frame, words) for frame, words in frames]
    packed = io.BytesIO()
    options: dict[str, Any] = {"duration": round(1000 * SECONDS), "loop": 0, "optimize": True}
    pictures[0].save(packed, "GIF", save_all=True, append_images=pictures[1:], **options)
    return packed.getvalue()


class _Painter:
    """Paints frames of one drawing."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing, self.height = drawing, drawing.height + _foot(drawing)
        self.scale = FINER * min(WIDTH / drawing.width, TALLEST / self.height)
        self.pen: Any = None

    def paint(self, frame: Frame, words: str) -> "Image":
        """One frame, with its caption."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", (round(self.drawing.width * self.scale), round(self.height * self.scale)), PAPER)
        self.pen = ImageDraw.Draw(image)
        values: list[dict[str, Any]] = [{} for _ in self.drawing.parts]
        for change, place in zip(self.drawing.changes, frame, strict=True):
            values[change.part][change.what] = change.choices[place]
        for shape in self.drawing.still:
            self._shape(shape, (0.0, 0.0), 0.0)
        for part, taken in zip(self.drawing.parts, values, strict=True):
            if taken.get(DISPLAY, 1.0):
                self._part(part, taken)
        self._shape(_caption(self.drawing, words), (0.0, 0.0), 0.0)
        return image.reduce(FINER).quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)

    def _part(self, part: Part, taken: Mapping[str, Any]) -> None:
        x, y = taken.get(MOVE, (0.0, 0.0))
        for shape in part.shapes:
            self._shape(shape.moved(taken), (part.at[0] + x, part.at[1] + y), taken.get(TURN, 0.0))

    def _on(self, x: float, y: float, shift: tuple[float, float], turn: float = 0.0) -> tuple[float, float]:
        """Where a point of a shape lies in the picture."""
        c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        x, y = shift[0] + c * x - s * y, shift[1] + s * x + c * y
        return (x - self.drawing.left) * self.scale, (y - self.drawing.top) * self.scale

    def _shape(self, shape: Shape, shift: tuple[float, float], turn: float) -> None:
        (fill, stroke), at, scale = COLOURS[shape.look], shape.at, self.scale
        if shape.kind == "rect" and (fill or stroke):
            x, y = self._on(at["x"], at["y"], shift)
            box = (x, y, x + at["width"] * scale, y + at["height"] * scale)
            self.pen.rounded_rectangle(box, at.get("rx", 0.0) * scale, fill, stroke, max(1, round(scale)))
        elif shape.kind == "circle":
            (x, y), r = self._on(at["cx"], at["cy"], shift), at["r"] * scale
            self.pen.ellipse((x - r, y - r, x + r, y + r), fill)
        elif shape.kind == "polygon":
            self.pen.polygon([self._on(x, y, shift, turn) for x, y in shape.points], fill)
        elif shape.kind == "text":
            from PIL import ImageFont

            font = ImageFont.load_default(at["size"] * scale)
            self.pen.text(self._on(at["x"], at["y"], shift), shape.words, fill, font, anchor="ms")
        elif shape.kind == "line":
            for start, end in _dashes(shape):
                ends = [self._on(*start, shift, turn), self._on(*end, shift, turn)]
                self.pen.line(ends, stroke, max(1, round(at["wide"] * scale)))


def _dashes(shape: Shape) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The pieces of a line."""
    x1, y1, x2, y2 = (shape.at[name] for name in ("x1", "y1", "x2", "y2"))
    length = math.hypot(x2 - x1, y2 - y1)
    if not shape.dashes or length == 0:
        return [((x1, y1), (x2, y2))] if length else []
    on, period = shape.dashes[0], sum(shape.dashes)
    shares = [(k * period / length, min(k * period + on, length) / length) for k in range(math.ceil(length / period))]
    return [((x1 + a * (x2 - x1), y1 + a * (y2 - y1)), (x1 + b * (x2 - x1), y1 + b * (y2 - y1))) for a, b in shares]
