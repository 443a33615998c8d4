"""One number for everything in an episodes file: what was changed after it was written is noticed.

The pages of a Parquet file have checksums of their own; its footer, which says what the agents, labels and discount
are and where the pages lie, has none. The digest is SHA-256 over the metadata and every column, each column as the
numbers that a reader gets: it depends neither on how the rows were divided nor on how they were compressed. It is
meant against accidents: whoever changes a file on purpose can make a new digest too.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes

DIGEST_KEY = "decpomdp-digest"  # of the file's metadata, beside that of what it says
COLUMNS = ("length", "observation", "action", "action_prob", "reward", "terminated")


class Digest:
    """Takes episodes as they come; the same for the same rows, however many come at a time."""

    def __init__(self) -> None:
        self._columns = {name: hashlib.sha256() for name in COLUMNS}

    def add(self, episodes: Episodes) -> None:
        """The next episodes of the file."""
        for name, column in zip(COLUMNS, _columns_of(episodes), strict=True):
            self._columns[name].update(column.tobytes())

    def text(self, about: bytes) -> str:
        """The digest of all episodes so far and of what the file says about them."""
        whole = hashlib.sha256(len(about).to_bytes(8, "little") + about)
        for name, column in self._columns.items():
            whole.update(name.encode() + column.digest())
        return f"sha256:{whole.hexdigest()}"


def digest_of(episodes: Episodes, about: bytes) -> str:
    """The digest of a file with these episodes."""
    digest = Digest()
    digest.add(episodes)
    return digest.text(about)


def _columns_of(episodes: Episodes) -> tuple[NDArray, ...]:
    """The columns as little-endian numbers; unknown probabilities are one NaN, zero rewards have one sign."""
    known = np.where(np.isnan(episodes.behaviour), np.float32(np.nan), episodes.behaviour)
    return (
        episodes.lengths.astype("<i8"),
        episodes.observations.astype("<i2"),
        episodes.actions.astype("<i2"),
        known.astype("<f4"),
        (episodes.rewards + 0.0).astype("<f8"),
        np.asarray(episodes.terminated, np.uint8),
    )
