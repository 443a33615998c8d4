"""Episodes from and to long tables: one row per agent and step, as spreadsheets and data frames have them.

    episode, t, agent     t counts 0, 1, 2, ... in every episode; every agent at every step; rows in any order
    observation, action   labels or whole numbers; the observation is what the agent saw before it acted and may be
                          empty (or -1) at t = 0: nothing was seen
    reward                the team's; the same on all rows of a step, or empty on all but one
    action_prob           optional: probability with which the behaviour took the action; empty or NaN: unknown
    terminated, truncated optional: true on the last step: the episode ended by itself, or was cut off; both: it ended
                          by itself. With one of these columns the other is its opposite; without both, all episodes
                          count as cut off

Tables are CSV (comma, header, UTF-8; also gzip or zstd) or Parquet. A table does not hold the discount, nor labels that
never occur. Without known agents the alphabets are those that occur: numbers stand for 0 to the largest, labels are
sorted.
"""

from decpomdp.io.tables.read import read_table
from decpomdp.io.tables.write import write_table

__all__ = ["read_table", "write_table"]
