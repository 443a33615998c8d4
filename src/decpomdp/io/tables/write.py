"""Writing long tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Episodes, checks
from decpomdp.io.files import FilePath, is_csv, path_of, replacing

PACKED = {".gz": "gzip", ".zst": "zstd"}  # ending of a name -> compression


def write_table(episodes: Episodes, path: FilePath) -> None:
    """Write all episodes as a long table: CSV if the name ends in `.csv`, `.csv.gz` or `.csv.zst`, else Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    table = long_table(checks.of_kind("episodes", episodes, Episodes))
    with replacing(path) as temporary, open(temporary, "wb") as file:
        if is_csv(path_of(path)):
            with pa.output_stream(file, compression=PACKED.get(Path(path).suffix.lower())) as stream:
                csv.write_csv(table, stream)
        else:
            pq.write_table(table, file, compression="zstd", write_page_checksum=True)


def long_table(episodes: Episodes) -> Any:
    """The episodes as an Arrow table with one row per agent and step, with labels."""
    import pyarrow as pa

    size = len(episodes.agents)
    last = np.zeros(episodes.steps, bool)
    last[episodes.offsets[1:] - 1] = True
    ended = np.zeros(episodes.steps, bool)
    ended[episodes.offsets[1:] - 1] = episodes.terminated
    behaviour = episodes.behaviour.ravel()
    columns = {
        "episode": np.repeat(np.repeat(np.arange(episodes.count), episodes.lengths), size),
        "t": np.repeat(episodes.times(), size),
        "agent": _texts([(agent.name,) for agent in episodes.agents], np.zeros_like(episodes.actions)),
        "observation": _texts([agent.observations for agent in episodes.agents], episodes.observations),
        "action": _texts([agent.actions for agent in episodes.agents], episodes.actions),
        "reward": np.repeat(episodes.rewards, size),
        "action_prob": pa.array(behaviour, mask=np.isnan(behaviour)),
        "terminated": np.repeat(ended, size),
        "truncated": np.repeat(last & ~ended, size),
    }
    return pa.table(columns)


def _texts(alphabets: Sequence[Sequence[str]], symbols: NDArray[np.int16]) -> Any:
    """[r * N + n]: the label of symbols[r, n] in the alphabet of agent n; null where nothing was seen."""
    import pyarrow as pa

    first = np.concatenate([[0], np.cumsum([len(alphabet) for alphabet in alphabets])[:-1]])
    codes = (symbols + first).ravel()
    every = pa.array([label for alphabet in alphabets for label in alphabet], pa.string())
    return every.take(pa.array(codes, mask=(symbols == NO_OBSERVATION).ravel()))
