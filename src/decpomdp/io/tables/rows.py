"""The agents of a long table, and its rows in the order of episode, step and agent."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, FormatError
from decpomdp.io.tables.columns import Cells, Columns, place_of, places_of, shown

MANY = 3  # rows of an agent beside which a single row of another is taken for a slip
MOST_AGENTS = 10_000


class Owners(NamedTuple):
    """The agents of a table."""

    names: list[str]
    of_row: NDArray[np.int64]  # [row] the number of its agent


def owners_of(agents: Sequence[Agent] | None, columns: Columns, cells: Cells) -> Owners:
    """The agents by the cells of the column `agent`; None: those that occur."""
    if agents is not None:
        names = [agent.name for agent in agents]
        places = places_of(names)
        numbers = np.array([place_of(label, places) for label in cells.labels])
        columns.refuse(numbers[cells.codes] < 0, "agent", f"one of {shown(names)}")
        return Owners(names, numbers[cells.codes])
    counts = np.bincount(cells.codes)
    if len(counts) > MOST_AGENTS:
        hint = "does it hold another name on every row?" if len(counts) == len(cells.codes) else "is it another one?"
        got = f"column {columns.names['agent']}: expected at most {MOST_AGENTS} agents, got {len(counts)} ({hint})"
        raise FormatError(columns.source, None, got)
    if counts.max() >= MANY:  # a misspelt name; otherwise the error would be about rows that are missing elsewhere
        others = [cells.labels[n] for n in np.flatnonzero(counts > 1)]
        columns.refuse(counts[cells.codes] == 1, "agent", f"a name that occurs at every step ({shown(others)})")
    return Owners(cells.labels, cells.codes)


class Rows(NamedTuple):
    """The rows of a table in the order of episode, step and agent."""

    order: NDArray[np.int64]  # [r, n] row of the file
    offsets: NDArray[np.int64]  # [k + 1] in steps

    @classmethod
    def sort(cls, columns: Columns, owners: Owners, episode: Cells, times: NDArray[np.int64]) -> "Rows":
        """The order of a table; every agent has to be there once at every step."""
        names, own = owners
        order = np.lexsort((own, times, episode.codes))
        k, t, n = episode.codes[order], times[order], own[order]
        starts = np.flatnonzero(np.concatenate([[True], np.diff(k) != 0]))
        bounds = np.append(starts, len(k))

        def cell(at: int) -> str:
            return f"{names[n[at]]} at t = {t[at]} of episode {episode.labels[k[at]]}"

        twice = np.flatnonzero((np.diff(k) == 0) & (np.diff(t) == 0) & (np.diff(n) == 0)) + 1
        if len(twice):
            at = int(twice[np.argmin(order[twice])])
            columns.refuse_row(int(order[at]), "agent", "one row per agent and step", f"a second one of {cell(at)}")
        place = np.arange(len(k)) - np.repeat(starts, np.diff(bounds))  # within the episode
        gaps = np.flatnonzero((t != place // len(names)) | (n != place % len(names)))
        if len(gaps):
            at = int(gaps[0])
            step, missing = divmod(int(place[at]), len(names))
            expected = f"a row of {names[missing]} at t = {step} before that of {cell(at)}"
            columns.refuse_row(int(order[at]), "t", expected, "none")
        short = np.flatnonzero(np.diff(bounds) % len(names))
        if len(short):
            at = int(bounds[short[0] + 1]) - 1
            expected = f"a row of {names[n[at] + 1]} beside that of {cell(at)}, the last"
            columns.refuse_row(int(order[at]), "agent", expected, "none")
        return cls(order.reshape(-1, len(names)), bounds // len(names))

    def by_step(self, values: NDArray) -> NDArray:
        """[r, n]: values[row] by step and agent."""
        return values[self.order]

    def first(self, wrong: NDArray[np.bool_]) -> int:
        """The first row of the file among those where wrong[r, n]."""
        return int(self.order[wrong].min())
