"""What the graph of a controller says: boxes that do something, and links that say on what they are followed.

All moves from one node to another are one link. Its words are the observations that lead there, with the probability
where it is not sure. A link is `rare` if hardly any use of its node goes that way: those are drawn faintly, and only
when asked for.
"""

from dataclasses import dataclass

import numpy as np

from decpomdp.core import Agent, Controller
from decpomdp.report.text import RARE
from decpomdp.report.use import Use, moves_of

SURE = 0.995  # a choice at least this likely is said without its probability
FAINT = 0.02  # share of a node's moves below which a link is rare
LINES = 3  # lines of words beside a link or in a box
LONGEST = 24  # characters of a line
ROUNDING = 1e-9  # shares are sums of many numbers


@dataclass(frozen=True, slots=True)
class Link:
    """All moves from one node to another."""

    source: int
    goal: int
    share: float  # of the moves that leave `source` in use
    words: tuple[str, ...]  # short, for the drawing
    told: str  # everything, for whoever points at it
    rare: bool


@dataclass(frozen=True, slots=True)
class Box:
    """A node."""

    node: int
    words: tuple[str, ...]  # what it does
    told: str
    share: float | None  # of the time
    start: str | None  # words for the start arrow; None: the agent does not start here


def boxes_of(agent: Agent, controller: Controller, use: Use) -> list[Box]:
    """All nodes of a controller."""
    starts = _starts(agent, controller)
    return [_box(agent, controller, use, i, starts.get(i)) for i in range(controller.nodes)]


def links_of(agent: Agent, controller: Controller, use: Use) -> list[Link]:
    """All links of a controller: the likely ones first, so that the others follow the layout they make."""
    moves = moves_of(controller)  # [i, o, j]
    links = [
        _link(agent, moves, use, i, j)
        for i in range(controller.nodes)
        for j in range(controller.nodes)
        if moves[i, :, j].max() >= RARE
    ]
    return sorted(links, key=lambda link: link.rare)


def percent(share: float) -> str:
    """A share for people.

    >>> [percent(share) for share in (0.25, 0.012, 0.0004, 0.0, 0.9999, 1 - 1e-12)]
    ['25%', '1.2%', '<0.1%', '0%', '>99.9%', '100%']
    """
    if share <= ROUNDING or share >= 1 - ROUNDING:
        return f"{share:.0%}"
    if share < 0.001:
        return "<0.1%"
    if share > 0.999:
        return ">99.9%"
    return f"{100 * share:.0f}%" if share >= 0.0995 else f"{100 * share:.1f}%"


def shortened(words: str, longest: int = LONGEST) -> str:
    """The words, or their beginning and their end: long names often differ there only.

    >>> shortened("a-rather-long-name-of-an-observation-1", 20)
    'a-rather-long\u2026tion-1'
    """
    end = longest // 3
    return words if len(words) <= longest else words[: longest - 1 - end] + "\u2026" + words[len(words) - end :]


def _box(agent: Agent, controller: Controller, use: Use, i: int, start: str | None) -> Box:
    order = np.argsort(-controller.action[i], kind="stable")
    chosen = [(agent.actions[a], float(controller.action[i, a])) for a in order if controller.action[i, a] >= RARE]
    said = [name if p >= SURE else f"{shortened(name, LONGEST - 5)} {percent(p)}" for name, p in chosen]
    share = None if use.nodes is None else float(use.nodes[i])
    time = "" if share is None else f"; {percent(share)} of the time"
    told = f"node {i}: " + ", ".join(f"{name} {percent(p)}" for name, p in chosen) + time
    return Box(i, _lines(said), told, share, start)


def _link(agent: Agent, moves: np.ndarray, use: Use, i: int, j: int) -> Link:
    leaving, seen = use.moves[i].sum(), use.moves[i].sum(axis=1) > 0  # [o]
    share = float(use.moves[i, :, j].sum() / leaving) if leaving > 0 else float(moves[i, :, j].mean())
    leading = [o for o in range(len(agent.observations)) if moves[i, o, j] >= RARE]
    met = [o for o in leading if seen[o]] if leaving > 0 else leading
    told = f"{i} to {j}: " + ", ".join(_said(agent.observations[o], moves[i, o, j]) for o in leading)
    others = [] if leaving <= 0 else [o for o in range(len(agent.observations)) if seen[o]]
    possible = others or list(range(len(agent.observations)))
    everything = len(possible) > 1 and met == possible and all(moves[i, o, j] >= SURE for o in met)
    if everything:
        words: tuple[str, ...] = ("any",)
    else:
        words = _lines([_said(agent.observations[o], moves[i, o, j]) for o in met])
    chance = f" ({percent(share)} of the moves)" if leaving > 0 else ""
    return Link(i, j, share, words, told + chance, share < FAINT)


def _said(label: str, probability: float) -> str:
    if probability >= SURE:
        return label
    return f"{shortened(label, LONGEST - 5)} {percent(float(probability))}"


def _lines(words: list[str]) -> tuple[str, ...]:
    """At most `LINES` lines; what does not fit is counted."""
    kept = words if len(words) <= LINES else [*words[: LINES - 1], f"+{len(words) - LINES + 1} more"]
    return tuple(shortened(line) for line in kept)


def _starts(agent: Agent, controller: Controller) -> dict[int, str]:
    """Words for the arrow at every node where the agent may start."""
    given = controller.initial_given
    if given is None:
        sure = {i: float(p) for i, p in enumerate(controller.initial) if p >= RARE}
        return {i: "start" if p >= SURE else f"start {percent(p)}" for i, p in sure.items()}
    if np.allclose(given, given[0]):
        return {i: "start" if p >= SURE else f"start {percent(float(p))}" for i, p in enumerate(given[0]) if p >= RARE}
    starts = {}
    for i in np.flatnonzero(given.max(axis=0) >= RARE):
        labels = [label for label, row in zip(agent.observations, given, strict=True) if row[i] >= RARE]
        starts[int(i)] = "start on " + shortened(", ".join(labels), 24)
    return starts
