"""Where a fit begins: the best episodes, a random posterior, or a given team.

Whatever the beginning, it is soft counts like those of the data, from which the first posterior follows by the same
update as every later one.
"""

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Controller, Episodes, InputError, Team, checks
from decpomdp.learners.posterior import AgentPosterior, Counts, updated
from decpomdp.learners.priors import Prior

# DEPARTS: the paper starts from "the episodes with the highest rewards" and does not say how; this is our way
STRENGTH = 100.0  # soft counts per row: enough that the first posterior follows them
SOFTNESS = 0.1  # of every choice is left to all alternatives, so that the data can change it
ELITES = 50  # best episodes merged into the first controllers, at most


def beginning(
    episodes: Episodes, prior: Prior, begin: Team | str, nodes: int, seed: int = 0
) -> tuple[AgentPosterior, ...]:
    """The first posterior: `begin` is "best", "random" or a team. Without first observations none are believed in."""
    shown = episodes.observations[episodes.offsets[:-1]].max(axis=0) >= 0
    found = []
    for agent, counts, seen in zip(episodes.agents, _counts(episodes, prior, begin, nodes, seed), shown, strict=True):
        kept = counts if seen else Counts(0 * counts.firsts, counts.visits, counts.moves)
        found.append(updated(agent, prior.priors(agent), kept))
    return tuple(found)


def _counts(episodes: Episodes, prior: Prior, begin: Team | str, nodes: int, seed: int) -> list[Counts]:
    if isinstance(begin, Team):
        begin.check_fits(episodes)
        if prior.nodes is not None and max(begin.nodes) > nodes:
            raise InputError(
                f"begin: expected a team of at most {nodes} nodes, as the prior has, got {max(begin.nodes)}"
            )
        return from_team(begin, max(nodes, *begin.nodes))
    if isinstance(begin, str) and begin == "best":
        return from_best_episodes(episodes, nodes)
    if isinstance(begin, str) and begin == "random":
        return from_random(episodes, nodes, np.random.default_rng(seed))
    raise InputError(f"begin: expected 'best', 'random' or a team, got {checks.kind_of(begin)}")


def from_random(episodes: Episodes, nodes: int, rng: np.random.Generator) -> list[Counts]:
    """Every row of every controller drawn uniformly."""
    return [_random_counts(len(a.actions), len(a.observations), nodes, rng) for a in episodes.agents]


def from_team(team: Team, nodes: int) -> list[Counts]:
    """A given team, softened; nodes beyond its own are empty."""
    return [_counts_of(_start_first(controller), nodes) for controller in team.controllers]


def from_best_episodes(episodes: Episodes, nodes: int) -> list[Counts]:
    """The episodes with the highest returns, merged into one tree of local histories per agent.

    A node is a local history; the tree stops growing at `nodes` nodes, and a step that would leave it goes back to
    the start.
    """
    returns = episodes.returns()
    count = max(1, min(ELITES, episodes.count // 20))
    best = np.argsort(-returns, kind="stable")[:count]
    return [_counts_of(_tree(episodes, n, best, nodes), nodes) for n in range(len(episodes.agents))]


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
    return np.where(totals > 0, counts / np.maximum(totals, 1), 1 / counts.shape[-1])


def _counts_of(controller: Controller, nodes: int) -> Counts:
    """Soft counts that say `controller`, padded with empty nodes."""
    room = nodes - controller.nodes
    visits = np.pad(_soft(controller.action), ((0, room), (0, 0)))
    moves = np.pad(_soft(controller.transition), ((0, room), (0, 0), (0, 0), (0, room)))
    given = controller.initial_given
    if given is None:
        given = np.tile(controller.initial, (controller.observations, 1))
    firsts = np.pad(_soft(given), ((0, 0), (0, room)))
    return Counts(STRENGTH * firsts, STRENGTH * visits, STRENGTH * moves)


def _soft(table: NDArray[np.float64]) -> NDArray[np.float64]:
    return (1 - SOFTNESS) * table + SOFTNESS / table.shape[-1]


def _random_counts(actions: int, symbols: int, nodes: int, rng: np.random.Generator) -> Counts:
    rows = rng.dirichlet(np.ones(nodes), size=(symbols + nodes * actions * symbols))
    visits = rng.dirichlet(np.ones(actions), size=nodes)
    moves = rows[symbols:].reshape(nodes, actions, symbols, nodes)
    return Counts(STRENGTH * rows[:symbols], STRENGTH * visits, STRENGTH * moves)


def _start_first(controller: Controller) -> Controller:
    """The likeliest start node as node 0: the learner's start is sure."""
    start = int(controller.initial.argmax())
    order = np.array([start, *(i for i in range(controller.nodes) if i != start)])
    moves = controller.transition[order][..., order]
    given = None if controller.initial_given is None else controller.initial_given[:, order]
    return Controller(np.eye(controller.nodes)[0], controller.action[order], moves, given)
