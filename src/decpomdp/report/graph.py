"""Drawing of a controller: actions of nodes, moves between them, start nodes, shares of time.

All moves from one node to another are one link. Its label names the observations that lead there, with the probability
where it is not certain. The share of time fills a node; a link is as thick and as dark as it is used, compared with the
most used one. Rare links, and nodes that are hardly ever used, are left out. The replay has a small drawing: numbers
instead of actions, and no labels.
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller
from decpomdp.report.layout import XY, GraphLayout, Wire, depths
from decpomdp.report.markup import Markup, join, number, percent, shortened, tag
from decpomdp.report.performance import Use, moves_of
from decpomdp.report.text import RARE

MOST_NODES = 50  # larger controllers are described in words only
MOST_LABELLED = 30  # nodes in use; with more, the label of a link appears when it is pointed at
CERTAIN = 0.995  # a choice at least this likely is named without its probability
FAINT = 0.02  # share of a node's moves below which a link is rare
IDLE = 0.0005  # share of time below which a node is left out
LINES, LONGEST = 3, 24  # lines of a label or in a box, and their characters
WIDE, NARROW = 8.2, 6.9  # pixels per character in a box and in a label
LINE, SMALL = 16.0, 13.0  # pixels per line there
SIDE, FOOT = 12.0, 18.0  # pixels beside the words of a box, and below them
SMALL_HALF, SMALL_TALL = 16.0, 23.0  # half the width, and the height, of a box with a number only
DENSE = 1.8  # rows of a small drawing are so much closer
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
    labelled: bool = True

    @property
    def lines(self) -> tuple[str, ...]:
        """The label."""
        return _lines(self.words) if self.labelled else ()

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the label."""
        lines = self.lines
        return (width_of(lines, NARROW) + 8, SMALL * len(lines) + 2) if lines else (4.0, 4.0)


@dataclass(frozen=True, slots=True)
class NodeBox:
    """A node."""

    node: int
    words: tuple[str, ...]  # its actions
    share: float | None  # of the time
    start: str | None  # label of the start arrow; None: the agent does not start here
    labelled: bool = True

    @property
    def lines(self) -> tuple[str, ...]:
        """Its actions as they are drawn."""
        return _lines(self.words) if self.labelled else ()

    @property
    def tooltip(self) -> str:
        """All that is known about it."""
        time = "" if self.share is None else f"; {percent(self.share)} of the time"
        return f"node {self.node}: {', '.join(self.words)}{time}"

    @property
    def half(self) -> float:
        """Half its width."""
        return max(width_of(self.lines, WIDE) / 2 + SIDE, 34.0) if self.labelled else SMALL_HALF

    @property
    def tall(self) -> float:
        """Its height."""
        return 8 + LINE * len(self.lines) + FOOT if self.labelled else SMALL_TALL


@dataclass(frozen=True, slots=True)
class ControllerGraph:
    """A drawing."""

    drawn: Markup
    width: float  # pixels
    idle: list[int]  # nodes that are left out
    rare: int  # links between the others that are left out


def graph_of(agent: Agent, controller: Controller, use: Use, key: str, small: bool = False) -> ControllerGraph | None:
    """The drawing; `key` is its id in the page. None: too many nodes."""
    if controller.nodes > MOST_NODES:
        return None
    boxes, links = boxes_of(agent, controller, use), links_of(agent, controller, use)
    if small or sum(box.share is None or box.share >= IDLE for box in boxes) > MOST_LABELLED:
        links = [replace(link, labelled=False) for link in links]
    if small:
        boxes = [replace(box, labelled=False) for box in boxes]
    drawing = GraphDrawing(boxes, links, key)
    width, height = drawing.layout.width + 2 * MARGIN, drawing.layout.height + STEM + 2 * MARGIN
    drawn = tag(
        "svg",
        _arrowhead(key, 7 if small else 10),
        tag("g", *drawing.parts(), id=key, class_="drawing", transform=f"translate({_xy(MARGIN, STEM + MARGIN)})"),
        class_="graph small" if small else "graph",
        viewBox=f"0 0 {_xy(width, height)}",
        width=math.ceil(width),
        height=math.ceil(height),
        role="img",
        aria_label=f"Controller of {agent.name}: {controller.nodes} nodes",
    )
    return ControllerGraph(drawn, width, drawing.idle, drawing.rare)


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
    """Boxes and links with their places."""

    def __init__(self, boxes: list[NodeBox], links: list[Link], key: str) -> None:
        self.key, self.boxes, self.small = key, boxes, not boxes[0].labelled
        idle = _idle(boxes, links)
        self.idle = sorted(idle)
        self.used = [box for box in boxes if box.node not in idle]
        known = [link for link in links if not idle & {link.source, link.goal}]
        shown = [link for link in known if not link.rare]
        self.rare = len(known) - len(shown)
        self.most = max((link.flow for link in shown), default=0.0) or 1.0
        self.loops = {link.source: link for link in shown if link.source == link.goal}
        self.laid = [link for link in shown if link.source != link.goal]
        place = {box.node: p for p, box in enumerate(self.used)}
        starts = [place[box.node] for box in self.used if box.start is not None]
        depth = depths(len(place), starts, [(place[link.source], place[link.goal]) for link in self.laid])
        wires = [Wire(place[link.source], place[link.goal], *link.size) for link in self.laid]
        sizes = [self._extents(box) for box in self.used]
        self.layout = GraphLayout(sizes, depth, wires, DENSE if self.small else 1.0)
        self.at: dict[int, XY] = {node: (self.layout.items[p].x, self.layout.items[p].y) for node, p in place.items()}

    def parts(self) -> list[Markup]:
        """Everything, from the back to the front."""
        laid = [self._laid(w, link) for w, link in enumerate(self.laid)]
        loops = [self._loop(link) for link in self.loops.values()]
        starts = [self._start(box) for box in self.used if box.start is not None]
        boxes = [_box(box, *self.at[box.node]) for box in self.used]
        return [*laid, *loops, *starts, *boxes]

    def _extents(self, box: NodeBox) -> tuple[float, float, float]:
        """Room to the left and right of a box's middle, and its height."""
        loop = self.loops.get(box.node)
        beside = 0.0 if loop is None else LOOP + loop.size[0]
        start = width_of((box.start,), NARROW) + 10 if box.start and not self.small else 0.0
        return box.half, max(box.half + beside, start), box.tall

    def _laid(self, w: int, link: Link) -> Markup:
        label, route = self.layout.label(w), self.layout.route(w, TIP)
        path = _through_label(*route) if label.between else _smooth(route)
        return self._wire(link, path, _label(link, label.x, label.y, "middle"))

    def _loop(self, link: Link) -> Markup:
        x, y = self.at[link.source]
        x += self.boxes[link.source].half
        return self._wire(link, _loop_path(x, y), _label(link, x + LOOP - 2, y, "start"))

    def _wire(self, link: Link, path: str, label: Markup | None) -> Markup:
        """An arrow as thick as it is used; a large drawing has a wide invisible one to point at, and a label."""
        used = math.sqrt(min(link.flow / self.most, 1.0))
        thick = THINNEST + (THICKEST - THINNEST) * used * (0.7 if self.small else 1.0)
        wire = {"d": path, "marker_end": f"url(#{self.key}-head)", "stroke_width": f"{thick:.2f}"}
        parts = [tag("path", class_="wire", opacity=f"{FAINTEST + (1 - FAINTEST) * used:.2f}", **wire)]
        if not self.small:
            parts += [tag("title", link.tooltip), tag("path", class_="reach", d=path)]
        if label is not None:
            parts += [tag("g", label, opacity=f"{READABLE + (1 - READABLE) * used:.2f}")]
        return tag("g", *parts, class_="link", data_from=link.source, data_to=link.goal)

    def _start(self, box: NodeBox) -> Markup:
        x, y = self.at[box.node]
        top = y - box.tall / 2
        path = f"M{_xy(x, top - STEM)}V{number(top - TIP)}"
        arrow = tag("path", class_="wire", d=path, marker_end=f"url(#{self.key}-head)", stroke_width="1.8")
        words = None if self.small else tag("text", box.start, x=x + 7, y=top - 15)
        return tag("g", arrow, words, class_="start")


def _idle(boxes: list[NodeBox], links: list[Link]) -> set[int]:
    """Nodes to leave out: hardly ever used or, where that is not known, not reachable from the start."""
    if boxes[0].share is not None:
        return {box.node for box in boxes if box.start is None and (box.share or 0.0) < IDLE}
    reached = [box.node for box in boxes if box.start is not None]
    for node in reached:  # grows while it is walked
        reached += {link.goal for link in links if link.source == node} - set(reached)
    return {box.node for box in boxes} - set(reached)


def _arrowhead(key: str, size: int) -> Markup:
    shape = {"viewBox": "0 0 10 10", "refX": 5, "refY": 5, "markerWidth": size, "markerHeight": size, "orient": "auto"}
    head = tag("marker", tag("path", d="M0 1L9 5L0 9z"), id=f"{key}-head", markerUnits="userSpaceOnUse", **shape)
    return tag("defs", head)


def _box(box: NodeBox, x: float, y: float) -> Markup:
    """A node around (x, y), filled by its share of the time: actions, number and share, or the number only."""
    left, top, width, share = x - box.half, y - box.tall / 2, 2 * box.half, box.share or 0.0
    rect = {"x": left, "y": top, "height": box.tall, "rx": 9 if box.labelled else 5}
    if box.labelled:
        words = [tag("tspan", line, x=x, y=top + 18 + LINE * place) for place, line in enumerate(box.lines)]
        foot = str(box.node) if box.share is None else f"{box.node} \u00b7 {percent(box.share)}"
        texts = [
            tag("text", *words, class_="does", text_anchor="middle"),
            tag("text", foot, class_="foot", x=x, y=top + box.tall - 7, text_anchor="middle"),
        ]
    else:
        texts = [tag("text", box.node, class_="does", x=x, y=y + 4.5, text_anchor="middle")]
    return tag(
        "g",
        tag("title", box.tooltip),
        tag("rect", class_="body", width=width, **rect),
        tag("rect", class_="share", width=width * min(share, 1.0), **rect) if share >= IDLE else None,
        tag("rect", class_="frame", width=width, stroke_width=f"{1.1 + 1.6 * math.sqrt(share):.2f}", **rect),
        *texts,
        class_="node",
        data_node=box.node,
    )


def _label(link: Link, x: float, y: float, anchor: str) -> Markup | None:
    """A link's label around (x, y), or from there on, on a ground that hides the wire below."""
    lines = link.lines
    if not lines:
        return None
    width, height = link.size
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


def _loop_path(x: float, y: float) -> str:
    """A path from the side of a box at (x, y) back to it."""
    path = f"M{_xy(x, y - 8)}C{_xy(x + 1.05 * LOOP, y - 18)} "
    return path + f"{_xy(x + 1.05 * LOOP, y + 14)} {_xy(x + TIP, y + 8)}"
