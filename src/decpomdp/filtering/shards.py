"""Filter and count on a cluster: the workers have the episodes, tables go out, likelihoods and tallies come back.

A shard is some chunks of some agents. Its rows are numbered by themselves, chunk after chunk. What is computed of a
chunk is what threads compute of it (`filter`, `count`), and chunks are added up one after the other, in the same
order: a running total goes from shard to shard, so that a tally per shard travels and not one per chunk. Hence the
result is the same to the last bit for any number of workers, however the chunks are dealt out.

Arrays that have travelled may be write-protected, for which the kernels would be compiled anew: they are copied first.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from time import sleep
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes
from decpomdp.engines.cluster import AHEAD, Cluster, Lost, same
from decpomdp.engines.errors import EngineError
from decpomdp.engines.threads import serial_products
from decpomdp.filtering.buffers import Buffers
from decpomdp.filtering.count import added, count_slots
from decpomdp.filtering.filter import Filtered, Floats, Kept, cumulated, filter_slots
from decpomdp.filtering.layout import ordered
from decpomdp.kernels.expectation import Slots, Tables, Tally, log_chunk
from decpomdp.kernels.weighing import running_sums

ATTEMPTS = 20  # at one step while workers die
STEP_BYTES = 24  # of a step of an agent, as it is sent and laid out
SHARE = 20  # part of a worker's memory that a shard takes at most: several are worked on, others wait on disk
Result = TypeVar("Result")


class Sent(NamedTuple):
    """The data of a shard as they travel."""

    agents: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]  # of those agents' alphabets of actions and observations
    actions: NDArray[np.int16]  # [n, r]
    observations: NDArray[np.int16]  # [n, r]
    offsets: NDArray[np.int64]  # [k + 1]
    bounds: tuple[int, ...]  # [chunk + 1] first episode of every chunk
    whole: bool  # all agents are here


class Shard(NamedTuple):
    """The same, laid out for the kernels."""

    agents: tuple[int, ...]
    slots: tuple[tuple[Slots, ...], ...]  # [n][chunk]
    offsets: NDArray[np.int64]  # [k + 1]
    whole: bool


class Shards:
    """What the workers of a cluster have, and what they are asked for."""

    def __init__(self, cluster: Cluster, episodes: Episodes, chunks: Sequence[NDArray[np.int64]]) -> None:
        self.cluster, self.episodes, self.chunks = cluster, episodes, chunks
        self.room = cluster.room  # bytes that may be kept there
        room = SHARE * STEP_BYTES * episodes.actions.size / cluster.memory
        agents, groups = dealt(len(episodes.agents), len(chunks), cluster.places, math.ceil(room))
        self.parts = [(own, some) for own in agents for some in groups]  # chunks in order, agent by agent
        self.rows = {some: _rows(episodes, self._episodes(some)) for some in groups}
        self._sent: list[Any] = [None] * len(self.parts)
        self._laid: list[Any] = [None] * len(self.parts)
        self._lasting(lambda: None)

    def likelihoods(self, tables: Sequence[Tables], keep: bool) -> tuple[Floats, Kept]:
        """Filter: see `filter.likelihoods`."""
        return self._lasting(lambda: self._likelihoods(tuple(tables), keep))

    def counted(self, tables: Sequence[Tables], nu: Floats, kept: Kept) -> list[Tally]:
        """Count: see `count.counted`."""
        found, kept[:] = list(kept), [None] * len(kept)
        try:
            return self._counted(tuple(tables), nu, found)
        except Lost:  # and what was kept with it
            del found
            return self._lasting(lambda: self._counted(tuple(tables), nu, [None] * len(self.parts)))

    def _likelihoods(self, tables: tuple[Tables, ...], keep: bool) -> tuple[Floats, Kept]:
        ask, laid = self.cluster.submit, self._laid
        out = ask(same, tables)
        if keep:
            kept = [ask(filter_shard, shard, out) for shard in laid]
            logs = [ask(logs_of, shard, found) for shard, found in zip(laid, kept, strict=True)]
        else:
            kept, logs = [None] * len(laid), [ask(filter_and_forget, shard, out) for shard in laid]
        return self._together(self.cluster.results(logs)), kept

    def _together(self, logs: Sequence[Floats]) -> Floats:
        """[r] in the order of the episodes."""
        whole = len(self.parts[0][0]) == len(self.episodes.agents)
        every = np.empty((self.episodes.steps, 1 if whole else len(self.episodes.agents)))
        for (agents, some), found in zip(self.parts, logs, strict=True):
            for column, n in enumerate((0,) if whole else agents):
                every[self.rows[some], n] = found[:, column]
        return every[:, 0] if whole else cumulated(every, self.episodes)

    def _counted(self, tables: tuple[Tables, ...], nu: Floats, kept: Kept) -> list[Tally]:
        ask = self.cluster.submit
        out = ask(same, tables)
        weights = {some: nu[rows] for some, rows in self.rows.items()}
        totals: dict[tuple[int, ...], Any] = {}
        for (agents, some), shard, found in zip(self.parts, self._laid, kept, strict=True):
            tallies = ask(count_shard, shard, out, weights[some], found)
            totals[agents] = ask(add_shard, totals.get(agents), tallies)
        return [tally for found in self.cluster.results(list(totals.values())) for tally in found]

    def _lasting(self, step: Callable[[], Result]) -> Result:
        """Do a step; if workers take data with them, send these again to others, and do it again."""
        for attempt in range(ATTEMPTS):
            try:
                self._send()
                return step()
            except Lost:
                sleep(0.1 * attempt)  # the scheduler may need a moment to tell what is gone
        raise EngineError(f"{self.cluster.name}: workers died {ATTEMPTS} times at one step")

    def _send(self) -> None:
        """What is not there, or not any more."""
        for number, (agents, some) in enumerate(self.parts):
            if self._sent[number] is None or not self.cluster.is_there(self._sent[number]):
                self._sent[number] = self.cluster.put(self._cut(agents, some))
                self._laid[number] = self.cluster.submit(lay_out_shard, self._sent[number])

    def _cut(self, agents: tuple[int, ...], some: range) -> Sent:
        episodes, own, rows = self.episodes, list(agents), self.rows[some]
        lengths = episodes.lengths[self._episodes(some)]
        return Sent(
            agents=agents,
            sizes=tuple((len(episodes.agents[n].actions), len(episodes.agents[n].observations)) for n in agents),
            actions=np.ascontiguousarray(episodes.actions[rows][:, own].T),
            observations=np.ascontiguousarray(episodes.observations[rows][:, own].T),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            bounds=tuple(np.cumsum([0, *(len(self.chunks[c]) for c in some)]).tolist()),
            whole=len(agents) == len(episodes.agents),
        )

    def _episodes(self, some: range) -> NDArray[np.int64]:
        return np.concatenate([self.chunks[c] for c in some])


def dealt(agents: int, chunks: int, places: int, least: int = 1) -> tuple[list[tuple[int, ...]], list[range]]:
    """Groups of agents and groups of chunks: `least` of these, if there are as many chunks.

    Agents are only parted where there are too few chunks for all places.
    """
    many = min(chunks, max(AHEAD * places, least))
    parts = 1 if many >= places else min(agents, -(-AHEAD * places // many))
    groups = [range(low, high) for low, high in pairwise(c * chunks // many for c in range(many + 1))]
    return [tuple(range(low, high)) for low, high in pairwise(n * agents // parts for n in range(parts + 1))], groups


def _rows(episodes: Episodes, chosen: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """The rows of some episodes, one after the other."""
    if (np.diff(chosen) == 1).all():
        return slice(int(episodes.offsets[chosen[0]]), int(episodes.offsets[chosen[-1] + 1]))
    lengths = episodes.lengths[chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return np.arange(int(lengths.sum())) + np.repeat(episodes.offsets[chosen] - starts, lengths)


def lay_out_shard(sent: Sent) -> Shard:
    """On a worker: order the slots."""
    starts, lengths = sent.offsets[:-1], np.diff(sent.offsets)
    chunks = [slice(low, high) for low, high in pairwise(sent.bounds)]
    slots = tuple(
        tuple(ordered(_own(a), _own(o), _own(starts[chunk]), lengths[chunk], sizes) for chunk in chunks)
        for a, o, sizes in zip(sent.actions, sent.observations, sent.sizes, strict=True)
    )
    return Shard(sent.agents, slots, sent.offsets, sent.whole)


def filter_shard(shard: Shard, tables: tuple[Tables, ...]) -> list[list[Filtered]]:
    """On a worker: [n][chunk] what was filtered."""
    with serial_products():
        return [
            [filter_slots(_slots(slots), _tables(tables[n]), Buffers()) for slots in own]
            for n, own in zip(shard.agents, shard.slots, strict=True)
        ]


def logs_of(shard: Shard, found: list[list[Filtered]]) -> Floats:
    """On a worker: [r, n] log p(a_t | h_t); where all agents are, [r, 1] log p(all actions so far)."""
    logs = _room(shard)
    for column, (own, filtered) in enumerate(zip(shard.slots, found, strict=True)):
        for slots, (_, inverse) in zip(own, filtered, strict=True):
            log_chunk(_slots(slots), _own(inverse), column, logs)
    return _summed(shard, logs)


def filter_and_forget(shard: Shard, tables: tuple[Tables, ...]) -> Floats:
    """On a worker: the same, one chunk in memory at a time."""
    logs, buffers = _room(shard), Buffers()
    with serial_products():
        for column, (n, own) in enumerate(zip(shard.agents, shard.slots, strict=True)):
            for slots in map(_slots, own):
                alpha, inverse = filter_slots(slots, _tables(tables[n]), buffers)
                log_chunk(slots, inverse, column, logs)
                buffers.give(alpha)
    return _summed(shard, logs)


def count_shard(
    shard: Shard, tables: tuple[Tables, ...], nu: Floats, found: list[list[Filtered]] | None
) -> list[list[Tally]]:
    """On a worker: [n][chunk] tallies."""
    weights, buffers, tallies = _own(nu), Buffers(), list[list[Tally]]()
    with serial_products():
        for place, (n, own) in enumerate(zip(shard.agents, shard.slots, strict=True)):
            kept = [None] * len(own) if found is None else [(_own(a), _own(p)) for a, p in found[place]]
            pieces = zip(map(_slots, own), kept, strict=True)
            tallies.append([count_slots(slots, _tables(tables[n]), weights, old, buffers) for slots, old in pieces])
    return tallies


def add_shard(total: list[Tally] | None, tallies: list[list[Tally]]) -> list[Tally]:
    """On a worker: [n] the total so far, and this shard's chunks in order."""
    before = [[]] * len(tallies) if total is None else [[tally] for tally in total]
    return [added([*first, *own]) for first, own in zip(before, tallies, strict=True)]


def _room(shard: Shard) -> Floats:
    return np.empty((int(shard.offsets[-1]), len(shard.agents)))


def _summed(shard: Shard, logs: Floats) -> Floats:
    if not shard.whole:
        return logs
    out = np.empty(len(logs))
    running_sums(logs, _own(shard.offsets), out)
    return out[:, None]


def _own(array: NDArray) -> NDArray:
    """The same numbers where they may be written to."""
    return np.require(array, requirements=("C", "W"))


def _slots(slots: Slots) -> Slots:
    return Slots(*(_own(array) for array in slots))


def _tables(tables: Tables) -> Tables:
    return Tables(*(_own(array) for array in tables))
