"""Labels of a long table -> numbers: by the alphabets that are known, or by those that occur.

Without known alphabets the cells of one agent in one column are all whole numbers (0, 1, 12; also 12.0, which is what
some tools make of 12 beside an empty cell) or all labels. Whatever else looks like a number (007, +3, 1e3, 0.5) could
be meant either way, as could numbers among labels: it is refused with its row, and alphabets have to be said.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent
from decpomdp.core.agent import numbered
from decpomdp.io.episode_columns import MOST_LABELS
from decpomdp.io.table_columns import Cells, LongColumns
from decpomdp.io.table_rows import Owners, Rows

MANY = 3  # rows of an agent beside which one row of another is a slip: fewer may be a table that was cut
WHOLE = re.compile(r"(0|[1-9][0-9]*)(?:\.0+)?")
LOOKS = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")  # like a number


def agents_of(found: LongColumns, who: Cells, agents: Sequence[Agent] | None) -> Owners:
    """Names of the agents, and [row] the number of the row's agent."""
    if agents is None:
        _refuse_odd_name(found, who)
        return who.labels, who.codes
    names = [agent.name for agent in agents]
    numbers = _places(who.labels, names)
    found.refuse(numbers[who.codes] < 0, "agent", f"one of {', '.join(names)}")
    return names, numbers[who.codes]


def _refuse_odd_name(found: LongColumns, who: Cells) -> None:
    """Raise FormatError for a name on one row alone, where others have many: a slip, not an agent.

    Every agent is there at every step. Without this the complaint would be of rows that the new agent lacks elsewhere.
    """
    counts = np.bincount(who.codes, minlength=len(who.labels))
    if counts.max() >= MANY:
        others = [who.labels[n] for n in np.flatnonzero(counts > 1)]
        shown = ", ".join(others[:8]) + (" ..." if len(others) > 8 else "")
        found.refuse(counts[who.codes] == 1, "agent", f"a name that occurs at every step ({shown})")


def _places(labels: Sequence[str], alphabet: Sequence[str]) -> NDArray[np.int64]:
    """[label]: its place in an alphabet: by its name, or else by its number; -1 if it has none. One more -1 ends it."""
    known = {label: place for place, label in enumerate(alphabet)}

    def place(label: str) -> int:
        number = _number(label)
        return known.get(label, number if number is not None and number < len(alphabet) else -1)

    return np.array([place(label) for label in labels] + [NO_OBSERVATION])


def _number(label: str) -> int | None:
    """The whole number that a cell says, None if it says none; what is too large to be a symbol is told as that."""
    found = WHOLE.fullmatch(label)
    return None if found is None else int(found[1][:9])


class Symbols(NamedTuple):
    """A column as symbols."""

    symbols: NDArray[np.int64]  # [row]
    alphabets: list[tuple[str, ...]]  # [n]


def symbols_of(
    what: str, agents: Sequence[Agent] | None, found: LongColumns, rows: Rows, owners: Owners, cells: Cells
) -> Symbols:
    """The symbol of every cell of one column, and the alphabet of every agent."""
    names, own = owners
    if what == "observation":
        cells = _without_minus_one(cells, agents)
    symbols, alphabets = np.full(len(own), NO_OBSERVATION), []
    for n in range(len(names)):
        mine = own == n
        used = [cells.labels[code] for code in np.unique(cells.codes[mine]) if code >= 0]
        if agents is None:
            _refuse_ambiguous(found, what, cells, mine, used)
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
    return Symbols(symbols, alphabets)


def _refuse_ambiguous(found: LongColumns, what: str, cells: Cells, mine: NDArray[np.bool_], used: list[str]) -> None:
    """Raise FormatError for the first cell among `mine` that may be a number or a label."""
    numbers = {label for label in used if _number(label) is not None}
    odd = {label for label in used if LOOKS.fullmatch(label)} - numbers
    mixed = len(numbers) + len(odd) < len(used)
    wrong = (numbers | odd) if mixed else odd
    if wrong:
        expected = "labels or whole numbers, not both" if mixed else "a label, or a whole number such as 12"
        rows = mine & np.isin(cells.codes, [cells.labels.index(label) for label in wrong])
        found.refuse(rows, what, f"{expected} (or say which {what}s there are: --like, agents=)")


def _without_minus_one(cells: Cells, agents: Sequence[Agent] | None) -> Cells:
    """-1 stands for nothing seen, unless it is somebody's label."""
    nothing = [place for place, label in enumerate(cells.labels) if label in ("-1", "-1.0")]
    if not nothing or (agents is not None and any("-1" in agent.observations for agent in agents)):
        return cells
    return Cells(cells.labels, np.where(np.isin(cells.codes, nothing), -1, cells.codes))


def _alphabet(used: Sequence[str]) -> tuple[str, ...]:
    """Numbers stand for all up to the largest; other labels for themselves, sorted."""
    numbers = [_number(label) for label in used]
    if any(number is None for number in numbers):
        return tuple(sorted(used))
    return numbered(min(max((number for number in numbers if number is not None), default=0), MOST_LABELS - 1) + 1)
