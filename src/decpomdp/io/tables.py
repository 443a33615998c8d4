"""Episodes from and to long tables: one row per agent and step, as spreadsheets and data frames like them.

    episode, t, agent     who and when; t counts 0, 1, 2, ... in every episode; every agent at every step, in any order
    observation, action   labels or whole numbers; the observation is what the agent saw before it acted and may be
                          empty (or -1) at t = 0: nothing was seen
    reward                the team's; the same on all rows of a step, or empty on all but one
    action_prob           optional: probability with which the behaviour took the action; empty or NaN: unknown
    terminated, truncated optional: true on the last step: the episode ended by itself, or was cut off; both: it ended
                          by itself. With one of these columns the other is its opposite; without both, all episodes
                          count as cut off

Tables are CSV (comma, header, UTF-8; packed or not) or Parquet. They do not say which labels exist beyond those that
occur, nor the discount: whoever reads a table says so, or the alphabets are those that occur. Numbers stand for 0 to
the largest that occurs; labels are sorted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, checks
from decpomdp.io.arrow_files import arrow_file
from decpomdp.io.files import FilePath, path_of, replacing
from decpomdp.io.kinds import is_csv
from decpomdp.io.packing import packed
from decpomdp.io.stages import made
from decpomdp.io.table_files import NEEDED, OPTIONAL
from decpomdp.io.table_stages import stages_of_table


def read_table(
    path: FilePath,
    discount: float,
    agents: Sequence[Agent] | None = None,
    name: str = "",
    columns: Mapping[str, str] | None = None,
) -> Episodes:
    """The episodes in a long table: one row per agent and step (docs/data.md).

    Parameters
    ----------
    path
        CSV if the name ends in `.csv`, `.csv.gz` or `.csv.zst`, else Parquet.
    discount
        Of the rewards: a table does not say it.
    agents
        Names, actions and observations in order; None: those that occur in the table.
    name
        Of the problem, for people.
    columns
        The file's names of columns by ours, where they differ: `{"observation": "obs"}`.

    Returns
    -------
    Episodes
        Rows may stand in any order in the table.

    Raises
    ------
    FormatError
        The table cannot be read or is inconsistent; names row and column.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> import decpomdp as dp
    >>> log = ["episode,t,agent,observation,action,reward", "0,0,ann,,wait,0", "0,1,ann,dark,go,1"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = Path(folder, "log.csv").write_text(os.linesep.join(log))
    ...     episodes = dp.read_table(f"{folder}/log.csv", discount=0.9)
    >>> episodes.agents[0].actions, episodes.returns().tolist()
    (('go', 'wait'), [0.9])
    """
    episodes: Episodes = made(stages_of_table(path, discount, agents, name, columns))
    return episodes


def write_table(episodes: Episodes, path: FilePath) -> None:
    """Write all episodes as a long table, with labels: one row per agent and step (docs/data.md).

    Parameters
    ----------
    episodes
        What to write.
    path
        The new file: CSV if the name ends in `.csv`, `.csv.gz` or `.csv.zst`, else Parquet. It is written completely
        or not at all.

    Raises
    ------
    InputError
        They are no episodes, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import decpomdp as dp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dp.write_table(dp.simulate("dectiger", episodes=1, horizon=1), f"{folder}/log.csv")
    ...     print(Path(folder, "log.csv").read_text().splitlines()[0])
    "episode","t","agent","observation","action","reward","action_prob","terminated","truncated"
    """
    import pyarrow.parquet as pq
    from pyarrow import csv

    table = long_table(checks.of_kind("episodes", episodes, Episodes))
    with replacing(path) as temporary:
        if is_csv(path_of(path)):
            with packed(temporary, path_of(path)) as stream:
                csv.write_csv(table, stream)
        else:
            with arrow_file(temporary, "wb") as file:
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
    columns = (
        np.repeat(np.repeat(np.arange(episodes.count), episodes.lengths), size),
        np.repeat(episodes.times(), size),
        _labels([(agent.name,) for agent in episodes.agents], np.zeros_like(episodes.actions)),
        _labels([agent.observations for agent in episodes.agents], episodes.observations),
        _labels([agent.actions for agent in episodes.agents], episodes.actions),
        np.repeat(episodes.rewards, size),
        pa.array(behaviour, mask=np.isnan(behaviour)),
        np.repeat(ended, size),
        np.repeat(last & ~ended, size),
    )
    return pa.table(dict(zip((*NEEDED, *OPTIONAL), columns, strict=True)))


def _labels(alphabets: Sequence[Sequence[str]], symbols: NDArray[np.int16]) -> Any:
    """[r * n + n]: the label of symbols[r, n] in the alphabet of agent n; null where it is none."""
    import pyarrow as pa

    first = np.concatenate([[0], np.cumsum([len(alphabet) for alphabet in alphabets])[:-1]])
    codes = (symbols + first).ravel()
    every = pa.array([label for alphabet in alphabets for label in alphabet], pa.string())
    return every.take(pa.array(codes, mask=(symbols == NO_OBSERVATION).ravel()))
