"""Filter and count: episodes and controllers into likelihoods and expected counts (`kernels.expectation`).

Filter: the probability of every action given the agent's own history, with the hidden node summed out, by one forward
pass per agent and chunk of episodes. `log_likelihood` returns only the probabilities. Count: one backward pass over the
filtered node distributions, summed over the chunks in order.

Episodes are laid out in the order of the kernels: chunks of episodes, divided into slots.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, Team
from decpomdp.engines import threads as engine
from decpomdp.engines.cluster import Cluster
from decpomdp.kernels.expectation import (
    FilterTables,
    Slots,
    Tally,
    count_chunk,
    filter_chunk,
    log_chunk,
    running_sums,
    slot_order,
)

if TYPE_CHECKING:
    from decpomdp.filtering.shards import Shards

Floats = NDArray[np.float64]
CHUNK_EPISODES = 1024  # enough for matrix products over the episodes with the same (a, o)
CHUNK_BYTES = 64_000_000  # of filtered node distributions in a chunk
BUFFER_BYTES = 600_000_000  # of unused buffers, at most

Precision = np.dtype[np.float32] | np.dtype[np.float64]


class Buffers:
    """A pool of large arrays: allocating fresh memory can cost as much as a sweep."""

    def __init__(self) -> None:
        self._unused: list[NDArray[np.floating]] = []
        self._lock = threading.Lock()

    def take(self, rows: int, columns: int, precision: Precision) -> NDArray[np.floating]:
        """An uninitialised array [rows, columns]."""
        size = rows * columns
        with self._lock:
            for place, buffer in enumerate(self._unused):
                if buffer.dtype == precision and size <= buffer.size <= 2 * size:
                    return self._unused.pop(place)[:size].reshape(rows, columns)
        return np.empty(size, precision).reshape(rows, columns)

    def give(self, used: NDArray[np.floating]) -> None:
        """Return an array to the pool; the caller must not use it afterwards."""
        flat = used.base if isinstance(used.base, np.ndarray) else used.reshape(-1)
        while isinstance(flat.base, np.ndarray):
            flat = flat.base
        with self._lock:
            self._unused.append(flat)
            while sum(buffer.nbytes for buffer in self._unused) > BUFFER_BYTES:
                del self._unused[0]


@dataclass(frozen=True, slots=True)
class Layout:
    """Slots of every agent and chunk. Fixed for a fit: sums over chunks are always taken in the same order."""

    episodes: Episodes
    chunks: tuple[tuple[Slots, ...], ...]  # [n][chunk]; empty on a cluster: see `shards`
    buffers: Buffers  # for filtered distributions of a chunk
    shards: "Shards | None" = None  # on the workers of a cluster

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """Every (agent, chunk): the pieces of parallel work."""
        return [(n, c) for n in range(len(self.chunks)) for c in range(len(self.chunks[n]))]


def lay_out(episodes: Episodes, nodes: int, engine: Cluster | None = None) -> Layout:
    """Lay out `episodes` for controllers of about `nodes` nodes, in this process or on the workers of a cluster."""
    chunks = chunks_of(episodes, nodes)
    if engine is not None:
        from decpomdp.filtering.shards import Shards

        return Layout(episodes, (), Buffers(), Shards(engine, episodes, chunks))
    agents = range(len(episodes.agents))
    slots = tuple(tuple(slots_of(episodes, n, chunk) for chunk in chunks) for n in agents)
    return Layout(episodes, slots, Buffers())


def chunks_of(episodes: Episodes, nodes: int) -> list[NDArray[np.int64]]:
    """The episode numbers of every chunk; a chunk has episodes of similar length."""
    longest = int(episodes.lengths.max())
    size = max(1, min(CHUNK_EPISODES, CHUNK_BYTES // (8 * longest * nodes)))
    by_length = np.argsort(-episodes.lengths, kind="stable")
    return [np.sort(by_length[first : first + size]) for first in range(0, episodes.count, size)]


def slots_of(episodes: Episodes, n: int, chunk: NDArray[np.int64]) -> Slots:
    """The steps of agent n in the episodes numbered in `chunk`."""
    agent = episodes.agents[n]
    # copies, also of contiguous columns: kernels are compiled once, for writable arrays
    actions, observations = episodes.actions[:, n].copy(), episodes.observations[:, n].copy()
    sizes = len(agent.actions), len(agent.observations)
    return ordered(actions, observations, episodes.offsets[chunk], episodes.lengths[chunk], sizes)


def ordered(
    actions: NDArray[np.int16],  # [r] of one agent
    observations: NDArray[np.int16],  # [r]
    starts: NDArray[np.int64],  # [k] first row of every episode
    lengths: NDArray[np.int64],  # [k]
    sizes: tuple[int, int],  # of its alphabets of actions and observations
) -> Slots:
    """The slots of these episodes."""
    total, longest = int(lengths.sum()), int(lengths.max())
    slots = Slots(
        groups=np.empty((sizes[0] * sizes[1] + 1, longest + 1), np.int64),
        onward=np.empty(total, np.int32),
        before=np.empty(total, np.int32),
        action=np.empty(total, np.int16),
        rows=np.empty(total, np.int64),
        first=np.empty(total, np.int16),
    )
    slot_order(actions, observations, starts, lengths, sizes[1], slots)
    return slots


def group_size(slots: Slots) -> int:
    """The largest number of slots with the same (a, o) and time."""
    return int(np.diff(slots.groups, axis=1).max())


def cumulated(values: Floats, episodes: Episodes) -> Floats:
    """[r]: values[r, n] summed over agents and along each episode."""
    out = np.empty(len(episodes.rewards))
    running_sums(values, episodes.offsets, out)
    return out


def log_likelihood(episodes: Episodes, team: Team, threads: int | None = None) -> Floats:
    """[r]: log probability that `team` takes all actions so far, given its agents' observations."""
    layout = lay_out(episodes, max(team.nodes))
    tables = [tables_of(team, n) for n in range(len(team.agents))]
    with engine.serial_products():
        logs, _ = filtered(layout, tables, False, threads)
    return cumulated(logs, episodes)


def tables_of(team: Team, n: int) -> FilterTables:
    """The tables of a team's controller for the filter."""
    controller = team.controllers[n]
    z, symbols = controller.nodes, controller.observations
    initial = np.tile(controller.initial, (1 + symbols, 1))
    if controller.initial_given is not None:
        initial[1:] = controller.initial_given
    # copies, also of contiguous arrays: kernels are compiled once, for writable arrays
    move = np.array(controller.transition.transpose(1, 2, 0, 3).reshape(-1, z, z), order="C")
    return FilterTables(
        initial, np.array(controller.action.T, order="C"), move, np.array(move.transpose(0, 2, 1), order="C")
    )


Filtered = tuple[NDArray[np.floating], NDArray[np.floating]]  # alpha [slot, i], 1 / p [slot]
FilteredChunks = list[Any]  # [piece] Filtered or None; on a cluster: [shard] a future or None


def likelihoods(
    layout: Layout, tables: Sequence[FilterTables], keep: bool, threads: int | None = None
) -> tuple[Floats, FilteredChunks]:
    """Filter by threads or on a cluster: [r] log p(all actions so far), and the filtered chunks if `keep`."""
    if layout.shards is not None:
        return layout.shards.likelihoods(tables, keep)
    logs, chunks = filtered(layout, tables, keep, threads)
    return cumulated(logs, layout.episodes), chunks


def filtered(
    layout: Layout, tables: Sequence[FilterTables], keep: bool, threads: int | None = None
) -> tuple[Floats, list[Filtered | None]]:
    """Filter: log p(a_t | h_t) of every row and agent, and the filtered chunks if `keep`."""
    pieces, logs = layout.pieces, np.empty((len(layout.episodes.rewards), len(tables)))

    def piece(number: int) -> Filtered | None:
        n, c = pieces[number]
        alpha, inverse = filter_slots(layout.chunks[n][c], tables[n], layout.buffers)
        log_chunk(layout.chunks[n][c], inverse, n, logs)
        if keep:
            return alpha, inverse
        layout.buffers.give(alpha)
        return None

    return logs, engine.run(piece, len(pieces), threads)


def filter_slots(slots: Slots, tables: FilterTables, buffers: Buffers) -> Filtered:
    """Filter one chunk of one agent."""
    z, precision = tables.act.shape[1], tables.act.dtype
    alpha, inverse = buffers.take(len(slots.rows), z, precision), np.empty(len(slots.rows), precision)
    filter_chunk(slots, tables, alpha, inverse, np.empty((group_size(slots), z), precision))
    return alpha, inverse


def counted(
    layout: Layout,
    tables: Sequence[FilterTables],
    nu: NDArray[np.float64],
    chunks: FilteredChunks,
    threads: int | None = None,
) -> list[Tally]:
    """The tally of every agent, computed by threads or on a cluster. Frees the filtered chunks."""
    if layout.shards is not None:
        return layout.shards.counted(tables, nu, chunks)

    pieces = layout.pieces

    def piece(number: int) -> Tally:
        n, c = pieces[number]
        chunk, chunks[number] = chunks[number], None
        tally = count_slots(layout.chunks[n][c], tables[n], nu, chunk, layout.buffers)
        if chunk is not None:
            layout.buffers.give(chunk[0])
        return tally

    tallies = engine.run(piece, len(pieces), threads)
    owners = [n for n, _ in pieces]
    return [added(tally for m, tally in zip(owners, tallies, strict=True) if m == n) for n in range(len(layout.chunks))]


def count_slots(
    slots: Slots, tables: FilterTables, nu: NDArray[np.float64], filtered: Filtered | None, buffers: Buffers
) -> Tally:
    """Count one chunk of one agent; filter it first if `filtered` is None."""
    alpha, inverse = filtered or filter_slots(slots, tables, buffers)
    tally = Tally(np.zeros(tables.initial.shape), np.zeros(tables.act.shape), np.zeros(tables.move.shape))
    carried = buffers.take(len(alpha), alpha.shape[1], alpha.dtype)
    scratch = np.empty((group_size(slots), alpha.shape[1]), alpha.dtype)
    count_chunk(slots, tables, alpha, inverse, nu, tally, carried, scratch)
    buffers.give(carried)
    if filtered is None:
        buffers.give(alpha)
    return tally


def added(tallies: Iterable[Tally]) -> Tally:
    """The sum in order: rounding depends on the order."""
    return reduce(lambda total, tally: Tally(*(a + b for a, b in zip(total, tally, strict=True))), tallies)
