"""Episodes in the order in which the expectation kernels visit them: chunks of episodes, slots."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes
from decpomdp.filtering.buffers import Buffers
from decpomdp.kernels.expectation import Slots, slot_order

CHUNK_EPISODES = 1024  # enough episodes side by side that those sharing (a, o) make a matrix
CHUNK_BYTES = 64_000_000  # of filtered node distributions in a chunk


@dataclass(frozen=True, slots=True)
class Layout:
    """Slots of every agent and chunk. Fixed for a fit: sums over chunks are always taken in the same order."""

    episodes: Episodes
    chunks: tuple[tuple[Slots, ...], ...]  # [n][chunk]
    buffers: Buffers  # room for what the kernels compute on a chunk

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """Every (agent, chunk): the pieces of parallel work."""
        return [(n, c) for n in range(len(self.chunks)) for c in range(len(self.chunks[n]))]


def lay_out(episodes: Episodes, nodes: int) -> Layout:
    """Lay out `episodes` for controllers of about `nodes` nodes."""
    longest = int(episodes.lengths.max())
    size = max(1, min(CHUNK_EPISODES, CHUNK_BYTES // (8 * longest * nodes)))
    by_length = np.argsort(-episodes.lengths, kind="stable")
    chunks = [np.sort(by_length[first : first + size]) for first in range(0, episodes.count, size)]
    agents = range(len(episodes.agents))
    slots = tuple(tuple(slots_of(episodes, n, chunk) for chunk in chunks) for n in agents)
    return Layout(episodes, slots, Buffers())


def slots_of(episodes: Episodes, n: int, chunk: NDArray[np.int64]) -> Slots:
    """The steps of agent n in the episodes numbered in `chunk`."""
    agent = episodes.agents[n]
    lengths = episodes.lengths[chunk]
    total, longest = int(lengths.sum()), int(lengths.max())
    slots = Slots(
        groups=np.empty((len(agent.actions) * len(agent.observations) + 1, longest + 1), np.int64),
        onward=np.empty(total, np.int32),
        before=np.empty(total, np.int32),
        action=np.empty(total, np.int16),
        rows=np.empty(total, np.int64),
        first=np.empty(total, np.int16),
    )
    actions = np.ascontiguousarray(episodes.actions[:, n])
    observations = np.ascontiguousarray(episodes.observations[:, n])
    slot_order(actions, observations, episodes.offsets[chunk], lengths, len(agent.observations), slots)
    return slots


def group_size(slots: Slots) -> int:
    """Slots of the largest pair and time."""
    return int(np.diff(slots.groups, axis=1).max())
