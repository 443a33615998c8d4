"""The first posterior of a fit: from the best episodes, a clock, at random, or from a team.

Each is expressed as soft counts, like those of the data; the first posterior is the usual update with these counts.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, Episodes, InputError, Team
from decpomdp.learners.posterior import AgentPosterior, Counts, updated
from decpomdp.learners.priors import Prior

# DEPARTS: the paper starts from "the episodes with the highest rewards" and does not say how
STRENGTH = 100.0  # soft counts per row: large compared with the prior
SOFTNESS = 0.1  # share of every choice that is spread over all alternatives, so that the data can change it
ELITES = 50  # best episodes merged into the first controllers, at most


def beginning(
    episodes: Episodes, prior: Prior, begin: Team | str, nodes: int, seed: int = 0
) -> tuple[AgentPosterior, ...]:
    """The first posterior; `begin` is "best", "clock", "random" or a team."""
    shown = episodes.observations[episodes.offsets[:-1]].max(axis=0) >= 0  # whether the first step has an observation
    each = zip(episodes.agents, _counts(episodes, prior, begin, nodes, seed), shown, strict=True)
    return tuple(
        updated(agent, prior.priors(agent), counts if seen else replace(counts, firsts=0 * counts.firsts))
        for agent, counts, seen in each
    )


def _counts(episodes: Episodes, prior: Prior, begin: Team | str, nodes: int, seed: int) -> list[Counts]:
    if isinstance(begin, Team):
        begin.check_fits(episodes)
        if prior.nodes is not None and max(begin.nodes) > nodes:
            raise InputError(
                f"begin: expected a team of at most {nodes} nodes, as the prior has, got {max(begin.nodes)}"
            )
        sure = [replace(c, initial=np.eye(c.nodes)[c.initial.argmax()]) for c in begin.controllers]
        return [soft_counts(controller, max(nodes, *begin.nodes)) for controller in sure]
    if begin == "best":
        return from_best_episodes(episodes, nodes)
    if begin == "clock":
        return clocks(episodes, nodes)
    rng = np.random.default_rng(seed)
    return [_random_counts(len(a.actions), len(a.observations), nodes, rng) for a in episodes.agents]


def from_best_episodes(episodes: Episodes, nodes: int) -> list[Counts]:
    """The episodes with the highest returns, merged into one tree of local histories per agent.

    A node is a local history; the tree stops growing at `nodes` nodes, and a step that would leave it returns to the
    start.
    """
    best = _best(episodes)
    return [soft_counts(_tree(episodes, n, best, nodes), nodes) for n in range(len(episodes.agents))]


def clocks(episodes: Episodes, nodes: int) -> list[Counts]:
    """Every agent counts its steps modulo `nodes` and does what the best episodes did at these steps."""
    offsets = episodes.offsets
    rows = np.concatenate([np.arange(offsets[k], offsets[k + 1]) for k in _best(episodes)])
    steps = np.concatenate([np.arange(episodes.lengths[k]) for k in _best(episodes)]) % nodes
    counts = []
    for n, agent in enumerate(episodes.agents):
        visits = np.zeros((nodes, len(agent.actions)))
        np.add.at(visits, (steps, episodes.actions[rows, n]), 1)
        shape = (nodes, len(agent.actions), len(agent.observations), nodes)
        moves = np.broadcast_to(np.roll(np.eye(nodes), 1, axis=1)[:, None, None], shape)
        counts.append(soft_counts(Controller(np.eye(nodes)[0], _shares(visits), moves)))
    return counts


def _best(episodes: Episodes) -> NDArray[np.int64]:
    """The episodes with the highest returns."""
    return np.argsort(-episodes.returns(), kind="stable")[: max(1, min(ELITES, episodes.count // 20))]


def _tree(episodes: Episodes, n: int, chosen: NDArray[np.int64], nodes: int) -> Controller:
    agent = episodes.agents[n]
    actions, symbols = len(agent.actions), len(agent.observations)
    visits = np.zeros((nodes, actions))
    moves = np.zeros((nodes, actions, symbols, nodes))
    firsts = np.zeros((symbols, nodes))
    children: dict[tuple[int, int, int], int] = {}

    def child(branch: tuple[int, int, int]) -> int:
        if branch not in children:
            children[branch] = len(children) + 1 if len(children) + 1 < nodes else 0
        return children[branch]

    for k in chosen:
        node, action = 0, -1
        for row in range(int(episodes.offsets[k]), int(episodes.offsets[k + 1])):
            seen = int(episodes.observations[row, n])
            if seen >= 0:  # at the first row only where the environment shows something before the first action
                after = child((node, action, seen))
                if action >= 0:
                    moves[node, action, seen, after] += 1
                else:
                    firsts[seen, after] += 1
                node = after
            action = int(episodes.actions[row, n])
            visits[node, action] += 1
    first = _shares(firsts) if firsts.any() else None
    return Controller(np.eye(nodes)[0], _shares(visits), _shares(moves), first)


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frequencies; a row without counts is uniform."""
    totals = counts.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), 1 / counts.shape[-1])


def softened(counts: Counts, share: float = SOFTNESS) -> Counts:
    """The same choices, a share of each spread over all alternatives, as soft counts of equal strength in every row."""
    firsts = _soft(_shares(counts.firsts), share) if counts.firsts.any() else counts.firsts
    return Counts(firsts, _soft(_shares(counts.visits), share), _soft(_shares(counts.moves), share))


def _soft(table: NDArray[np.float64], softness: float = SOFTNESS, strength: float = STRENGTH) -> NDArray[np.float64]:
    return strength * ((1 - softness) * table + softness / table.shape[-1])


def soft_counts(
    controller: Controller, nodes: int | None = None, softness: float = SOFTNESS, strength: float = STRENGTH
) -> Counts:
    """Soft counts of a controller, its likeliest start node first, padded with empty nodes up to `nodes`."""
    start = int(controller.initial.argmax())
    order = np.array([start, *(i for i in range(controller.nodes) if i != start)])
    firsts = controller.initial_given
    if firsts is None:
        firsts = np.tile(controller.initial, (controller.observations, 1))
    tables = (firsts[:, order], controller.action[order], controller.transition[order][..., order])
    firsts, visits, moves = (_soft(table, softness, strength) for table in tables)
    if nodes is not None:
        fixed, extra = (0, 0), (0, nodes - controller.nodes)
        firsts, visits = np.pad(firsts, (fixed, extra)), np.pad(visits, (extra, fixed))
        moves = np.pad(moves, (extra, fixed, fixed, extra))
    return Counts(firsts, visits, moves)


def _random_counts(actions: int, symbols: int, nodes: int, rng: np.random.Generator) -> Counts:
    rows = rng.dirichlet(np.ones(nodes), size=(symbols + nodes * actions * symbols))
    visits = rng.dirichlet(np.ones(actions), size=nodes)
    moves = rows[symbols:].reshape(nodes, actions, symbols, nodes)
    return Counts(STRENGTH * rows[:symbols], STRENGTH * visits, STRENGTH * moves)
