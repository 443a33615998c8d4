"""The section of the page that shows every agent's controller, and the one that says how sure it is."""

from collections.abc import Sequence

from decpomdp.core import Agent, Team
from decpomdp.io.runs import AgentBelief, Belief
from decpomdp.report.graph import MOST_NODES, graph_of
from decpomdp.report.links import percent, shortened
from decpomdp.report.markup import Markup, tag
from decpomdp.report.text import controller_in_words
from decpomdp.report.use import Use

FEW = 6  # agents that are all unfolded
MOST_DRAWN = 150  # of many agents
SHRINK, SIDES = 0.85, 40.0  # a graph may be drawn a little smaller so that two fit beside each other; pixels around it


def controllers(team: Team, uses: Sequence[Use], how: str, key: str) -> Markup:
    """One figure per agent; `how` says where the shares of time come from, `key` sets runs of one page apart."""
    figures = [_agent(team, n, use, f"{key}-agent{n}") for n, use in enumerate(uses[:MOST_DRAWN])]
    note, more = tag("p", how, class_="note"), None
    if len(figures) <= FEW:
        return tag("div", note, tag("div", *figures, class_="controllers"))
    if len(uses) > MOST_DRAWN:
        words = f"Drawn are the first {MOST_DRAWN} of {len(uses)} agents; `decpomdp show` tells the others in words."
        more = tag("p", words, class_="note")
    folded = [
        tag("details", tag("summary", _summary(team, n, uses[n])), figure, class_="one")
        for n, figure in enumerate(figures)
    ]
    return tag("div", note, more, tag("div", *folded, class_="crowd"))


def _summary(team: Team, n: int, use: Use) -> str:
    """A line about an agent of many: its size and what it does most of the time."""
    controller, agent = team.controllers[n], team.agents[n]
    plural = "s" if controller.nodes > 1 else ""
    if use.nodes is None:
        return f"{agent.name}: {controller.nodes} node{plural}"
    acts = use.nodes @ controller.action  # [a]
    most = int(acts.argmax())
    return (
        f"{agent.name}: {controller.nodes} node{plural}, {shortened(agent.actions[most])} {percent(float(acts[most]))}"
    )


def _agent(team: Team, n: int, use: Use, key: str) -> Markup:
    agent, controller = team.agents[n], team.controllers[n]
    graph = graph_of(agent, controller, use, key)
    plural = "s" if controller.nodes > 1 else ""
    title = tag("div", tag("h3", agent.name), tag("span", f"{controller.nodes} node{plural}"), class_="title")
    words = tag("ol", *(tag("li", line) for line in controller_in_words(agent, controller)), class_="words")
    if graph is None:
        note = tag("p", f"More than {MOST_NODES} nodes: told in words alone.", class_="note")
        return tag("figure", title, note, tag("details", tag("summary", "In words"), words), class_="controller")
    buttons = [
        tag("button", sign, type="button", data_zoom=step, aria_label=said)
        for sign, step, said in (("\u2212", "-1", "Smaller"), ("+", "1", "Larger"), ("1:1", "0", "Natural size"))
    ]
    rare = None
    if graph.rare:
        box = tag("input", type="checkbox", data_rare=True)
        rare = tag("label", box, "moves that are hardly ever made")
    bar = tag("div", title, rare, tag("span", *buttons, class_="zoom"), class_="bar")
    view = tag("div", graph.drawn, class_="view", tabindex="0", role="group", aria_label=f"Graph of {agent.name}")
    room = f"flex-basis:{SHRINK * graph.width + SIDES:.0f}px"
    told = tag("details", tag("summary", "In words"), words)
    return tag("figure", bar, view, told, class_="controller", style=room)


def belief(team: Team, summary: Belief) -> Markup:
    """What the posterior's draws agree on."""
    note = (
        f"Bars span {summary.level:.0%} of {summary.draws} teams drawn from the posterior; the mark is the posterior "
        "mean. Share of time: what the drawn teams do with the node."
    )
    agents = [_belief_of(agent, told) for agent, told in zip(team.agents, summary.agents, strict=False)]
    return tag("div", tag("p", note, class_="note"), tag("div", *agents, class_="beliefs"))


def _belief_of(agent: Agent, told: AgentBelief) -> Markup:
    names = dict(enumerate(agent.actions))
    rows = []
    for node in told.nodes:
        actions = [
            tag("div", tag("span", names.get(a, a)), _bar(mean, low, high), tag("span", percent(mean)))
            for a, mean, low, high in node.actions
        ]
        share = [tag("b", percent(node.visits)), " of the data"] if node.time is None else _time(*node.time)
        rows.append(tag("tr", tag("th", node.node, scope="row"), tag("td", *share), tag("td", *actions)))
    head = tag("tr", *(tag("th", words, scope="col") for words in ("node", "share of time", "what it does")))
    title = agent.name if told.same_nodes else f"{agent.name} (nodes of the posterior, with numbers of their own)"
    table = tag("table", tag("caption", title), tag("thead", head), tag("tbody", *rows), class_="belief")
    return tag("div", table, class_="wide")


def _time(low: float, middle: float, high: float) -> list[Markup | str]:
    return [tag("b", percent(middle)), tag("br"), tag("small", f"{percent(low)} to {percent(high)}")]


def _bar(mean: float, low: float, high: float) -> Markup:
    said = f"{percent(mean)}, between {percent(low)} and {percent(high)}"
    span = tag("rect", class_="span", x=100.0 * low, y=4, width=max(100.0 * (high - low), 0.8), height=6, rx=3)
    mark = tag("rect", class_="mark", x=min(max(100.0 * mean - 1, 0.0), 98.0), y=1, width=2, height=12, rx=1)
    track = tag("rect", class_="track", x=0, y=6, width=100, height=2, rx=1)
    shape = {"viewBox": "0 0 100 14", "preserveAspectRatio": "none"}
    return tag("svg", tag("title", said), track, span, mark, class_="interval", role="img", aria_label=said, **shape)
