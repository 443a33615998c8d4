"""The marks of a controller's graph: boxes, arrows, loops, words; and how much room they take."""

import math
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from decpomdp.report.links import Box, Link, percent
from decpomdp.report.markup import Markup, join, number, tag

WIDE, NARROW = 8.2, 6.9  # pixels per character in a box and beside a link
LINE, SMALL = 16.0, 13.0  # pixels per line there
SIDE, FOOT = 12.0, 22.0  # pixels beside the words of a box, and below them
LOOP = 24.0  # pixels that a loop stands out
FAINTEST, READABLE = 0.3, 0.68  # how much of the least used arrow and of its words is seen
STEM = 26.0  # pixels of the arrow at the start

Point = tuple[float, float]


def width_of(lines: Sequence[str], each: float) -> float:
    """Pixels of the longest line: East Asian characters are twice as wide."""
    return max((each * sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) for line in lines), default=0.0)


def half_of(box: Box) -> float:
    """Half the width of a box."""
    return max(width_of(box.words, WIDE) / 2 + SIDE, 34.0)


def tall_of(box: Box) -> float:
    """The height of a box."""
    return 8 + LINE * len(box.words) + FOOT


def label_size(link: Link) -> tuple[float, float]:
    """Width and height of a link's words."""
    return (width_of(link.words, NARROW) + 8, SMALL * len(link.words) + 2) if link.words else (4.0, 4.0)


def head_mark(key: str) -> Markup:
    """The head of all arrows of a graph."""
    shape = {"viewBox": "0 0 8 8", "refX": 7, "refY": 4, "markerWidth": 8, "markerHeight": 8, "orient": "auto"}
    head = tag("marker", tag("path", d="M0 0L8 4L0 8z"), id=f"{key}-head", markerUnits="userSpaceOnUse", **shape)
    return tag("defs", head)


def box_mark(box: Box, x: float, y: float) -> Markup:
    """A node around (x, y): what it does, its number and its share of the time."""
    half, tall = half_of(box), tall_of(box)
    top, foot = y - tall / 2, str(box.node) if box.share is None else f"{box.node} \u00b7 {percent(box.share)}"
    words = [tag("tspan", line, x=x, y=top + 19 + LINE * place) for place, line in enumerate(box.words)]
    return tag(
        "g",
        tag("title", box.told),
        tag("rect", class_="body", x=x - half, y=top, width=2 * half, height=tall, rx=9),
        tag("text", *words, class_="does", text_anchor="middle"),
        tag("text", foot, class_="foot", x=x, y=top + tall - 11, text_anchor="middle"),
        None if box.share is None else _share(box.share, x, top + tall - 7, 2 * (half - 8)),
        class_="node",
        data_node=box.node,
    )


def start_mark(words: str, x: float, y: float, key: str) -> Markup:
    """The arrow to a node whose top is at (x, y)."""
    path = f"M{number(x)} {number(y - STEM)}V{number(y - 1)}"
    arrow = tag("path", class_="wire", d=path, marker_end=f"url(#{key}-head)", stroke_width="1.8")
    return tag("g", arrow, tag("text", words, x=x + 7, y=y - 15), class_="start")


def link_mark(link: Link, path: str, words: Markup | None, key: str) -> Markup:
    """An arrow, the fainter the less it is used, with a wide unseen one to point at; its words stay readable."""
    seen = math.sqrt(min(max(link.share, 0.0), 1.0))
    wire = {"d": path, "marker_end": f"url(#{key}-head)", "stroke_width": f"{1 + link.share:.2f}"}
    parts = (
        tag("title", link.told),
        tag("path", class_="reach", d=path),
        tag("path", class_="wire", opacity=f"{FAINTEST + (1 - FAINTEST) * seen:.2f}", **wire),
        None if words is None else tag("g", words, opacity=f"{READABLE + (1 - READABLE) * seen:.2f}"),
    )
    return tag("g", *parts, class_="link", data_from=link.source, data_to=link.goal)


def rare_mark(link: Link, path: str) -> Markup:
    """A link that is shown only when asked for."""
    return tag("path", tag("title", link.told), d=path)


def words_mark(link: Link, x: float, y: float, anchor: str) -> Markup | None:
    """A link's words around (x, y), or from there on, on a ground that hides the curve below."""
    if not link.words:
        return None
    width, height = label_size(link)
    left, at = (x - width / 2, x) if anchor == "middle" else (x, x + 4)
    back = tag("rect", class_="back", x=left, y=y - height / 2, width=width, height=height, rx=3)
    first = y - SMALL * (len(link.words) - 1) / 2 + 4
    lines = [tag("tspan", line, x=at, y=first + SMALL * place) for place, line in enumerate(link.words)]
    return join([back, tag("text", *lines, text_anchor=anchor)])


def smooth(points: list[Point]) -> str:
    """A path through all points, upright at each: between two rows a curve, across a row a straight line."""
    path = f"M{number(points[0][0])} {number(points[0][1])}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(x1 - x0) < 0.05:
            path += f"V{number(y1)}"
        else:
            half = (y0 + y1) / 2
            path += f"C{number(x0)} {number(half)} {number(x1)} {number(half)} {number(x1)} {number(y1)}"
    return path


def bowl(points: list[Point]) -> str:
    """A path down to just above the words between two nodes of a row, and up again."""
    (x0, y0), (xm, ym), (x1, y1) = points
    path = f"M{number(x0)} {number(y0)}C{number(x0)} {number(ym)} {number((x0 + xm) / 2)} {number(ym)} "
    return path + f"{number(xm)} {number(ym)}S{number(x1)} {number(ym)} {number(x1)} {number(y1)}"


def loop(x: float, y: float) -> str:
    """A path from the side of a box at (x, y) back to it."""
    path = f"M{number(x)} {number(y - 9)}C{number(x + LOOP)} {number(y - 22)} "
    return path + f"{number(x + LOOP)} {number(y + 22)} {number(x)} {number(y + 9)}"


def arc(start: Point, end: Point) -> str:
    """A path that bends a little to one side, so that the way back is another one."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    bend = min(60.0, 0.25 * length) / length
    xm, ym = (x0 + x1) / 2 - bend * (y1 - y0), (y0 + y1) / 2 + bend * (x1 - x0)
    return f"M{number(x0)} {number(y0)}Q{number(xm)} {number(ym)} {number(x1)} {number(y1)}"


def _share(share: float, x: float, y: float, wide: float) -> Markup:
    left, long = x - wide / 2, max(wide * min(share, 1.0), 1.0)
    track = tag("rect", class_="track", x=left, y=y, width=wide, height=3, rx=1.5)
    return join([track, tag("rect", class_="share", x=left, y=y, width=long, height=3, rx=1.5)])
