"""The Markov chain of a team over the reachable pairs (state, joint node).

Two controllers of a hundred nodes have ten thousand joint nodes, of which a deterministic team reaches a handful in
every state. A search from the start finds them. The Bellman equation on these pairs alone has the same solution there,
its sparse matrix is explicit, and rewards of other pairs, which may be huge, do not add rounding errors.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, InputError, Team
from decpomdp.core.agent import LARGEST, strides_of
from decpomdp.core.sparse import sparse_rows
from decpomdp.evaluation.fixed_point import allowance, power_of
from decpomdp.kernels.model import SparseRows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BATCH = 2000  # pairs whose successors are computed at a time
CELLS = 4_000_000  # numbers in the temporary arrays of that
PAIRS = 10_000_000  # most reachable pairs: about 200 bytes each
LOOSE = 1_000_000  # moves above which those between the same pairs are merged
MOVES = 20_000_000  # most moves between them: about 100 bytes each


def is_deterministic(team: Team) -> bool:
    """Whether every probability of every controller is 0 or 1."""
    tables = (table for c in team.controllers for table in (c.initial, c.action, c.transition))
    return all(bool(np.all((table == 0) | (table == 1))) for table in tables)


def reachable_states(model: DecPOMDP, taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[s]: states that are reachable with these joint actions [u]."""
    moves: NDArray[np.bool_] = np.any(model.transition[taken] > 0, axis=0)  # [s, s1]
    met: NDArray[np.bool_] = model.start > 0
    while True:
        more = met | moves[met].any(axis=0)
        if np.array_equal(more, met):
            return met
        met = more


class ReachableChain:
    """The chain over reachable pairs; `backup` and `at_start` as in `TeamOnModel`."""

    def __init__(self, model: DecPOMDP, team: Team, most: int | None = None) -> None:
        from scipy.sparse import csr_array

        self.model, self.nodes = model, team.nodes
        if len(model.states) * math.prod(self.nodes) > LARGEST:  # pairs are numbered by 64-bit integers
            raise too_many(LARGEST, "pairs of state and joint node")
        self._acts = [sparse_rows(c.action) for c in team.controllers]  # row i
        self._moves = [sparse_rows(c.transition) for c in team.controllers]  # row (i, a, o)
        self._seen = model.observation_table()  # [y, n]
        self._strides = strides_of(self.nodes)
        self._largest = 0.0  # reward of a reachable pair
        self._pairs, self._first = self._first_pairs(team)  # [pair], growing, and the probabilities of the first ones
        batch = _batch_size(model, self._acts, self._moves)
        rows, columns, weights = self._explored(batch, MOVES if most is None else most)
        size = len(self._pairs)
        self.moves = csr_array((weights, (rows, columns)), shape=(size, size))
        self.shape = (size, 1)
        self.power = power_of(self._largest)
        parts = [self._rewards(self._pairs[at : at + batch]) for at in range(0, size, batch)]
        self.expected: Floats = np.concatenate([net for net, _ in parts])[:, None]
        self.allowance = allowance(model, team, max(float(gross.max()) for _, gross in parts))

    @property
    def discount(self) -> float:
        return self.model.discount

    def backup(self, v: Floats, rewards: Floats | None) -> Floats:
        """B v with these rewards; None: the linear part alone."""
        ahead: Floats = self.discount * np.asarray(self.moves @ v)
        return ahead if rewards is None else ahead + rewards

    def linear(self, largest: int) -> Any:
        return self.discount * self.moves

    def at_start(self, v: Floats) -> float:
        """Expectation of v at the start, in the model's own unit."""
        return float(np.ldexp(self._first @ v[: len(self._first), 0], self.power))

    def _first_pairs(self, team: Team) -> tuple[Ints, Floats]:
        """The first pairs and their probabilities."""
        pairs, weight = np.flatnonzero(self.model.start), self.model.start[self.model.start > 0]
        for controller in team.controllers:
            first = np.flatnonzero(controller.initial)
            if len(pairs) * len(first) > PAIRS:
                raise too_many(PAIRS, "pairs of state and joint node")
            pairs = (pairs[:, None] * len(controller.initial) + first).reshape(-1)
            weight = (weight[:, None] * controller.initial[first]).reshape(-1)
        return pairs, weight

    def _joint_actions(self, pairs: Ints) -> tuple[Ints, Ints, Floats, list[Ints], list[Ints]]:
        """For every possible joint action: place in `pairs`, number, probability; own nodes, own actions."""
        place, weight = np.arange(len(pairs)), np.ones(len(pairs))
        nodes = [pairs // stride % size for stride, size in zip(self._strides, self.nodes, strict=True)]
        joint = np.zeros(len(pairs), np.int64)
        own: list[Ints] = []
        for n, rows in enumerate(self._acts):
            entry, action, chance = _spread(rows, nodes[n][place])
            place, weight, own = place[entry], weight[entry] * chance, [*(each[entry] for each in own), action]
            joint = joint[entry] * len(self.model.agents[n].actions) + action
        return place, joint, weight, [each[place] for each in nodes], own

    def _rewards(self, pairs: Ints) -> tuple[Floats, Floats]:
        """The expected reward at pairs, and the expected absolute reward, in the unit of the chain."""
        place, action, weight, _, _ = self._joint_actions(pairs)
        reward = np.ldexp(self.model.reward[action, (pairs // math.prod(self.nodes))[place]], -self.power)
        net, gross = (np.bincount(place, weight * each, len(pairs)) for each in (reward, np.abs(reward)))
        return net.astype(np.float64), gross.astype(np.float64)

    def _explored(self, batch: int, most: int) -> tuple[Ints, Ints, Floats]:
        """Find all pairs; (row, column, probability) of every move between them."""
        parts: list[tuple[Ints, Ints, Floats]] = []
        known = set(self._pairs.tolist())
        buffer, count, done = self._pairs, len(self._pairs), 0  # the first `count` pairs of `buffer` are known
        moves, merging = 0, False
        while done < count:
            here = buffer[done : min(done + batch, count)]
            row, pair, weight = _merged(*self._successors(here)) if merging else self._successors(here)
            new = [each for each in np.unique(pair).tolist() if each not in known]
            known.update(new)
            parts.append((row + done, pair, weight))
            moves += len(pair)
            if moves > min(LOOSE, most) and not merging:
                merging, parts = True, [_merged(*each) for each in parts]
                moves = sum(len(each) for each, _, _ in parts)
            if count + len(new) > PAIRS or moves > most:
                what = "pairs of state and joint node" if count + len(new) > PAIRS else "moves between pairs"
                raise too_many(PAIRS if count + len(new) > PAIRS else most, what)
            if count + len(new) > len(buffer):
                buffer = np.concatenate([buffer, np.empty(len(buffer) + len(new), np.int64)])
            buffer[count : count + len(new)] = new
            done, count = done + len(here), count + len(new)
        self._pairs = buffer[:count]
        rows, pairs, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(self._pairs)
        return rows, order[np.searchsorted(self._pairs, pairs, sorter=order)], weights

    def _successors(self, pairs: Ints) -> tuple[Ints, Ints, Floats]:
        """(place in `pairs`, next pair, probability) of every move."""
        place, action, weight, nodes, own = self._joint_actions(pairs)
        state = (pairs // math.prod(self.nodes))[place]
        self._largest = max(self._largest, float(np.abs(self.model.reward[action, state]).max()))
        reached = self.model.transition[action, state]  # [choice, s]
        choice, following = np.nonzero(reached)
        seen = self.model.observation[action[choice], following]  # [move, y]
        move, y = np.nonzero(seen)
        choice, after = choice[move], following[move]
        weight = weight[choice] * (reached[choice, after] * seen[move, y])
        parts = self._seen[y]  # [move, n]
        for n, rows in enumerate(self._moves):
            agent = self.model.agents[n]
            row = (nodes[n][choice] * len(agent.actions) + own[n][choice]) * len(agent.observations) + parts[:, n]
            entry, node, chance = _spread(rows, row)
            choice, parts, weight = choice[entry], parts[entry], weight[entry] * chance
            after = after[entry] * self.nodes[n] + node
        return place[choice], after, weight


def _merged(row: Ints, pair: Ints, weight: Floats) -> tuple[Ints, Ints, Floats]:
    """Moves with the same origin and target, merged."""
    ahead, number = np.unique(pair, return_inverse=True)
    moves, which = np.unique(row * len(ahead) + number, return_inverse=True)
    return moves // len(ahead), ahead[moves % len(ahead)], np.bincount(which, weight, len(moves)).astype(np.float64)


def _spread(rows: SparseRows, which: Ints) -> tuple[Ints, Ints, Floats]:
    """All entries of some rows: place in `which`, column, value."""
    begins, counts = rows.offsets[which], rows.offsets[which + 1] - rows.offsets[which]
    entry = np.repeat(np.arange(len(which)), counts)
    at = np.arange(len(entry)) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
    return entry, rows.columns[at], rows.values[at]


def _batch_size(model: DecPOMDP, acts: list[SparseRows], moves: list[SparseRows]) -> int:
    """The number of pairs whose successors are computed at a time, within CELLS numbers."""
    choices = math.prod(int(np.diff(rows.offsets).max()) for rows in acts)
    onward = math.prod(int(np.diff(rows.offsets).max()) for rows in moves)
    symbols = model.observation.shape[-1]
    if BATCH * choices * onward * len(model.states) * symbols <= CELLS:
        return BATCH
    states, seen = (int(np.count_nonzero(t, axis=-1).max()) for t in (model.transition, model.observation))
    each = choices * max(len(model.states), states * max(symbols, seen * onward))
    if each > CELLS and choices * onward > 1:  # else it is no more than the model itself
        raise too_many(CELLS, "numbers about what follows a pair")
    return max(1, min(BATCH, CELLS // each))


def too_many(most: int, what: str) -> InputError:
    """The error for a chain that is too large."""
    return InputError(f"exact value: expected at most {most} {what}, got more; estimate it from episodes instead")
