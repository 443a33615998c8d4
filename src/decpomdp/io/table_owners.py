"""The agents of a long table: their names, and whose row each is."""

import re
from collections.abc import Sequence

import numpy as np

from decpomdp.core import Agent, FormatError
from decpomdp.io.table_cells import Cells
from decpomdp.io.table_columns import LongColumns
from decpomdp.io.table_rows import Owners

MANY = 3  # rows of an agent beside which one row of another is a slip: fewer may be a table that was cut
MOST_AGENTS = 10_000
WHOLE = re.compile(r"(0|[1-9][0-9]*)(?:\.0+)?")


def agents_of(found: LongColumns, who: Cells, agents: Sequence[Agent] | None) -> Owners:
    """Names of the agents, and [row] the number of the row's agent."""
    if agents is None:
        _refuse_too_many(found, who)
        _refuse_odd_name(found, who)
        return who.labels, who.codes
    names = [agent.name for agent in agents]
    known = {name: place for place, name in enumerate(names)}
    numbers = np.array([place_of(label, known) for label in who.labels])
    found.refuse(numbers[who.codes] < 0, "agent", f"one of {shown(names)}")
    return names, numbers[who.codes]


def _refuse_too_many(found: LongColumns, who: Cells) -> None:
    """Raise FormatError for more agents than anybody has: another column was taken for theirs."""
    if len(who.labels) > MOST_AGENTS:
        hint = "does it hold another name on every row?" if len(who.labels) == len(who.codes) else "is it another one?"
        said = f"column {found.names['agent']}: expected at most {MOST_AGENTS} agents, got {len(who.labels)} ({hint})"
        raise FormatError(found.source, None, said)


def _refuse_odd_name(found: LongColumns, who: Cells) -> None:
    """Raise FormatError for a name on one row alone, where others have many: a slip, not an agent.

    Every agent is there at every step. Without this the complaint would be of rows that the new agent lacks elsewhere.
    """
    counts = np.bincount(who.codes, minlength=len(who.labels))
    if counts.max() >= MANY:
        others = [who.labels[n] for n in np.flatnonzero(counts > 1)]
        found.refuse(counts[who.codes] == 1, "agent", f"a name that occurs at every step ({shown(others)})")


def place_of(label: str, known: dict[str, int]) -> int:
    """The place of a label in an alphabet: by its name, or else by its number; -1 if it has none."""
    number = number_of(label)
    return known.get(label, number if 0 <= number < len(known) else -1)


def number_of(label: str) -> int:
    """The whole number that a cell says, -1 if it says none; what is too large to be a symbol is told as that."""
    found = WHOLE.fullmatch(label)
    return -1 if found is None else int(found[1][:9])


def shown(labels: Sequence[str]) -> str:
    """The first few of them."""
    return ", ".join(labels[:8]) + (" ..." if len(labels) > 8 else "")
