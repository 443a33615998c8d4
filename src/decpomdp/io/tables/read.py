"""Reading long tables: columns from left to right, each first by itself, then together with episode, t and agent."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes, FormatError, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.io.files import FilePath, path_of
from decpomdp.io.tables.columns import Columns
from decpomdp.io.tables.files import load_table
from decpomdp.io.tables.rows import Owners, Rows, owners_of
from decpomdp.io.tables.symbols import Symbols, symbols_of
from decpomdp.io.validation import Checks

Numbers = tuple[NDArray[np.float64], NDArray[np.bool_]]  # [row] values, and [row] which cells are empty
FLAGS = ("terminated", "truncated")


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
    ...     episodes = dp.Episodes.load(f"{folder}/log.csv", discount=0.9)
    >>> episodes.agents[0].actions, episodes.returns().tolist()
    (('go', 'wait'), [0.9])
    """
    episodes: Episodes = table_in(path, discount, agents, name, columns, Checks())
    return episodes


def table_in(
    path: FilePath,
    discount: float,
    agents: Sequence[Agent] | None,
    name: str,
    renamed: Mapping[str, str] | None,
    check: Checks,
) -> Any:
    """`read_table`; None if a check failed and its error was collected."""
    known = None if agents is None else team_of_agents(agents)
    columns = check.run(_columns, path_of(path), _renamed(renamed))
    episode = check.run(Columns.labels, columns, "episode")
    times = check.run(Columns.times, columns, "t")
    owners = check.run(partial(owners_of, known), columns, check.run(Columns.labels, columns, "agent"))
    rows = check.run(Rows.sort, columns, owners, episode, times)
    cells = check.run(Columns.labels, columns, "observation", True)
    seen = check.run(partial(symbols_of, "observation", known), columns, rows, owners, cells)
    cells = check.run(Columns.labels, columns, "action")
    actions = check.run(partial(symbols_of, "action", known), columns, rows, owners, cells)
    rewards = check.run(_rewards, columns, rows, check.run(Columns.numbers, columns, "reward"))
    behaviour = check.run(_behaviour, columns)
    flags = [check.run(Columns.flags, columns, flag) for flag in FLAGS]
    ended = check.run(_ended, columns, rows, *flags)
    make = partial(_episodes, known, discount, name)
    return check.run(make, columns, owners, rows, seen, actions, rewards, behaviour, ended)


def _columns(source: str, renamed: Mapping[str, str]) -> Columns:
    return Columns(source, *load_table(source, renamed))


def _episodes(
    known: Sequence[Agent] | None,
    discount: float,
    name: str,
    columns: Columns,
    owners: Owners,
    rows: Rows,
    seen: Symbols,
    actions: Symbols,
    rewards: NDArray[np.float64],
    behaviour: NDArray[np.float32],
    ended: NDArray[np.bool_],
) -> Episodes:
    try:
        return Episodes(
            agents=tuple(known or map(Agent, owners.names, actions.alphabets, seen.alphabets)),
            offsets=rows.offsets,
            observations=seen.symbols.astype(np.int16),
            actions=actions.symbols.astype(np.int16),
            behaviour=rows.by_step(behaviour),
            rewards=rewards,
            discount=discount,
            terminated=ended,
            name=name,
            facts={"imported from": Path(columns.source).name.encode(errors="replace").decode()},
        )
    except InputError as error:
        raise FormatError(columns.source, None, str(error)) from None


def _renamed(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(word, str) for pair in columns.items() for word in pair):
        raise InputError(f"columns: expected a mapping from our names to the file's, got {checks.kind_of(columns)}")
    return columns


def _behaviour(columns: Columns) -> NDArray[np.float32]:
    """[row]: NaN where it is not known."""
    if not columns.has("action_prob"):
        return np.full(len(columns.table), np.nan, np.float32)
    values, missing = columns.numbers("action_prob", unknown=True)
    with np.errstate(over="ignore", invalid="ignore"):  # becomes inf and is refused; a NaN of any kind is one
        single = values.astype(np.float32)
    columns.refuse(~missing & ~((single > 0) & (single <= 1)), "action_prob", "a probability above 0 and up to 1")
    return np.where(missing, np.float32(np.nan), single)


def _rewards(columns: Columns, rows: Rows, cells: Numbers) -> NDArray[np.float64]:
    """[r]: the one reward of every step."""
    values, missing = (rows.by_step(part) for part in cells)
    none: NDArray[np.bool_] = np.all(missing, axis=1)
    if none.any():
        columns.refuse_row(rows.first(none[:, None] & missing), "reward", "a number on one row of the step at least")
    rewards = values[np.arange(len(values)), np.argmin(missing, axis=1)]  # of the first agent that has one
    other = ~missing & (values != rewards[:, None])
    if other.any():
        row = rows.first(other)
        reward = rewards[np.argwhere(rows.order == row)[0, 0]]
        columns.refuse_row(row, "reward", f"the team's reward {reward:g}, as on another row of the step")
    return rewards


def _ended(columns: Columns, rows: Rows, *cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[k]: whether every episode ended by itself."""
    last = np.zeros((len(rows.order), 1), bool)
    last[rows.offsets[1:] - 1] = True
    flags = {name: rows.by_step(values) for name, values in zip(FLAGS, cells, strict=True) if len(values)}
    for name, values in flags.items():
        early = values & ~last
        if early.any():
            columns.refuse_row(rows.first(early), name, "false before the last step of an episode")
        differs = values != values[:, :1]
        if differs.any():
            columns.refuse_row(rows.first(differs), name, "the same for all agents of a step")
    if len(flags) == 2:
        neither = last & ~(flags["terminated"] | flags["truncated"])
        if neither.any():
            columns.refuse_row(rows.first(neither), "terminated", "this or truncated to be true on the last step")
    if not flags:
        return np.zeros(len(rows.offsets) - 1, bool)
    ended = flags["terminated"] if "terminated" in flags else ~flags["truncated"]
    return ended[rows.offsets[1:] - 1, 0]
