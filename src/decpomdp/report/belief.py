"""Uncertainty of the learner: intervals over teams drawn from its posterior.

A drawn team has one controller per agent that is plausible given the data. For every occupied node: intervals of its
share of the time and of the probability of each action, which contain 90% of the draws. The summary is stored in
run.json, for later pages.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes, Team
from decpomdp.io.runs import AgentBelief, Belief, NodeBelief
from decpomdp.report.markup import Markup, percent, table, tag
from decpomdp.report.performance import SHARE_SECONDS, Floats, Source, first_steps, played_steps, use_in, watch
from decpomdp.report.text import RARE

if TYPE_CHECKING:
    from decpomdp.learners.posterior import TeamPosterior

DRAWS = 100  # for the actions of nodes
PLAYED = 40  # of the draws are played for the shares of time
EPISODES = 100  # of each played draw
RECORDED, STEPS = 100, 40  # episodes of a slow simulator, and their length
LEVEL = 0.9


def belief_summary(posterior: "TeamPosterior", team: Team, source: Source | None, seed: int) -> Belief | None:
    """The summary of the posterior for run.json; None without uncertainty (EM)."""
    rng = np.random.default_rng(seed)
    draws = [posterior.sample(rng) for _ in range(DRAWS)]
    actions = [np.stack([draw.controllers[n].action for draw in draws]) for n in range(len(posterior.agents))]
    if all(np.ptp(table, axis=0).max() < 1e-12 for table in actions):
        return None
    times = None if source is None else _shares(draws[:PLAYED], team, source, seed)
    mean = posterior.mean()
    agents = []
    for n, (agent, occupied) in enumerate(zip(posterior.agents, posterior.occupied(), strict=True)):
        one, other = mean.controllers[n].action, team.controllers[n].action
        same = one.shape == other.shape and np.allclose(one, other, atol=1e-9)
        numbers = np.arange(len(occupied)) if same else occupied  # the team's own numbers, if the nodes are the same
        visits = agent.occupancy()[occupied]
        nodes = _nodes(numbers, visits, one, actions[n], None if times is None else times[n])
        agents.append(AgentBelief(bool(same), nodes))
    return Belief(DRAWS, LEVEL, agents)


def _shares(draws: Sequence[Team], team: Team, source: Source, seed: int) -> list[Floats]:
    """Per agent [draw, i]: the nodes' shares of time; on episodes of `team` where the simulator is slow."""
    from decpomdp.evaluation.sampled import episodes_within
    from decpomdp.rollouts import as_simulator, simulate

    simulator = None if isinstance(source, Episodes) else as_simulator(source)
    steps, most = played_steps(source.discount), EPISODES * len(draws)
    if simulator is not None and episodes_within(SHARE_SECONDS, simulator, team, most, steps) == most:
        played = [watch(simulator, draw, EPISODES, steps, seed) for draw in draws]
        uses = [use_in(one.episodes, draw, one.nodes) for one, draw in zip(played, draws, strict=True)]
    else:
        recorded = source if isinstance(source, Episodes) else simulate(source, team, RECORDED, STEPS, seed ^ 1)
        episodes = first_steps(recorded)
        uses = [use_in(episodes, draw) for draw in draws]
    return [np.stack([np.asarray(use.nodes) for use in agent]) for agent in zip(*uses, strict=True)]


def _nodes(
    numbers: NDArray[np.int64], visits: Floats, mean: Floats, drawn: Floats, used: Floats | None
) -> list[NodeBelief]:
    edges = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    low, high = np.quantile(drawn, edges, axis=0)  # [i, a]
    times = None if used is None else np.quantile(used, (edges[0], 0.5, edges[1]), axis=0).T  # [i, 3]
    nodes = []
    for i, node in enumerate(numbers):
        likely = [a for a in range(mean.shape[1]) if mean[i, a] >= RARE or high[i, a] >= 2 * RARE]
        actions = [(a, _short(mean[i, a]), _short(low[i, a]), _short(high[i, a])) for a in likely]
        time = None if times is None else (_short(times[i, 0]), _short(times[i, 1]), _short(times[i, 2]))
        nodes.append(NodeBelief(int(node), _short(visits[i]), actions, time))
    return nodes


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def belief(team: Team, summary: Belief) -> Markup:
    """The section of the page."""
    note = (
        f"Bars span {summary.level:.0%} of {summary.draws} teams drawn from the posterior; the mark is the posterior "
        "mean. Share of time: in episodes of the drawn teams."
    )
    agents = [_agent(agent, one) for agent, one in zip(team.agents, summary.agents, strict=False)]
    return tag("div", tag("p", note, class_="note"), tag("div", *agents, class_="beliefs"))


def _agent(agent: Agent, summary: AgentBelief) -> Markup:
    names, rows = dict(enumerate(agent.actions)), []
    for node in summary.nodes:
        actions = [
            tag("div", tag("span", names.get(a, a)), _bar(mean, low, high), tag("span", percent(mean)))
            for a, mean, low, high in node.actions
        ]
        share: list[object] = [tag("b", percent(node.visits)), " of the data"]
        if node.time is not None:
            low, middle, high = node.time
            share = [tag("b", percent(middle)), tag("br"), tag("small", f"{percent(low)} to {percent(high)}")]
        rows.append((tag("th", node.node, scope="row"), tag("td", *share), tag("td", *actions)))
    title = agent.name if summary.same_nodes else f"{agent.name} (nodes of the posterior, numbered differently)"
    return table(("node", "share of time", "actions"), rows, "belief", title)


def _bar(mean: float, low: float, high: float) -> Markup:
    words = f"{percent(mean)}, between {percent(low)} and {percent(high)}"
    span = tag("rect", class_="span", x=100.0 * low, y=4, width=max(100.0 * (high - low), 0.8), height=6, rx=3)
    mark = tag("rect", class_="mark", x=min(max(100.0 * mean - 1, 0.0), 98.0), y=1, width=2, height=12, rx=1)
    track = tag("rect", class_="track", x=0, y=6, width=100, height=2, rx=1)
    shape = {"viewBox": "0 0 100 14", "preserveAspectRatio": "none"}
    return tag("svg", tag("title", words), track, span, mark, class_="interval", role="img", aria_label=words, **shape)
