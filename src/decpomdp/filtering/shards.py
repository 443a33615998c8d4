"""Filter and count on a cluster: workers store the episodes, receive tables, and return likelihoods and tallies.

A shard is some chunks of all agents, with its own row numbers, chunk after chunk. A chunk is computed as by
threads (`filter`, `count`), and chunks are summed in the same order: a running total is passed from shard to shard, so
that one tally per shard is sent and not one per chunk. The result is bitwise the same for any number of workers and
shards.

When a worker dies with its shards, these are sent to others and the step is repeated.

Received arrays may be read-only; they are copied, because the kernels would be compiled again for read-only arrays.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter
from time import sleep
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes
from decpomdp.engines.cluster import AHEAD, CACHE_BYTES, Cluster, EngineError, Lost, same
from decpomdp.engines.threads import serial_products
from decpomdp.filtering.filter import (
    Buffers,
    Filtered,
    FilteredChunks,
    Floats,
    added,
    count_slots,
    filter_slots,
    ordered,
)
from decpomdp.kernels.expectation import FilterTables, Slots, Tally, log_chunk, running_sums

ATTEMPTS = 20  # of one step if workers die
STEP_BYTES = 24  # of one agent-step, as it is sent and laid out
SHARD_BYTES = 64_000_000  # target size: Dask moves shards that do not fit in memory to disk
Result = TypeVar("Result")


class Sent(NamedTuple):
    """The data of a shard."""

    sizes: tuple[tuple[int, int], ...]  # [n] numbers of actions and observations
    actions: NDArray[np.int16]  # [n, r]
    observations: NDArray[np.int16]  # [n, r]
    offsets: NDArray[np.int64]  # [k + 1]
    bounds: tuple[int, ...]  # [chunk + 1] first episode of every chunk


class Shard(NamedTuple):
    """A shard laid out for the kernels."""

    slots: tuple[tuple[Slots, ...], ...]  # [n][chunk]
    offsets: NDArray[np.int64]  # [k + 1]


class Shards:
    """The shards on the workers of a cluster."""

    def __init__(self, cluster: Cluster, episodes: Episodes, chunks: Sequence[NDArray[np.int64]]) -> None:
        self.cluster, self.episodes = cluster, episodes
        self.filtered_bytes = CACHE_BYTES * cluster.workers  # limit of filtered distributions on the workers
        least = -(-STEP_BYTES * episodes.actions.size // SHARD_BYTES)
        count = min(len(chunks), max(AHEAD * cluster.places, least))
        bounds = pairwise(shard * len(chunks) // count for shard in range(count + 1))
        self.parts = [chunks[low:high] for low, high in bounds]  # the chunks of every shard
        self.rows = [_rows(episodes, np.concatenate(part)) for part in self.parts]
        self._sent: list[Any] = [None] * count  # futures of `Sent`
        self._laid: list[Any] = [None] * count  # futures of `Shard`
        self._repeated(lambda: None)

    def likelihoods(self, tables: Sequence[FilterTables], keep: bool) -> tuple[Floats, FilteredChunks]:
        """Filter: see `filter.likelihoods`."""
        return self._repeated(lambda: self._likelihoods(tuple(tables), keep))

    def counted(self, tables: Sequence[FilterTables], nu: Floats, chunks: FilteredChunks) -> list[Tally]:
        """Count: see `count.counted`."""
        filtered, chunks[:] = list(chunks), [None] * len(chunks)
        try:
            return self._counted(tuple(tables), nu, filtered)
        except Lost:  # the filtered distributions are lost: filter again
            filtered = [None] * len(chunks)
            return self._repeated(lambda: self._counted(tuple(tables), nu, filtered))

    def _likelihoods(self, tables: tuple[FilterTables, ...], keep: bool) -> tuple[Floats, FilteredChunks]:
        submit, logs = self.cluster.submit, np.empty(self.episodes.steps)
        sent = submit(same, tables)
        filtered = [submit(filter_shard, shard, sent, keep) for shard in self._laid]
        parts = self.cluster.results([submit(itemgetter(0), each) for each in filtered])
        for rows, part in zip(self.rows, parts, strict=True):
            logs[rows] = part
        return logs, filtered if keep else [None] * len(filtered)

    def _counted(self, tables: tuple[FilterTables, ...], nu: Floats, chunks: FilteredChunks) -> list[Tally]:
        submit, total = self.cluster.submit, None
        sent = submit(same, tables)
        for shard, rows, filtered in zip(self._laid, self.rows, chunks, strict=True):
            total = submit(add_shard, total, submit(count_shard, shard, sent, nu[rows], filtered))
        tallies: list[Tally] = self.cluster.results([total])[0]
        return tallies

    def _repeated(self, step: Callable[[], Result]) -> Result:
        """Do a step; if workers die with their shards, send the shards again and repeat the step."""
        for attempt in range(ATTEMPTS):
            try:
                self._send()
                return step()
            except Lost:
                sleep(0.1 * attempt)  # the client learns of the loss with a delay
        raise EngineError(f"{self.cluster.name}: workers died {ATTEMPTS} times during one step")

    def _send(self) -> None:
        """Send the shards that are not on a worker."""
        for number, (part, rows) in enumerate(zip(self.parts, self.rows, strict=True)):
            if self._sent[number] is None or self._sent[number].status != "finished":
                self._sent[number] = self.cluster.put(_cut(self.episodes, part, rows))
                self._laid[number] = self.cluster.submit(lay_out_shard, self._sent[number])


def _cut(episodes: Episodes, chunks: Sequence[NDArray[np.int64]], rows: slice | NDArray[np.int64]) -> Sent:
    lengths = episodes.lengths[np.concatenate(chunks)]
    return Sent(
        sizes=tuple((len(agent.actions), len(agent.observations)) for agent in episodes.agents),
        actions=np.ascontiguousarray(episodes.actions[rows].T),
        observations=np.ascontiguousarray(episodes.observations[rows].T),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        bounds=tuple(np.cumsum([0, *map(len, chunks)]).tolist()),
    )


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
    return Shard(slots, sent.offsets)


def filter_shard(shard: Shard, tables: tuple[FilterTables, ...], keep: bool) -> tuple[Floats, list[list[Filtered]]]:
    """On a worker: [r] log p(all actions so far); [n][chunk] the filtered distributions when `keep`."""
    steps = int(shard.offsets[-1])
    logs, out, buffers = np.empty((steps, len(tables))), np.empty(steps), Buffers()
    chunks: list[list[Filtered]] = [[] for _ in tables]
    with serial_products():
        for n, own in enumerate(shard.slots):
            for slots in map(_slots, own):
                alpha, inverse = filter_slots(slots, _tables(tables[n]), buffers)
                log_chunk(slots, inverse, n, logs)
                if keep:
                    chunks[n].append((alpha, inverse))
                else:
                    buffers.give(alpha)
    running_sums(logs, _own(shard.offsets), out)
    return out, chunks


def count_shard(
    shard: Shard, tables: tuple[FilterTables, ...], nu: Floats, filtered: tuple[Floats, list[list[Filtered]]] | None
) -> list[list[Tally]]:
    """On a worker: [n][chunk] tallies; filters again if `filtered` is None."""
    weights, buffers, tallies = _own(nu), Buffers(), list[list[Tally]]()
    with serial_products():
        for n, own in enumerate(shard.slots):
            chunks = [None] * len(own) if filtered is None else [(_own(a), _own(p)) for a, p in filtered[1][n]]
            pieces = zip(map(_slots, own), chunks, strict=True)
            tallies.append([count_slots(slots, _tables(tables[n]), weights, chunk, buffers) for slots, chunk in pieces])
    return tallies


def add_shard(total: list[Tally] | None, tallies: list[list[Tally]]) -> list[Tally]:
    """On a worker: [n] the total so far plus this shard's chunks, in order."""
    before = [[]] * len(tallies) if total is None else [[tally] for tally in total]
    return [added([*first, *own]) for first, own in zip(before, tallies, strict=True)]


def _own(array: NDArray) -> NDArray:
    """The same array, writable."""
    return np.require(array, requirements=("C", "W"))


def _slots(slots: Slots) -> Slots:
    return Slots(*(_own(array) for array in slots))


def _tables(tables: FilterTables) -> FilterTables:
    return FilterTables(*(_own(array) for array in tables))
