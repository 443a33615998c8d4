"""A controller as a picture: what every node does, on what it moves where, where it starts, how long it stays."""

import math
from dataclasses import dataclass, replace

from decpomdp.core import Agent, Controller
from decpomdp.report import marks
from decpomdp.report.layers import Wire, depths, laid_out
from decpomdp.report.links import Box, Link, boxes_of, links_of
from decpomdp.report.marks import NARROW, Point, half_of, label_size, tall_of
from decpomdp.report.markup import Markup, number, tag
from decpomdp.report.rows import Thing
from decpomdp.report.use import Use

MOST_NODES = 50  # more are told in words alone
MOST_LABELLED = 24  # nodes; with more, the words of a link appear when it is pointed at
START = marks.STEM + 10  # pixels above the first row
MARGIN = 10.0
STAGGER = 4  # links within a row that run at heights of their own


@dataclass(frozen=True, slots=True)
class Graph:
    """A drawing."""

    drawn: Markup
    width: float  # pixels
    rare: int  # links that are shown only when asked for


def graph_of(agent: Agent, controller: Controller, use: Use, key: str) -> Graph | None:
    """The drawing; `key` is its name in the page. None: too large to be of help."""
    if controller.nodes > MOST_NODES:
        return None
    boxes, links = boxes_of(agent, controller, use), links_of(agent, controller, use)
    if len(boxes) > MOST_LABELLED:
        links = [replace(link, words=()) for link in links]
    drawing = _Drawing(boxes, links, key)
    width, height = drawing.layout.width + 2 * MARGIN, drawing.layout.height + START + MARGIN
    drawn = tag(
        "svg",
        marks.head_mark(key),
        tag("g", *drawing.parts(), id=key, class_="drawing", transform=f"translate({number(MARGIN)} {number(START)})"),
        class_="graph",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=math.ceil(width),
        height=math.ceil(height),
        role="img",
        aria_label=f"Controller of {agent.name}: {controller.nodes} nodes",
    )
    return Graph(drawn, width, sum(link.rare for link in links))


class _Drawing:
    """Boxes and links with their places."""

    def __init__(self, boxes: list[Box], links: list[Link], key: str) -> None:
        self.boxes, self.key = boxes, key
        self.rare = [link for link in links if link.rare]
        self.loops = {link.source: link for link in links if link.source == link.goal and not link.rare}
        self.laid = [link for link in links if link.source != link.goal and not link.rare]
        starts = [box.node for box in boxes if box.start]
        depth = depths(len(boxes), starts, [(link.source, link.goal) for link in links])
        wires = [Wire(link.source, link.goal, *label_size(link)) for link in self.laid]
        self.layout = laid_out([self._extents(box) for box in boxes], depth, wires)
        self.things, self.tops, self.heights = self.layout.things, self.layout.tops, self.layout.heights
        self.ports = self._ports()

    def parts(self) -> list[Markup]:
        """Everything, from the back to the front."""
        rare = [marks.rare_mark(link, self._rare_path(link)) for link in self.rare]
        laid = [self._laid(w, link) for w, link in enumerate(self.laid)]
        loops = [self._loop(link) for link in self.loops.values()]
        starts = [self._start(box) for box in self.boxes if box.start]
        boxes = [marks.box_mark(box, *self._middle(box.node)) for box in self.boxes]
        return [tag("g", *rare, class_="rare"), *laid, *loops, *starts, *boxes]

    def _extents(self, box: Box) -> tuple[float, float, float]:
        """Room to the left and right of a box's middle, and its height."""
        half, loop = half_of(box), self.loops.get(box.node)
        beside = 0.0 if loop is None else marks.LOOP + label_size(loop)[0]
        start = marks.width_of((box.start,), NARROW) + 10 if box.start else 0.0
        return half, max(half + beside, start), tall_of(box)

    def _ports(self) -> dict[tuple[int, int], float]:
        """(wire, node) -> x: where wires meet their nodes, spread along the side and in order."""
        sides: dict[tuple[int, bool], list[tuple[float, int]]] = {}
        for w, link in enumerate(self.laid):
            chain = self.layout.chains[w]
            for node, first in ((link.source, chain[0]), (link.goal, chain[-1])):
                below = self.things[first].rank > self.things[node].rank
                sides.setdefault((node, below), []).append((self.things[first].x, w))
        ports = {}
        for (node, _), met in sides.items():
            room = 1.5 * half_of(self.boxes[node])
            for place, (_, w) in enumerate(sorted(met)):
                ports[w, node] = self.things[node].x + room * ((place + 1) / (len(met) + 1) - 0.5)
        return ports

    def _middle(self, node: int) -> Point:
        thing = self.things[node]
        return thing.x, self.tops[thing.rank] + self.heights[thing.rank] / 2

    def _end(self, w: int, node: int, beside: Thing) -> Point:
        """Where a wire meets a node: below it if that is where it goes on."""
        side = 1 if beside.rank > self.things[node].rank else -1
        return self.ports[w, node], self._middle(node)[1] + side * tall_of(self.boxes[node]) / 2

    def _laid(self, w: int, link: Link) -> Markup:
        chain = [self.things[place] for place in self.layout.chains[w]]
        words = self.things[self.layout.labels[w]]
        top, height = self.tops[words.rank], self.heights[words.rank]
        start, end = self._end(w, link.source, chain[0]), self._end(w, link.goal, chain[-1])
        if self.things[link.source].rank == self.things[link.goal].rank:
            path = marks.bowl([start, (words.x, top - 3 - 4 * (w % STAGGER)), end])
            said = marks.words_mark(link, words.x, top + words.height / 2, "middle")
        else:
            path = marks.smooth([start, *self._bends(chain, chain[0].rank > self.things[link.source].rank), end])
            said = marks.words_mark(link, words.x, top + height / 2, "middle")
        return marks.link_mark(link, path, said, self.key)

    def _bends(self, chain: list[Thing], down: bool) -> list[Point]:
        """Where a wire enters and leaves the rows that it crosses."""
        points = []
        for thing in chain:
            top = self.tops[thing.rank]
            ends = [(thing.x, top), (thing.x, top + self.heights[thing.rank])]
            points += ends if down else ends[::-1]
        return points

    def _side(self, node: int) -> Point:
        x, y = self._middle(node)
        return x + half_of(self.boxes[node]), y

    def _loop(self, link: Link) -> Markup:
        x, y = self._side(link.source)
        words = marks.words_mark(link, x + marks.LOOP - 2, y, "start")
        return marks.link_mark(link, marks.loop(x, y), words, self.key)

    def _rare_path(self, link: Link) -> str:
        if link.source == link.goal:
            return marks.loop(*self._side(link.source))
        return marks.arc(self._middle(link.source), self._middle(link.goal))

    def _start(self, box: Box) -> Markup:
        x, y = self._middle(box.node)
        return marks.start_mark(box.start or "", x, y - tall_of(box) / 2, self.key)
