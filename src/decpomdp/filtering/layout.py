"""Episodes in the order of the expectation kernels: chunks of episodes, divided into slots; and reusable buffers."""

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes
from decpomdp.engines.cluster import Cluster
from decpomdp.kernels.expectation import Slots, slot_order

if TYPE_CHECKING:
    from decpomdp.filtering.shards import Shards

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
        """Return an array to the pool; the caller must not use it any more."""
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
