"""Episodes from and to long tables: one row per agent and step, as spreadsheets and data frames like them.

    episode, t, agent     who and when; t counts 0, 1, 2, ... in every episode; every agent at every step, in any order
    observation, action   labels or whole numbers; the observation is what the agent saw before it acted and may be
                          empty (or -1) at t = 0: nothing was seen
    reward                the team's; the same on all rows of a step, or empty on all but one
    action_prob           optional: probability with which the behaviour took the action; empty or NaN: unknown
    terminated, truncated optional: true on the last step: the episode ended by itself, or was cut off; both: it ended
                          by itself. With one of these columns the other is its opposite; without both, all episodes
                          count as cut off

Tables are CSV (comma, header, UTF-8) or Parquet. They do not say which labels exist beyond those that occur, nor the
discount: whoever reads a table says so, or the alphabets are those that occur. Numbers stand for 0 to the largest that
occurs; labels are sorted.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, FormatError, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.io.files import FilePath, path_of, replacing
from decpomdp.io.kinds import is_csv
from decpomdp.io.table_columns import LongColumns
from decpomdp.io.table_files import NEEDED, OPTIONAL
from decpomdp.io.table_rows import Rows
from decpomdp.io.table_symbols import agents_of, symbols_of


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
        CSV if the name ends in `.csv`, else Parquet.
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
    known = None if agents is None else team_of_agents(agents)
    found = LongColumns.load(path, _renamed(columns))
    who = found.labels("agent")
    names, own = agents_of(found, who, known)  # own [row]: number of the row's agent
    rows = Rows.sort(found, names, own)
    actions = symbols_of(found, "action", rows, own, names, known)
    seen = symbols_of(found, "observation", rows, own, names, known)
    try:
        return Episodes(
            agents=_made(names, actions[1], seen[1]) if known is None else known,
            offsets=rows.offsets,
            observations=rows.by_step(seen[0]),
            actions=rows.by_step(actions[0]),
            behaviour=rows.by_step(_behaviour(found, len(own))),
            rewards=_rewards(found, rows),
            discount=discount,
            terminated=_terminated(found, rows),
            name=name,
            facts={"imported from": Path(path_of(path)).name.encode(errors="replace").decode()},
        )
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(path_of(path), None, str(error)) from None


def write_table(episodes: Episodes, path: FilePath) -> None:
    """Write all episodes as a long table, with labels: one row per agent and step (docs/data.md).

    Parameters
    ----------
    episodes
        What to write.
    path
        The new file: CSV if the name ends in `.csv`, else Parquet. It is written completely or not at all.

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
            csv.write_csv(table, str(temporary))
        else:
            pq.write_table(table, str(temporary), compression="zstd", write_page_checksum=True)


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


def _renamed(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(word, str) for pair in columns.items() for word in pair):
        raise InputError(f"columns: expected a mapping from our names to the file's, got {checks.kind_of(columns)}")
    return columns


def _made(names: Sequence[str], actions: list[tuple[str, ...]], seen: list[tuple[str, ...]]) -> tuple[Agent, ...]:
    return tuple(Agent(*parts) for parts in zip(names, actions, seen, strict=True))


def _behaviour(found: LongColumns, rows: int) -> NDArray[np.float32]:
    if not found.has("action_prob"):
        return np.full(rows, np.nan, np.float32)
    values, missing = found.numbers("action_prob", unknown=True)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    found.refuse(~missing & ~((single > 0) & (single <= 1)), "action_prob", "a probability above 0 and up to 1")
    return np.where(missing, np.float32(np.nan), single)


def _rewards(found: LongColumns, rows: Rows) -> NDArray[np.float64]:
    """[r]: the one reward of every step."""
    numbers, empty = found.numbers("reward")
    values, missing = rows.by_step(numbers), rows.by_step(empty)
    none: NDArray[np.bool_] = np.all(missing, axis=1)
    if none.any():
        found.refuse_row(rows.first_row(none[:, None] & missing), "reward", "a number on one row of the step at least")
    rewards = values[np.arange(len(values)), np.argmin(missing, axis=1)]  # of the first agent that has one
    other = ~missing & (values != rewards[:, None])
    if other.any():
        row = rows.first_row(other)
        reward = rewards[rows.step_of(row)]
        found.refuse_row(row, "reward", f"the team's reward {reward:g}, as on another row of the step")
    return rewards


def _terminated(found: LongColumns, rows: Rows) -> NDArray[np.bool_]:
    """[k]: whether every episode ended by itself."""
    last = np.zeros((len(rows.order) // rows.size, 1), bool)
    last[rows.offsets[1:] - 1] = True
    flags = {}
    for name in ("terminated", "truncated"):
        if found.has(name):
            flags[name] = rows.by_step(found.flags(name))
            early = flags[name] & ~last
            if early.any():
                found.refuse_row(rows.first_row(early), name, "false before the last step of an episode")
            differs = flags[name] != flags[name][:, :1]
            if differs.any():
                found.refuse_row(rows.first_row(differs), name, "the same for all agents of a step")
    if len(flags) == 2:
        neither = last & ~(flags["terminated"] | flags["truncated"])
        if neither.any():
            found.refuse_row(rows.first_row(neither), "terminated", "this or truncated to be true on the last step")
    if not flags:
        return np.zeros(len(rows.offsets) - 1, bool)
    ended = flags["terminated"] if "terminated" in flags else ~flags["truncated"]
    return ended[rows.offsets[1:] - 1, 0]
