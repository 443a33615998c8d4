"""Labels of a long table -> numbers: by the alphabets that are known, or by those that occur."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent
from decpomdp.core.agent import numbered
from decpomdp.io.table_columns import Cells, LongColumns
from decpomdp.io.table_rows import Rows

MOST_LABELS = 2**15  # symbols are kept in 16 bits


def agents_of(found: LongColumns, who: Cells, agents: Sequence[Agent] | None) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the agents, and [row] the number of the row's agent."""
    if agents is None:
        return who.labels, who.codes
    names = [agent.name for agent in agents]
    numbers = _places(who.labels, names)
    found.refuse(numbers[who.codes] < 0, "agent", f"one of {', '.join(names)}")
    return names, numbers[who.codes]


def _places(labels: Sequence[str], alphabet: Sequence[str]) -> NDArray[np.int64]:
    """[label]: its place in an alphabet: by its name, or else by its number; -1 if it has none. One more -1 ends it."""
    known = {label: place for place, label in enumerate(alphabet)}

    def place(label: str) -> int:
        return known.get(label, int(label) if _is_number(label) and int(label) < len(alphabet) else -1)

    return np.array([place(label) for label in labels] + [NO_OBSERVATION])


def _is_number(label: str) -> bool:
    return label.isascii() and label.isdigit() and len(label) <= 9


def symbols_of(
    found: LongColumns,
    what: str,
    rows: Rows,
    own: NDArray[np.int64],
    names: Sequence[str],
    agents: Sequence[Agent] | None,
) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
    """[row] the symbol of every cell of one column, and the alphabet of every agent."""
    cells = found.labels(what, empty=what == "observation")
    if what == "observation":
        cells = _without_minus_one(cells, agents)
    symbols, alphabets = np.full(len(own), NO_OBSERVATION), []
    for n in range(len(names)):
        mine = own == n
        used = [cells.labels[code] for code in np.unique(cells.codes[mine]) if code >= 0]
        alphabet = _alphabet(used) if agents is None else getattr(agents[n], f"{what}s")
        numbers = _places(cells.labels, alphabet)
        wrong = mine & (cells.codes >= 0) & ((numbers[cells.codes] < 0) | (numbers[cells.codes] >= MOST_LABELS))
        shown = ", ".join(alphabet[:8]) + (" ..." if len(alphabet) > 8 else "")
        found.refuse(wrong, what, f"an {what} of {names[n]} ({shown})")
        symbols[mine] = numbers[cells.codes[mine]]
        alphabets.append(alphabet)
    unseen = rows.by_step(symbols) == NO_OBSERVATION
    unseen[rows.offsets[:-1]] = False
    if unseen.any():
        found.refuse_row(rows.first_row(unseen), what, f"an {what} (empty only at t = 0)")
    return symbols, alphabets


def _without_minus_one(cells: Cells, agents: Sequence[Agent] | None) -> Cells:
    """-1 stands for nothing seen, unless it is somebody's label."""
    if "-1" not in cells.labels or (agents is not None and any("-1" in agent.observations for agent in agents)):
        return cells
    return Cells(cells.labels, np.where(cells.codes == cells.labels.index("-1"), -1, cells.codes))


def _alphabet(used: Sequence[str]) -> tuple[str, ...]:
    """Numbers stand for all up to the largest; other labels for themselves, sorted."""
    if all(_is_number(label) and str(int(label)) == label for label in used):
        most = max((int(label) for label in used), default=0)
        return numbered(min(most, MOST_LABELS - 1) + 1)
    return tuple(sorted(used))
