"""An episode as one animated file: an SVG without scripts, which plays in any browser and as an image, or a GIF.

SVG: shapes move at the beginning of a step, lights switch at once; only changes are written, to keep the file small.
GIF: drawn by Pillow (`pip install decpomdp[data]`) at twice the size and then reduced, for smooth edges.
"""

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decpomdp.core import InputError
from decpomdp.report.drawing import DISPLAY, MOVE, TURN, ChangeValue, Film, Mark, Part, view_box
from decpomdp.report.markup import NO_XML, Markup, join, light, number, own_file, shortened, tag, trusted
from decpomdp.report.replay import Replay

if TYPE_CHECKING:
    from PIL.Image import Image

XY = tuple[float, float]
Look = tuple[str | None, str | None]  # fill, stroke
Looks = Mapping[str, Look]  # by CSS class

WIDTH, TALLEST = 640, 900  # pixels
SECONDS = 0.8  # per step
MOVING = 0.3  # of a step, for moves
LARGEST = 4_000_000  # bytes
LONGEST = 104  # characters of a caption
FEW = 3  # agents whose actions are in the caption
FINER = 2  # factor by which a GIF is drawn larger before it is reduced


def animated_svg(replay: Replay, title: str) -> str:
    """The first episode of a replay that has a film."""
    film, captions = _film_of(replay, title), _captions(replay)
    left, top, width, height = box = _with_foot(film)
    texts = [
        _caption(film, words).markup(
            _animation(DISPLAY, [float(t == now) for now in range(len(captions))]), display="none" if t else None
        )
        for t, words in enumerate(captions)
    ]
    content = tag(
        "svg",
        tag("title", title),
        tag("style", trusted(light(own_file("scene.css")))),
        tag("rect", x=left, y=top, width=width, height=height, fill=light("var(--paper)")),
        *(shape.markup() for shape in film.still),
        *(_part(part) for part in film.parts),
        *texts,
        class_="moving",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=view_box(box),
        width=WIDTH,
        height=round(WIDTH * height / width),
    ).translate(NO_XML)
    if len(content) > LARGEST:
        raise InputError(f"animation: expected at most {LARGEST} bytes, got {len(content)} for {title}")
    return content + "\n"


def _film_of(replay: Replay, title: str) -> Film:
    if replay.film is None:
        raise InputError(f"animation: {title} has no drawing; grids (gridsmall, boxpushing, marsrovers) and streets do")
    return replay.film


def _captions(replay: Replay) -> list[str]:
    """A caption for every step of the first episode: the event and, with few agents, their actions."""
    first, agents = replay.content["episodes"][0], replay.content["agents"]
    events = replay.content["moving"]["captions"][0]
    captions = []
    for t, (reward, taken, event) in enumerate(zip(first["rewards"], first["actions"], events, strict=True)):
        acts = ", ".join(agent["actions"][a] for agent, a in zip(agents, taken, strict=True))
        done = f"{acts}; " if len(agents) <= FEW else ""
        captions.append(shortened(f"step {t}: {done}{event}; reward {reward:g}", LONGEST))
    return captions


def _with_foot(film: Film) -> tuple[float, float, float, float]:
    """The box of a film with its caption."""
    left, top, width, height = film.box
    return left, top, width, height + width / 24


def _caption(film: Film, words: str) -> Mark:
    left, top, width, height = film.box
    at = {"x": left + width / 2, "y": top + height + 0.62 * width / 24, "font-size": width / 58}
    return Mark("text", "caption", at, words)


def _part(part: Part) -> Markup:
    """A part with its animations: those of a line's ends inside the shape, a turn inside a separate group."""
    moving = {what: _animation(what, values[0]) for what, values in part.changes.items()}
    line = [moving.pop(what) for what in ("x2", "y2") if what in moving]
    turn = moving.pop(TURN, None)
    shapes = join(shape.moved(part.values(0)).markup(*line) for shape in part.shapes)
    return part.markup(shapes if turn is None else tag("g", shapes, turn), *moving.values())


def _animation(what: str, values: Sequence[ChangeValue]) -> Markup:
    """The animation of one property over all steps."""
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


def _value(what: str, value: ChangeValue) -> str:
    if isinstance(value, tuple):
        return f"{number(value[0])},{number(value[1])}"
    return ("inline" if value else "none") if what == DISPLAY else number(value)


def animated_gif(replay: Replay, title: str) -> bytes:
    """The first episode of a replay that has a film."""
    film = _film_of(replay, title)
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise InputError("a GIF needs Pillow: pip install decpomdp[data]; an animated SVG needs nothing") from None
    looks = _looks()
    pictures = [_painted(film, t, words, looks) for t, words in enumerate(_captions(replay))]
    packed = io.BytesIO()
    options: dict[str, Any] = {"duration": round(1000 * SECONDS), "loop": 0, "optimize": True}
    pictures[0].save(packed, "GIF", save_all=True, append_images=pictures[1:], **options)
    return packed.getvalue()


def _looks() -> Looks:
    """Fill and stroke of every look, from scene.css."""
    rules = re.findall(r"^\.moving \.(\S+) \{ (.*) \}$", light(own_file("scene.css")), re.MULTILINE)
    values = {look.replace(".", " "): dict(re.findall(r"(fill|stroke): (#\w+)", rule)) for look, rule in rules}
    return {look: (rule_values.get("fill"), rule_values.get("stroke")) for look, rule_values in values.items()}


def _painted(film: Film, t: int, words: str, looks: Looks) -> "Image":
    """Step t, with its caption."""
    from PIL import Image, ImageDraw

    left, top, width, height = _with_foot(film)
    scale = FINER * min(WIDTH / width, TALLEST / height)
    image = Image.new("RGB", (round(width * scale), round(height * scale)), light("var(--paper)"))
    pen = ImageDraw.Draw(image)
    for shape, shift, turn in (*film.frame(t), (_caption(film, words), (0.0, 0.0), 0.0)):
        _draw(pen, shape, looks[shape.look], scale, turn, shift, (left, top))
    return image.reduce(FINER).quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def _draw(pen: Any, shape: Mark, look: Look, scale: float, turn: float, shift: XY, origin: XY) -> None:
    """Draw one shape with Pillow, turned (lines and polygons) and shifted."""
    (fill, stroke), at = look, shape.at
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))

    def on(x: float, y: float) -> XY:
        """The place of a point of the shape in the image."""
        return (shift[0] + c * x - s * y - origin[0]) * scale, (shift[1] + s * x + c * y - origin[1]) * scale

    if shape.kind == "rect" and (fill or stroke):
        x, y = on(at["x"], at["y"])
        box = (x, y, x + at["width"] * scale, y + at["height"] * scale)
        pen.rounded_rectangle(box, at.get("rx", 0.0) * scale, fill, stroke, max(1, round(scale)))
    elif shape.kind == "circle":
        (x, y), r = on(at["cx"], at["cy"]), at["r"] * scale
        pen.ellipse((x - r, y - r, x + r, y + r), fill)
    elif shape.kind == "polygon":
        pen.polygon([on(x, y) for x, y in shape.points], fill)
    elif shape.kind == "text":
        from PIL import ImageFont

        pen.text(on(at["x"], at["y"]), shape.words, fill, ImageFont.load_default(at["font-size"] * scale), anchor="ms")
    elif shape.kind == "line":
        for start, end in _dashes(shape):
            pen.line([on(*start), on(*end)], stroke, max(1, round(at["stroke-width"] * scale)))


def _dashes(shape: Mark) -> list[tuple[XY, XY]]:
    """The pieces of a line."""
    x1, y1, x2, y2 = (shape.at[name] for name in ("x1", "y1", "x2", "y2"))
    length = math.hypot(x2 - x1, y2 - y1)
    if not shape.dashes or length == 0:
        return [((x1, y1), (x2, y2))] if length else []
    on, period = shape.dashes[0], sum(shape.dashes)
    shares = [(k * period / length, min(k * period + on, length) / length) for k in range(math.ceil(length / period))]
    return [((x1 + a * (x2 - x1), y1 + a * (y2 - y1)), (x1 + b * (x2 - x1), y1 + b * (y2 - y1))) for a, b in shares]
