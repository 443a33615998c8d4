"""Episodes from and to long tables: one row per agent and step, as in spreadsheets and data frames.

    episode, t, agent     t counts 0, 1, 2, ... in every episode; every agent at every step; rows in any order
    observation, action   labels or whole numbers; the observation is the one before the action, and may be empty
                          (or -1) at t = 0: no observation
    reward                of the team; the same on all rows of a step, or empty on all but one
    action_prob           optional: probability with which the behaviour took the action; empty or NaN: unknown
    terminated, truncated optional: one of them is true on the last step of an episode; if both are, the episode
                          terminated. A missing column is the opposite of the other; without both columns, all
                          episodes count as truncated

With `bins`, observations are numbers, in one column or in columns `observation_x`, `observation_y`, ...

Tables are CSV (comma, header, UTF-8; also gzip or zstd) or Parquet. A table contains neither the discount nor labels
that never occur. If no agents are given, the alphabets are taken from the table: the numbers from 0 to the largest, or
the sorted labels.
"""

from decpomdp.io.tables.read import read_table
from decpomdp.io.tables.write import write_table

__all__ = ["read_table", "write_table"]
