"""An episode as one animated SVG that stands alone and plays in any browser, also as an image of another page.

What moves glides at the beginning of its step; lights and the like switch. Only changes are written down, so that the
file stays small; one that would not is refused.
"""

from collections.abc import Sequence
from typing import Any

from decpomdp.core import InputError
from decpomdp.report.drawing import DISPLAY, MOVE, TURN, Change, Drawing, Film, Value, mark_up, part_up
from decpomdp.report.export_svg import NO_XML
from decpomdp.report.links import shortened
from decpomdp.report.markup import Markup, number, tag, trusted
from decpomdp.report.replay import Replay

WIDTH = 640  # pixels, as it opens
SECONDS = 0.8  # of a step
GLIDE = 0.3  # of a step, for what moves
LARGEST = 4_000_000  # bytes
LONGEST = 104  # characters of a caption
FEW = 3  # agents whose actions are told

INK, PAPER = "#1d2126", "#fbfaf7"
COLOURS = {  # look -> fill, stroke
    "cell": ("#fbfaf7", "#dcdad3"), "zone": ("#efede7", None), "box": ("#c99a57", "#8a6427"),
    "site": (None, "#5b626b"), "site done": ("#d7eef0", "#0b6e75"), "tick": ("#0b6e75", None),
    "robot a0": ("#0b6e75", None), "robot a1": ("#c2571a", None), "robot a2": ("#5b4fb0", None),
    "robot a3": ("#a8761a", None), "name": ("#ffffff", None), "label": ("#5b626b", None), "onbox": ("#3d2b0d", None),
    "road": (None, "#e2dfd6"), "cars": (None, "#37506b"), "full": (None, "#b3362b"), "light": ("#23282e", None),
    "stop": (None, "#d2493c"), "go": (None, "#35c46a"), "hand": (None, None), "caption": (INK, None),
}  # fmt: skip


def animated_svg(replay: Replay, title: str) -> str:
    """The first episode of a replay that has a film."""
    film, captions = film_in(replay, title), captions_of(replay)
    drawing, frames = film.drawing, film.frames[0]
    foot = drawing.width / 24
    box = (drawing.left, drawing.top, drawing.width, drawing.height + foot)
    ground = tag("rect", x=box[0], y=box[1], width=box[2], height=box[3], fill=PAPER)
    parts = [_part(drawing, p, frames) for p in range(len(drawing.parts))]
    content = tag(
        "svg",
        tag("title", title),
        tag("style", trusted(_style())),
        ground,
        *(mark_up(mark) for mark in drawing.still),
        *parts,
        *_words(drawing, captions, foot),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=" ".join(number(value) for value in box),
        width=WIDTH,
        height=round(WIDTH * box[3] / box[2]),
    ).translate(NO_XML)
    if len(content) > LARGEST:
        raise InputError(f"animation: expected at most {LARGEST} bytes, got {len(content)}: too much moves in {title}")
    return content + "\n"


def film_in(replay: Replay, title: str) -> Film:
    """The film of a replay; InputError if the problem has no drawing."""
    if replay.film is None:
        raise InputError(f"animation: {title} has no drawing; grids (gridsmall, boxpushing, marsrovers) and streets do")
    return replay.film


def captions_of(replay: Replay) -> list[str]:
    """Words about every step of the first episode: what happens and, of few agents, what they do."""
    first, said = replay.told["episodes"][0], replay.film.captions[0] if replay.film else ()
    agents = replay.told["agents"] if len(replay.told["agents"]) <= FEW else []
    told = []
    for t, (reward, taken, words) in enumerate(zip(first["rewards"], first["actions"], said, strict=True)):
        done = ", ".join(agent["actions"][a] for agent, a in zip(agents, taken, strict=False))
        told.append(shortened(f"step {t}: {done + '; ' if done else ''}{words}; reward {reward:g}", LONGEST))
    return told


def _style() -> str:
    looks = []
    for look, (fill, stroke) in COLOURS.items():
        parts = f"fill:{fill or 'none'}" + (f";stroke:{stroke}" if stroke else "")
        looks.append(f".{look.replace(' ', '.')}{{{parts}}}")
    return "text{font-family:sans-serif;text-anchor:middle}.name{font-weight:700}" + "".join(looks)


def _part(drawing: Drawing, p: int, frames: Sequence[Sequence[int]]) -> Markup:
    part, moves, line = drawing.parts[p], [], []
    turning: list[Markup] = []
    fixed: dict[str, Any] = {}
    for c, change in enumerate(drawing.changes):
        if change.part != p:
            continue
        values = [change.choices[frame[c]] for frame in frames]
        moving = _animation(change, values)
        if change.what in ("x2", "y2"):
            line.append(moving)
            fixed[change.what] = values[0]
        elif change.what == TURN:
            turning.append(moving)
        else:
            moves.append(moving)
    if line:
        mark = part.marks[0]
        start = {name: float(value) for name, value in fixed.items()}
        still = type(mark)(mark.kind, mark.look, {**mark.at, **start}, mark.words, mark.points, mark.dashes)
        return tag("g", tag("title", part.said) if part.said else None, mark_up(still, *line), *moves)
    if turning:
        marks = [mark_up(mark) for mark in part.marks]
        shift = f"translate({number(part.at[0])} {number(part.at[1])})"
        return tag("g", *moves, tag("g", *marks, *turning), transform=shift)
    return part_up(part, False, *moves)


def _animation(change: Change, values: Sequence[Value]) -> Markup:
    """What makes one change of one part happen; what stays as it is, is set once."""
    glides = change.what not in (DISPLAY, TURN)
    times, taken = _glided(values) if glides else _switched(values)
    said = ";".join(_said(change.what, value) for value in taken)
    name = {MOVE: "transform", TURN: "transform"}.get(change.what, change.what)
    kind = {MOVE: "translate", TURN: "rotate"}.get(change.what)
    return tag(
        "animate" if kind is None else "animateTransform",
        attributeName=name,
        type=kind,
        values=said,
        keyTimes=";".join(f"{time:.4f}".rstrip("0").rstrip(".") for time in times),
        calcMode="linear" if glides else "discrete",
        dur=f"{SECONDS * len(values):g}s",
        repeatCount="indefinite",
    )


def _switched(values: Sequence[Value]) -> tuple[list[float], list[Value]]:
    changed = [t for t in range(len(values)) if t == 0 or values[t] != values[t - 1]]
    return [t / len(values) for t in changed], [values[t] for t in changed]


def _glided(values: Sequence[Value]) -> tuple[list[float], list[Value]]:
    """Where it is when a step begins in which it moves, and a little later."""
    times, taken = [0.0], [values[0]]
    for t in range(1, len(values)):
        if values[t] != values[t - 1]:
            times += [t / len(values), (t + GLIDE) / len(values)]
            taken += [values[t - 1], values[t]]
    return [*times, 1.0], [*taken, values[-1]]


def _said(what: str, value: Value) -> str:
    if isinstance(value, tuple):
        return f"{number(value[0])},{number(value[1])}"
    return ("inline" if value else "none") if what == DISPLAY else number(value)


def _words(drawing: Drawing, captions: Sequence[str], foot: float) -> list[Markup]:
    """One text per step, each seen in its own."""
    at = {"x": drawing.left + drawing.width / 2, "y": drawing.top + drawing.height + 0.62 * foot}
    size = number(drawing.width / 58)
    shown = []
    for t, words in enumerate(captions):
        switch = _animation(Change(0, DISPLAY, ()), [float(t == now) for now in range(len(captions))])
        first = None if t == 0 else "none"
        shown.append(tag("text", words, switch, class_="caption", display=first, font_size=size, **at))
    return shown
