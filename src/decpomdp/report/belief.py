"""How sure the learner is: what teams drawn from its posterior do.

A drawn team stands for one controller per agent that the data allow. For every occupied node: how often it is used and
with which probability it takes each action, as intervals that hold 90% of the draws. The summary is small enough for
run.json, which is where a page that is made again finds it.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Episodes, Team
from decpomdp.io.runs import AgentBelief, Belief, NodeBelief
from decpomdp.learners.posterior import TeamPosterior
from decpomdp.report.text import RARE
from decpomdp.report.use import use_in_episodes, use_on_model

Floats = NDArray[np.float64]

DRAWS = 200  # of what nodes do
PLAYED = 40  # of them are played to see which nodes they use
EPISODES = 100  # of each
LEVEL = 0.9


def belief_summary(
    posterior: TeamPosterior, team: Team, source: DecPOMDP | Episodes | None, seed: int
) -> Belief | None:
    """What run.json says about the posterior; None if it holds no uncertainty (EM)."""
    rng = np.random.default_rng(seed)
    draws = [posterior.sample(rng) for _ in range(DRAWS)]
    actions = [np.stack([draw.controllers[n].action for draw in draws]) for n in range(len(posterior.agents))]
    if all(np.ptp(table, axis=0).max() < 1e-12 for table in actions):
        return None
    used = _used(draws[:PLAYED], source, seed)
    mean = posterior.mean()
    agents = []
    for n, (agent, kept) in enumerate(zip(posterior.agents, posterior.occupied(), strict=True)):
        one, other = mean.controllers[n].action, team.controllers[n].action
        same = one.shape == other.shape and np.allclose(one, other, atol=1e-9)
        numbers = np.arange(len(kept)) if same else kept  # the team's own numbers, where they are the same nodes
        nodes = _nodes(numbers, agent.occupancy()[kept], one, actions[n], None if used is None else used[n])
        agents.append(AgentBelief(bool(same), nodes))
    return Belief(DRAWS, LEVEL, agents)


def _used(draws: list[Team], source: DecPOMDP | Episodes | None, seed: int) -> list[Floats] | None:
    """Per agent [draw, i]: the nodes' shares of time."""
    if source is None:
        return None
    if isinstance(source, Episodes):
        uses = [use_in_episodes(source, draw) for draw in draws]
    else:
        uses = [use_on_model(source, draw, seed, EPISODES) for draw in draws]
    return [np.stack([np.asarray(use[n].nodes) for use in uses]) for n in range(len(draws[0].agents))]


def _nodes(
    numbers: NDArray[np.int64], visits: Floats, mean: Floats, drawn: Floats, used: Floats | None
) -> list[NodeBelief]:
    edges = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    low, high = np.quantile(drawn, edges, axis=0)  # [i, a]
    times = None if used is None else np.quantile(used, (edges[0], 0.5, edges[1]), axis=0).T  # [i, 3]
    told = []
    for i, node in enumerate(numbers):
        shown = [a for a in range(mean.shape[1]) if mean[i, a] >= RARE or high[i, a] >= 2 * RARE]
        actions = [(a, _short(mean[i, a]), _short(low[i, a]), _short(high[i, a])) for a in shown]
        time = None if times is None else (_short(times[i, 0]), _short(times[i, 1]), _short(times[i, 2]))
        told.append(NodeBelief(int(node), _short(visits[i]), actions, time))
    return told


def _short(value: float) -> float:
    return float(f"{value:.4g}")
