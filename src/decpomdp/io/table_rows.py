"""The rows of a long table in the order of episode, step and agent, whatever their order in the file."""

import numpy as np
from numpy.typing import NDArray

from decpomdp.io.table_cells import Cells
from decpomdp.io.table_columns import LongColumns

Owners = tuple[list[str], NDArray[np.int64]]  # names of the agents, and [row] the number of the row's agent


class Rows:
    """The rows of a table in the order of episode, step and agent."""

    def __init__(self, order: NDArray[np.int64], offsets: NDArray[np.int64], size: int) -> None:
        self.order = order  # [place] row of the file
        self.offsets = offsets  # [k + 1] in steps
        self.size = size  # agents

    @classmethod
    def sort(cls, found: LongColumns, owners: Owners, episode: Cells, times: NDArray[np.int64]) -> "Rows":
        """The order of a table whose rows belong to the agents own[row]; every agent has to be there at every step."""
        names, own = owners
        order = np.lexsort((own, times, episode.codes))
        k, t, n = episode.codes[order], times[order], own[order]
        starts = np.flatnonzero(np.concatenate([[True], np.diff(k) != 0]))
        bounds = np.append(starts, len(k))

        def words(at: int) -> str:
            return f"{names[n[at]]} at t = {t[at]} of episode {episode.labels[k[at]]}"

        twice = np.flatnonzero((np.diff(k) == 0) & (np.diff(t) == 0) & (np.diff(n) == 0)) + 1
        if len(twice):
            at = int(twice[np.argmin(order[twice])])
            found.refuse_row(int(order[at]), "agent", "one row per agent and step", f"a second one of {words(at)}")
        place = np.arange(len(k)) - np.repeat(starts, np.diff(bounds))  # within the episode
        gaps = np.flatnonzero((t != place // len(names)) | (n != place % len(names)))
        if len(gaps):
            at = int(gaps[0])
            step, missing = divmod(int(place[at]), len(names))
            expected = f"a row of {names[missing]} at t = {step} before that of {words(at)}"
            found.refuse_row(int(order[at]), "t", expected, "none")
        short = np.flatnonzero(np.diff(bounds) % len(names))
        if len(short):
            at = int(bounds[short[0] + 1]) - 1
            found.refuse_row(
                int(order[at]), "agent", f"a row of {names[n[at] + 1]} beside that of {words(at)}, the last", "none"
            )
        return cls(order, bounds // len(names), len(names))

    def by_step(self, values: NDArray) -> NDArray:
        """[r, n]: values[row] laid out by step and agent."""
        return values[self.order].reshape(-1, self.size)

    def first_row(self, wrong: NDArray[np.bool_]) -> int:
        """The first row of the file among those where wrong[r, n]."""
        return int(self.order[wrong.ravel()].min())

    def step_of(self, row: int) -> int:
        """The step to which a row of the file belongs."""
        return int(np.flatnonzero(self.order == row)[0]) // self.size
