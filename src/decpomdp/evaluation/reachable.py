"""A deterministic team on a model: only the pairs (state, joint node) that can be met.

Two controllers of a hundred nodes have ten thousand joint nodes, of which the team meets a handful in every state.
Following it from the start finds them; the Bellman equation on these pairs alone has the same solution there.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Team

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

ABREAST = 2000  # pairs that are followed at a time


def is_deterministic(team: Team) -> bool:
    """Whether every choice of every controller is sure."""
    tables = (table for c in team.controllers for table in (c.initial, c.action, c.transition))
    return all(bool(np.all((table == 0) | (table == 1))) for table in tables)


def met_states(model: DecPOMDP, taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[s]: which states can be met by whoever may take these joint actions [u]."""
    moves: NDArray[np.bool_] = np.any(model.transition[taken] > 0, axis=0)  # [s, s1]
    met: NDArray[np.bool_] = model.start > 0
    while True:
        more = met | moves[met].any(axis=0)
        if np.array_equal(more, met):
            return met
        met = more


class MetPairs:
    """The chain over the pairs that a deterministic team meets; `backup` and `at_start` as for all pairs."""

    def __init__(self, model: DecPOMDP, team: Team) -> None:
        from scipy.sparse import csr_array

        self.model, self.nodes = model, team.nodes
        self._acts = [c.action.argmax(axis=1) for c in team.controllers]  # [i]
        self._moves = [c.transition.argmax(axis=3) for c in team.controllers]  # [i, a, o]
        start = int(np.ravel_multi_index([int(c.initial.argmax()) for c in team.controllers], self.nodes))
        begins = np.flatnonzero(model.start)
        self._pairs = begins * math.prod(self.nodes) + start  # [pair], ever longer
        self._first = model.start[begins]
        rows, columns, weights = self._follow()
        size = len(self._pairs)
        self.moves = csr_array((weights, (rows, columns)), shape=(size, size))
        self.shape = (size, 1)
        state, joint = np.divmod(self._pairs, math.prod(self.nodes))
        self.expected: Floats = model.reward[self._joint_action(joint)[0], state][:, None]

    @property
    def discount(self) -> float:
        """That of the model."""
        return self.model.discount

    def backup(self, v: Floats, rewards: Floats | None) -> Floats:
        """B v with these rewards; None: the linear part alone."""
        ahead: Floats = self.discount * np.asarray(self.moves @ v)
        return ahead if rewards is None else ahead + rewards

    def linear(self, largest: int) -> Any:
        """The linear part as a matrix, which is at hand for any number of pairs."""
        return self.discount * self.moves

    def at_start(self, v: Floats) -> float:
        """Expectation of v where the episode starts."""
        return float(self._first @ v[: len(self._first), 0])

    def _joint_action(self, joint: Whole) -> tuple[Whole, list[Whole], list[Whole]]:
        """Joint action, own nodes and own actions at joint nodes."""
        nodes = [np.asarray(part, np.int64) for part in np.unravel_index(joint, self.nodes)]
        own = [act[node] for act, node in zip(self._acts, nodes, strict=True)]
        counts = [len(agent.actions) for agent in self.model.agents]
        return np.ravel_multi_index(own, counts).astype(np.int64), nodes, own

    def _follow(self) -> tuple[Whole, Whole, Floats]:
        """Find all pairs; (row, column, probability) of every move between them."""
        found: list[tuple[Whole, Whole, Floats]] = []
        known = set(self._pairs.tolist())
        room, count, done = self._pairs, len(self._pairs), 0  # `room` has places for more than the `count` found so far
        while done < count:
            here = room[done : min(done + ABREAST, count)]
            row, pair, weight = self._onward(here)
            new = [each for each in np.unique(pair).tolist() if each not in known]
            known.update(new)
            if count + len(new) > len(room):
                room = np.concatenate([room, np.empty(len(room) + len(new), np.int64)])
            room[count : count + len(new)] = new
            found.append((row + done, pair, weight))
            done, count = done + len(here), count + len(new)
        self._pairs = room[:count]
        rows, pairs, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(self._pairs)
        return rows, order[np.searchsorted(self._pairs, pairs, sorter=order)], weights

    def _onward(self, pairs: Whole) -> tuple[Whole, Whole, Floats]:
        """(place in `pairs`, pair that follows, probability)."""
        state, joint = np.divmod(pairs, math.prod(self.nodes))
        action, nodes, own = self._joint_action(joint)
        reached = self.model.transition[action, state]  # [pair, s]
        place, following = np.nonzero(reached)
        seen = self.model.observation[action[place], following]  # [move, y]
        move, y = np.nonzero(seen)
        place, weight = place[move], reached[place[move], following[move]] * seen[move, y]
        parts = self.model.observation_table()[y]  # [move, n]
        onward = [self._moves[n][nodes[n][place], own[n][place], parts[:, n]] for n in range(len(nodes))]
        return place, following[move] * math.prod(self.nodes) + np.ravel_multi_index(onward, self.nodes), weight
