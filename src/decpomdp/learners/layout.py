"""Episodes in the order in which the expectation kernels visit them: chunks of episodes, blocks of time, slots."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes
from decpomdp.kernels.expectation import Slots, slot_order

CHUNK_EPISODES = 1024  # enough episodes side by side that those sharing (a, o) make a matrix
CHUNK_BYTES = 64_000_000  # of filtered node distributions in a chunk


@dataclass(frozen=True, slots=True)
class Layout:
    """Slots of every agent and chunk. Fixed for a fit: sums over chunks are always taken in the same order."""

    episodes: Episodes
    chunks: tuple[tuple[Slots, ...], ...]  # [n][chunk]

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
    return Layout(episodes, tuple(tuple(_slots(episodes, n, chunk) for chunk in chunks) for n in agents))


def _slots(episodes: Episodes, n: int, chunk: NDArray[np.int64]) -> Slots:
    agent = episodes.agents[n]
    lengths = episodes.lengths[chunk]
    running = len(chunk) - np.cumsum(np.bincount(lengths, minlength=lengths.max() + 1))[: lengths.max()]
    blocks = np.concatenate([[0], np.cumsum(running)]).astype(np.int64)
    pairs = len(agent.actions) * len(agent.observations)
    total = int(blocks[-1])
    slots = Slots(
        blocks=blocks,
        groups=np.empty((len(blocks) - 1, pairs + 1), np.int64),
        onward=np.empty(total, np.int32),
        action=np.empty(total, np.int16),
        rows=np.empty(total, np.int64),
        first=np.empty(blocks[1], np.int16),
    )
    actions = np.ascontiguousarray(episodes.actions[:, n])
    observations = np.ascontiguousarray(episodes.observations[:, n])
    slot_order(actions, observations, episodes.offsets[chunk], lengths, len(agent.observations), slots)
    return slots
