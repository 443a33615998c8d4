"""Episodes as a Parquet file: one row per (episode, t), readable by every tool that reads tables.

    episode_id int32            the rows of an episode stand together
    t int32                     0, 1, 2, ... within the episode
    observation list<int16>[N]  what the agents saw before they acted; null: nothing was seen (only at t = 0)
    action list<int16>[N]
    action_prob list<float32>[N]  probability with which the behaviour took that action; null or NaN: unknown
    reward float64
    terminated, truncated bool  on the last row of an episode: it ended by itself, or it was cut off

Compressed with zstd, with a checksum on every page. The metadata hold one JSON object under the key "decpomdp": format,
agents with their labels, discount, name, facts and the version that wrote it. A file made by another tool may use other
widths of numbers, lists without a fixed size, null for a whole list, and further columns, but has to carry that object.
"""

from decpomdp.io.episodes.read import read_episodes
from decpomdp.io.episodes.write import EpisodeWriter, episodes_digest, write_episodes

__all__ = ["EpisodeWriter", "episodes_digest", "read_episodes", "write_episodes"]
