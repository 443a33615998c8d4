"""The section of the page that shows every agent's controller."""

from collections.abc import Sequence

from decpomdp.core import Team
from decpomdp.report.graph import LONGEST, MOST_NODES, graph_of
from decpomdp.report.markup import Markup, percent, shortened, tag
from decpomdp.report.performance import Use
from decpomdp.report.text import controller_in_words

FEW = 6  # agents whose figures are all unfolded, at most
MOST_DRAWN = 150  # agents
SHRINK, SIDES = 0.85, 40.0  # smallest scale of a graph, to fit two side by side; pixels around it
READING = (
    "A box is a node: its action, its number and its share of the time (filled part). An arrow is a move, labelled "
    "with the observations that cause it; a thicker one is taken more often. "
)


def reading(source: str) -> Markup:
    """How to read the graphs; `source` says where the shares come from."""
    return tag("p", READING + source, class_="note")


def controllers(team: Team, uses: Sequence[Use], key: str) -> Markup:
    """One figure per agent; `key` identifies the run in a page of several."""
    figures = [_agent(team, n, use, f"{key}-agent{n}") for n, use in enumerate(uses[:MOST_DRAWN])]
    if len(figures) <= FEW:
        return tag("div", *figures, class_="controllers")
    more = None
    if len(uses) > MOST_DRAWN:
        words = f"Only the first {MOST_DRAWN} of {len(uses)} agents are drawn; `decpomdp show` describes all in words."
        more = tag("p", words, class_="note")
    folded = [
        tag("details", tag("summary", _summary(team, n, uses[n])), figure, class_="one")
        for n, figure in enumerate(figures)
    ]
    return tag("div", more, tag("div", *folded, class_="crowd"))


def _nodes(count: int) -> str:
    return f"{count} node{'s' if count > 1 else ''}"


def _summary(team: Team, n: int, use: Use) -> str:
    """One line about an agent: its size and its most frequent action."""
    controller, agent = team.controllers[n], team.agents[n]
    if use.nodes is None:
        return f"{agent.name}: {_nodes(controller.nodes)}"
    acts = use.nodes @ controller.action  # [a]
    most = shortened(agent.actions[int(acts.argmax())], LONGEST)
    return f"{agent.name}: {_nodes(controller.nodes)}, {most} {percent(float(acts.max()))}"


def _agent(team: Team, n: int, use: Use, key: str) -> Markup:
    agent, controller = team.agents[n], team.controllers[n]
    graph = graph_of(agent, controller, use, key)
    title = tag("div", tag("h3", agent.name), tag("span", _nodes(controller.nodes)), class_="title")
    lines = tag("ol", *(tag("li", line) for line in controller_in_words(agent, controller)), class_="words")
    words = tag("details", tag("summary", "In words"), lines)
    if graph is None:
        note = tag("p", f"More than {MOST_NODES} nodes: described in words only.", class_="note")
        return tag("figure", title, note, words, class_="controller")
    buttons = [
        tag("button", sign, type="button", data_zoom=step, aria_label=label)
        for sign, step, label in (("\u2212", "-1", "Smaller"), ("+", "1", "Larger"), ("1:1", "0", "Natural size"))
    ]
    rare = tag("span", f"{graph.rare} rare move{'s' if graph.rare > 1 else ''} not drawn") if graph.rare else None
    bar = tag("div", title, rare, tag("span", *buttons, class_="zoom"), class_="bar")
    view = tag("div", graph.drawn, class_="view", tabindex="0", role="group", aria_label=f"Graph of {agent.name}")
    room = f"flex-basis:{SHRINK * graph.width + SIDES:.0f}px"
    why = "not reachable from the start" if use.nodes is None else "rarely used"
    left_out = tag("p", f"Nodes {why}: {', '.join(map(str, graph.idle))}", class_="note") if graph.idle else None
    return tag("figure", bar, view, left_out, words, class_="controller", style=room)
