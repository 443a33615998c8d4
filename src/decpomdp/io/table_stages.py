"""The stages of reading a long table (see `stages`).

In this order: whether it can be read, who and when (episode, t, agent), and then its columns from left to right, each
first by itself and then together with who and when.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, Episodes, FormatError, InputError, checks
from decpomdp.core.agent import team_of_agents
from decpomdp.io.files import FilePath, path_of
from decpomdp.io.stages import Stage
from decpomdp.io.table_columns import LongColumns
from decpomdp.io.table_owners import agents_of
from decpomdp.io.table_rows import Owners, Rows
from decpomdp.io.table_symbols import Symbols, symbols_of

Numbers = tuple[NDArray[np.float64], NDArray[np.bool_]]  # [row] values, and where there is none
FLAGS = ("terminated", "truncated")
PARTS = ("rows", "observations", "actions", "rewards", "behaviour", "ended")  # of episodes


def stages_of_table(
    path: FilePath,
    discount: float,
    agents: Sequence[Agent] | None = None,
    name: str = "",
    columns: Mapping[str, str] | None = None,
) -> list[Stage]:
    """The stages of `read_table`."""
    known = None if agents is None else team_of_agents(agents)
    names, source = _renamed(columns), path_of(path)
    here = ("columns",)
    by_symbol = ("columns", "rows", "owners")
    return [
        Stage("columns", (), lambda: LongColumns.load(source, names)),
        Stage("episode", here, lambda found: found.labels("episode")),
        Stage("t", here, lambda found: found.times("t")),
        Stage("agent", here, lambda found: found.labels("agent")),
        Stage("owners", ("columns", "agent"), lambda found, who: agents_of(found, who, known)),
        Stage("rows", ("columns", "owners", "episode", "t"), Rows.sort),
        Stage("observation", here, lambda found: found.labels("observation", empty=True)),
        Stage("observations", (*by_symbol, "observation"), partial(symbols_of, "observation", known)),
        Stage("action", here, lambda found: found.labels("action")),
        Stage("actions", (*by_symbol, "action"), partial(symbols_of, "action", known)),
        Stage("reward", here, lambda found: found.numbers("reward")),
        Stage("rewards", ("columns", "rows", "reward"), _rewards),
        Stage("behaviour", here, _behaviour),
        *(Stage(flag, here, partial(_flags, flag)) for flag in FLAGS),
        Stage("ended", ("columns", "rows", *FLAGS), _ended),
        Stage("episodes", ("owners", *PARTS), partial(_episodes, source, known, discount, name)),
    ]


def _episodes(
    source: str,
    known: Sequence[Agent] | None,
    discount: float,
    name: str,
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
            agents=_agents(owners[0], actions.alphabets, seen.alphabets) if known is None else tuple(known),
            offsets=rows.offsets,
            observations=rows.by_step(seen.symbols),
            actions=rows.by_step(actions.symbols),
            behaviour=rows.by_step(behaviour),
            rewards=rewards,
            discount=discount,
            terminated=ended,
            name=name,
            facts={"imported from": Path(source).name.encode(errors="replace").decode()},
        )
    except InputError as error:
        raise FormatError(source, None, str(error)) from None


def _renamed(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(word, str) for pair in columns.items() for word in pair):
        raise InputError(f"columns: expected a mapping from our names to the file's, got {checks.kind_of(columns)}")
    return columns


def _agents(names: Sequence[str], actions: list[tuple[str, ...]], seen: list[tuple[str, ...]]) -> tuple[Agent, ...]:
    return tuple(Agent(*parts) for parts in zip(names, actions, seen, strict=True))


def _behaviour(found: LongColumns) -> NDArray[np.float32]:
    """[row]: NaN where it is not known."""
    if not found.has("action_prob"):
        return np.full(len(found.table), np.nan, np.float32)
    values, missing = found.numbers("action_prob", unknown=True)
    with np.errstate(over="ignore", invalid="ignore"):  # becomes inf and is refused; a NaN of any kind is one
        single = values.astype(np.float32)
    found.refuse(~missing & ~((single > 0) & (single <= 1)), "action_prob", "a probability above 0 and up to 1")
    return np.where(missing, np.float32(np.nan), single)


def _rewards(found: LongColumns, rows: Rows, cells: Numbers) -> NDArray[np.float64]:
    """[r]: the one reward of every step."""
    values, missing = (rows.by_step(part) for part in cells)
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


def _flags(name: str, found: LongColumns) -> NDArray[np.bool_] | None:
    """[row]: None if the table has no such column."""
    return found.flags(name) if found.has(name) else None


def _ended(found: LongColumns, rows: Rows, *cells: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """[k]: whether every episode ended by itself."""
    last = np.zeros((len(rows.order) // rows.size, 1), bool)
    last[rows.offsets[1:] - 1] = True
    flags = {name: rows.by_step(values) for name, values in zip(FLAGS, cells, strict=True) if values is not None}
    for name, values in flags.items():
        early = values & ~last
        if early.any():
            found.refuse_row(rows.first_row(early), name, "false before the last step of an episode")
        differs = values != values[:, :1]
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
