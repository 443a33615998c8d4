"""Starts of the loop.

*Replays.* The paper starts from controllers "converted from the episodes with the highest rewards". An episode becomes
a chain: node t takes the episode's action at t and moves on, regardless of the observation; the last node returns to
the first (loop) or stays (stay). High returns are partly luck, so the chains of the best episodes are played and
compared by their *mean* return.

*Memories.* Moves of a chain do not depend on observations. Those of two memories do: the last observation, and all
observations since the start of a period (trees); their actions are uniform at first.

*By action.* One node per action is the smallest controller that reacts to observations; its moves are uniform. It is
the start with many agents, whose best episodes are luck.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Controller, Episodes, Simulator, Team
from decpomdp.learners.posterior import Counts
from decpomdp.learners.start import soft_counts

SURE = 0.95  # initial probability of a memory's moves; less than 1, so that they can change
HELD = 0.999  # the same for fixed moves


def counts_of(team: Team, softness: float, strength: float, shown: bool) -> list[Counts]:
    """Soft counts of a team, with a share `softness` of every choice spread over all alternatives."""
    counts = [soft_counts(controller, None, softness, strength) for controller in team.controllers]
    return counts if shown else [replace(own, firsts=0.0 * own.firsts) for own in counts]


def memories(simulator: Simulator, largest: int, sure: float = SURE) -> Iterator[Team]:
    """Last observation, then trees of two and three steps, if no agent needs more than `largest` nodes."""
    shapes: list[Callable[[int], NDArray[np.int64]]] = [last_observation, lambda o: tree(2, o), lambda o: tree(3, o)]
    for shape in shapes:
        tables = [shape(len(agent.observations)) for agent in simulator.agents]
        if max(len(table) for table in tables) <= largest:
            pairs = zip(simulator.agents, tables, strict=True)
            yield Team.of(simulator, [_undecided(agent, table, sure) for agent, table in pairs])


def by_action(simulator: Simulator, sure: float) -> Team:
    """One node per action, taken with probability `sure` or at random; moves are uniform."""
    return Team.of(simulator, [_by_action(len(a.actions), len(a.observations), sure) for a in simulator.agents])


def _by_action(actions: int, symbols: int, sure: float) -> Controller:
    def anywhere(*shape: int) -> NDArray[np.float64]:
        return np.full((*shape, actions), 1 / actions)

    act = sure * np.eye(actions) + (1 - sure) / actions
    return Controller(anywhere(), act, anywhere(actions, actions, symbols), anywhere(symbols))


def last_observation(observations: int) -> NDArray[np.int64]:
    """[i, o]: node 0 before anything was seen, node 1 + o after o."""
    return np.tile(np.arange(1, observations + 1), (observations + 1, 1))


def tree(depth: int, observations: int) -> NDArray[np.int64]:
    """[i, o]: moves of a tree of the observations since the start of a period of `depth` actions."""
    before = sum(observations**level for level in range(depth - 1))  # nodes that have children
    nodes = before + observations ** (depth - 1)
    children = 1 + np.arange(nodes * observations).reshape(nodes, observations)
    return np.where(children < nodes, children, 0)


def _undecided(agent: Agent, moves: NDArray[np.int64], sure: float) -> Controller:
    """A controller with these moves and uniform actions; a first observation moves as from node 0."""
    nodes, actions = len(moves), len(agent.actions)
    table = sure * np.eye(nodes)[moves] + (1 - sure) / nodes
    transition = np.repeat(table[:, None], actions, axis=1)
    return Controller(np.eye(nodes)[0], np.full((nodes, actions), 1 / actions), transition, table[0])


def replays(episodes: Episodes, length: int, elites: int) -> Iterator[Team]:
    """The episodes with the highest returns over `length` steps as chains, each as a loop and as a stay."""
    for actions in best_actions(episodes, length, elites):
        yield from (chain(episodes, actions, loop) for loop in (True, False))


def best_actions(episodes: Episodes, length: int, elites: int) -> Iterator[NDArray[np.int64]]:
    """[t, n]: the first `length` actions of the episodes with the highest returns over them, without repetitions."""
    early = episodes.times() < length
    worth = np.where(early, episodes.rewards * episodes.discount ** episodes.times().astype(np.float64), 0.0)
    returns = np.add.reduceat(worth, episodes.offsets[:-1])
    known: set[bytes] = set()
    for k in np.argsort(-returns, kind="stable"):
        first = int(episodes.offsets[k])
        actions = episodes.actions[first : min(first + length, int(episodes.offsets[k + 1]))].astype(np.int64)
        if actions.tobytes() in known:
            continue
        known.add(actions.tobytes())
        yield actions
        if len(known) == elites:
            return


def chain(problem: Episodes | Simulator, actions: NDArray[np.int64], loop: bool) -> Team:
    """actions[t, n] one after the other, regardless of observations."""
    length = len(actions)
    following = np.minimum(np.arange(1, length + 1), length - 1)
    if loop:
        following[-1] = 0
    controllers = []
    for n, agent in enumerate(problem.agents):
        moves = np.repeat(following[:, None], len(agent.observations), axis=1)
        controllers.append(Controller.deterministic(actions[:, n], moves, len(agent.actions)))  # type: ignore[arg-type]
    return Team.of(problem, controllers)
