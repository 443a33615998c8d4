"""Drawing of a controller: actions of nodes, moves between them, start nodes, shares of time.

All moves from one node to another are one link. Its label names the observations that lead there, with the probability
unless it is certain. The share of time fills a node; links that are used more are thicker and darker. Rare links and
rarely used nodes are left out. The replay has a small drawing with node numbers instead of actions and without labels.
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller
from decpomdp.report.layout import XY, GraphItem, GraphLayout, Wire, depths
from decpomdp.report.markup import Markup, join, number, percent, shortened, tag
from decpomdp.report.performance import Use, moves_of
from decpomdp.report.text import RARE

MOST_NODES = 50  # larger controllers are described in words only
MOST_LABELLED = 30  # nodes in use; with more, the label of a link is its tooltip
CERTAIN = 0.995  # a choice at least this likely is named without its probability
FAINT = 0.02  # share of a node's moves below which a link is rare
IDLE = 0.0005  # share of time below which a node is left out
LINES, LONGEST = 3, 24  # lines of a label or in a box, and their characters
WIDE, NARROW = 8.2, 6.9  # pixels per character in a box and in a label
LINE, SMALL = 16.0, 13.0  # pixels per line in a box and in a label
SIDE, FOOT = 12.0, 18.0  # pixels at the sides of the words of a box, and below them
SMALL_HALF, SMALL_TALL = 16.0, 23.0  # half the width, and the height, of a box with a number only
DENSE = 1.8  # divisor of the distance of rows in a small drawing
LOOP, STEM, TIP, MARGIN = 24.0, 26.0, 4.0, 10.0  # of loops, start arrows, arrowheads, and around the graph
THINNEST, THICKEST = 0.9, 4.4  # pixels of the least and the most used wire
FAINTEST, READABLE = 0.4, 0.75  # opacity of the least used wire and of its label
NOTCH = 5.0  # pixels between the two ends of a wire at a label below its row


@dataclass(frozen=True, slots=True)
class Link:
    """All moves from one node to another."""

    source: int
    goal: int
    share: float  # of the moves that leave `source`
    flow: float  # of all moves
    words: tuple[str, ...]  # observations that lead there
    tooltip: str
    rare: bool


@dataclass(frozen=True, slots=True)
class NodeBox:
    """A node."""

    node: int
    words: tuple[str, ...]  # its actions
    share: float | None  # of the time
    start: str | None  # label of the start arrow; None: the agent does not start here


def graph_of(agent: Agent, controller: Controller, use: Use, key: str, small: bool = False) -> "GraphDrawing | None":
    """The drawing; `key` is its id in the page. None: too many nodes."""
    return None if controller.nodes > MOST_NODES else GraphDrawing(agent, controller, use, key, small)


def width_of(lines: Sequence[str], each: float) -> float:
    """Pixels of the longest line: East Asian characters are twice as wide."""
    return max((each * sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) for line in lines), default=0.0)


def boxes_of(agent: Agent, controller: Controller, use: Use) -> list[NodeBox]:
    """All nodes of a controller."""
    starts, boxes = _starts(agent, controller), []
    for i, row in enumerate(controller.action):
        likely = [a for a in np.argsort(-row, kind="stable") if row[a] >= RARE]
        words = tuple(_with_chance(agent.actions[a], row[a]) for a in likely)
        boxes.append(NodeBox(i, words, None if use.nodes is None else float(use.nodes[i]), starts.get(i)))
    return boxes


def links_of(agent: Agent, controller: Controller, use: Use) -> list[Link]:
    """All links of a controller, the most used first."""
    moves = moves_of(controller)  # [i, o, j]
    links = [_link(agent, moves[i, :, j], use, i, j) for i, j in np.argwhere(moves.max(axis=1) >= RARE).tolist()]
    return sorted(links, key=lambda link: (link.rare, -link.flow))


def _link(agent: Agent, chances: NDArray[np.float64], use: Use, i: int, j: int) -> Link:
    """The link from i to j, which observation o takes with probability chances[o]; labels omit unseen ones."""
    flow, leaving, met = float(use.moves[i, :, j].sum()), use.moves[i].sum(), use.moves[i].sum(axis=1) > 0  # [o]
    if leaving <= 0:
        met = np.ones(len(chances), bool)
    share = flow / float(leaving) if leaving > 0 else float(chances.mean())
    seen = [label for label, known in zip(agent.observations, met, strict=True) if known]
    often = f" ({percent(share)} of the moves)" if leaving > 0 else ""
    tooltip = f"{i} to {j}: {', '.join(_reasons(agent.observations, chances))}{often}"
    rare = share < FAINT or (use.nodes is not None and leaving <= 0)
    return Link(i, j, share, flow, _reasons(seen, chances[met]), tooltip, rare)


def _reasons(labels: Sequence[str], chances: NDArray[np.float64]) -> tuple[str, ...]:
    """The labels with their probabilities; "any" where all are equally likely."""
    if len(labels) > 1 and chances.min() >= RARE and np.ptp(chances) < RARE:
        return (_with_chance("any", chances[0]),)
    return tuple(_with_chance(label, p) for label, p in zip(labels, chances, strict=True) if p >= RARE)


def _with_chance(label: str, probability: float) -> str:
    return label if probability >= CERTAIN else f"{label} {percent(float(probability))}"


def _lines(words: Sequence[str]) -> tuple[str, ...]:
    """At most `LINES` lines; the others are counted."""
    few = words if len(words) <= LINES else [*words[: LINES - 1], f"+{len(words) - LINES + 1} more"]
    return tuple(shortened(line, LONGEST) for line in few)


def _starts(agent: Agent, controller: Controller) -> dict[int, str]:
    """Labels of the arrows at the nodes where the agent may start."""
    given = controller.initial_given
    if given is None or np.allclose(given, given[0]):
        row = controller.initial if given is None else given[0]
        return {i: _with_chance("start", p) for i, p in enumerate(row) if p >= RARE}
    possible = np.flatnonzero(given.max(axis=0) >= RARE).tolist()
    seen = {i: ", ".join(_reasons(agent.observations, given[:, i])) for i in possible}
    return {i: f"start on {shortened(labels, LONGEST)}" for i, labels in seen.items()}


class GraphDrawing:
    """Boxes and links with their positions."""

    def __init__(self, agent: Agent, controller: Controller, use: Use, key: str, small: bool = False) -> None:
        self.key, self.small = key, small
        self.title = f"Controller of {agent.name}: {controller.nodes} nodes"
        boxes, links = boxes_of(agent, controller, use), links_of(agent, controller, use)
        idle = _idle(boxes, links)
        self.idle = sorted(idle)  # nodes that are left out
        self.used = [box for box in boxes if box.node not in idle]
        in_use = sum(box.share is None or box.share >= IDLE for box in boxes)
        self.labelled = not small and in_use <= MOST_LABELLED
        known = [link for link in links if not idle & {link.source, link.goal}]
        shown = [link for link in known if not link.rare]
        self.rare = len(known) - len(shown)  # links between the others that are left out
        self.most = max((link.flow for link in shown), default=0.0) or 1.0
        self.loops = {link.source: link for link in shown if link.source == link.goal}
        self.laid = [link for link in shown if link.source != link.goal]
        place = {box.node: p for p, box in enumerate(self.used)}
        starts = [place[box.node] for box in self.used if box.start is not None]
        wires = [Wire(place[link.source], place[link.goal], *self._label_size(link)) for link in self.laid]
        depth = depths(len(place), starts, [(wire.source, wire.goal) for wire in wires])
        sizes = [self._extents(box) for box in self.used]
        self.layout = GraphLayout(sizes, depth, wires, DENSE if small else 1.0)
        self.at: dict[int, GraphItem] = {node: self.layout.items[p] for node, p in place.items()}
        self.width = self.layout.width + 2 * MARGIN  # pixels

    @property
    def drawn(self) -> Markup:
        """As SVG, everything from the back to the front."""
        laid = [self._laid(w, link) for w, link in enumerate(self.laid)]
        loops = [self._loop(link) for link in self.loops.values()]
        starts = [self._start(box) for box in self.used if box.start is not None]
        parts = [*laid, *loops, *starts, *map(self._box, self.used)]
        height = self.layout.height + STEM + 2 * MARGIN
        return tag(
            "svg",
            _arrowhead(self.key, 7 if self.small else 10),
            tag("g", *parts, id=self.key, class_="drawing", transform=f"translate({_xy(MARGIN, STEM + MARGIN)})"),
            class_="graph small" if self.small else "graph",
            viewBox=f"0 0 {_xy(self.width, height)}",
            width=math.ceil(self.width),
            height=math.ceil(height),
            role="img",
            aria_label=self.title,
        )

    def _label_size(self, link: Link) -> tuple[float, float]:
        """Width and height of a link's label."""
        lines = _lines(link.words) if self.labelled else ()
        return (width_of(lines, NARROW) + 8, SMALL * len(lines) + 2) if lines else (4.0, 4.0)

    def _extents(self, box: NodeBox) -> tuple[float, float, float]:
        """Space to the left and right of a box's centre, and its height."""
        half, tall, start = SMALL_HALF, SMALL_TALL, 0.0
        if not self.small:
            lines = _lines(box.words)
            half, tall = max(width_of(lines, WIDE) / 2 + SIDE, 34.0), 8 + LINE * len(lines) + FOOT
            start = width_of((box.start,), NARROW) + 10 if box.start else 0.0
        loop = self.loops.get(box.node)
        margin = 0.0 if loop is None else LOOP + self._label_size(loop)[0]
        return half, max(half + margin, start), tall

    def _laid(self, w: int, link: Link) -> Markup:
        label, route = self.layout.label(w), self.layout.route(w, TIP)
        path = _through_label(*route) if label.between else _smooth(route)
        return self._wire(link, path, label.x, label.y, "middle")

    def _loop(self, link: Link) -> Markup:
        """A link from the side of a box back to it."""
        box = self.at[link.source]
        x, y = box.x + box.left, box.y
        path = f"M{_xy(x, y - 8)}C{_xy(x + 1.05 * LOOP, y - 18)} {_xy(x + 1.05 * LOOP, y + 14)} {_xy(x + TIP, y + 8)}"
        return self._wire(link, path, x + LOOP - 2, y, "start")

    def _wire(self, link: Link, path: str, x: float, y: float, anchor: str) -> Markup:
        """An arrow, thicker if it is used more; large drawings have labels and wide invisible lines for the pointer."""
        used = math.sqrt(min(link.flow / self.most, 1.0))
        thick = THINNEST + (THICKEST - THINNEST) * used * (0.7 if self.small else 1.0)
        wire = {"d": path, "marker_end": f"url(#{self.key}-head)", "stroke_width": f"{thick:.2f}"}
        parts = [tag("path", class_="wire", opacity=f"{FAINTEST + (1 - FAINTEST) * used:.2f}", **wire)]
        if not self.small:
            parts += [tag("title", link.tooltip), tag("path", class_="reach", d=path)]
        if self.labelled and link.words:
            label = _label(_lines(link.words), *self._label_size(link), x, y, anchor)
            parts += [tag("g", label, opacity=f"{READABLE + (1 - READABLE) * used:.2f}")]
        return tag("g", *parts, class_="link", data_from=link.source, data_to=link.goal)

    def _start(self, box: NodeBox) -> Markup:
        at = self.at[box.node]
        top = at.y - at.height / 2
        path = f"M{_xy(at.x, top - STEM)}V{number(top - TIP)}"
        arrow = tag("path", class_="wire", d=path, marker_end=f"url(#{self.key}-head)", stroke_width="1.8")
        words = None if self.small else tag("text", box.start, x=at.x + 7, y=top - 15)
        return tag("g", arrow, words, class_="start")

    def _box(self, box: NodeBox) -> Markup:
        """A node, filled by its share of the time: actions, number and share, or the number only."""
        at, share = self.at[box.node], box.share or 0.0
        x, top, width = at.x, at.y - at.height / 2, 2 * at.left
        rect = {"x": x - at.left, "y": top, "height": at.height, "rx": 5 if self.small else 9}
        time = "" if box.share is None else percent(box.share)
        if self.small:
            texts = [tag("text", box.node, class_="does", x=x, y=at.y + 4.5, text_anchor="middle")]
        else:
            words = [tag("tspan", line, x=x, y=top + 18 + LINE * p) for p, line in enumerate(_lines(box.words))]
            foot = f"{box.node} \u00b7 {time}" if time else str(box.node)
            texts = [
                tag("text", *words, class_="does", text_anchor="middle"),
                tag("text", foot, class_="foot", x=x, y=top + at.height - 7, text_anchor="middle"),
            ]
        return tag(
            "g",
            tag("title", f"node {box.node}: {', '.join(box.words)}" + (f"; {time} of the time" if time else "")),
            tag("rect", class_="body", width=width, **rect),
            tag("rect", class_="share", width=width * min(share, 1.0), **rect) if share >= IDLE else None,
            tag("rect", class_="frame", width=width, stroke_width=f"{1.1 + 1.6 * math.sqrt(share):.2f}", **rect),
            *texts,
            class_="node",
            data_node=box.node,
        )


def _idle(boxes: list[NodeBox], links: list[Link]) -> set[int]:
    """Nodes to leave out: rarely used or, if the use is unknown, unreachable from the start."""
    if boxes[0].share is not None:
        return {box.node for box in boxes if box.start is None and (box.share or 0.0) < IDLE}
    reached = [box.node for box in boxes if box.start is not None]
    for node in reached:  # grows during the loop
        reached += {link.goal for link in links if link.source == node} - set(reached)
    return {box.node for box in boxes} - set(reached)


def _arrowhead(key: str, size: int) -> Markup:
    shape = {"viewBox": "0 0 10 10", "refX": 5, "refY": 5, "markerWidth": size, "markerHeight": size, "orient": "auto"}
    head = tag("marker", tag("path", d="M0 1L9 5L0 9z"), id=f"{key}-head", markerUnits="userSpaceOnUse", **shape)
    return tag("defs", head)


def _label(lines: Sequence[str], width: float, height: float, x: float, y: float, anchor: str) -> Markup:
    """A link's label centred at (x, y), or starting there, on a background that hides the wire."""
    left, at = (x - width / 2, x) if anchor == "middle" else (x, x + 4)
    back = tag("rect", class_="back", x=left, y=y - height / 2, width=width, height=height, rx=3)
    first = y - SMALL * (len(lines) - 1) / 2 + 4
    spans = [tag("tspan", line, x=at, y=first + SMALL * place) for place, line in enumerate(lines)]
    return join([back, tag("text", *spans, text_anchor=anchor)])


def _xy(x: float, y: float) -> str:
    """A point of a path."""
    return f"{number(x)} {number(y)}"


def _smooth(points: list[XY]) -> str:
    """A path through all points, vertical at each: curves between rows, straight lines across them."""
    path = f"M{_xy(points[0][0], points[0][1])}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if abs(x1 - x0) < 0.05:
            path += f"V{number(y1)}"
        else:
            half = (y0 + y1) / 2
            path += f"C{_xy(x0, half)} {_xy(x1, half)} {_xy(x1, y1)}"
    return path


def _through_label(start: XY, top: XY, end: XY) -> str:
    """A path between two nodes of a row: down to the top of its label below them, and up again."""
    (x, y), side = top, NOTCH if end[0] >= start[0] else -NOTCH
    down, up = _smooth([start, (x - side, y)]), _smooth([(x + side, y), end])
    return f"{down}Q{_xy(x, y + NOTCH)} {up.removeprefix('M')}"
