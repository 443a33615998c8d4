"""The agents of a long table: their names, and whose row each is."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from decpomdp.core import Agent, FormatError
from decpomdp.io.table_cells import LOOKS, Cells, whole_text
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
    places = places_of(names)
    numbers = np.array([place_of(label, places) for label in who.labels])
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


def places_of(labels: Sequence[str]) -> dict[str, int]:
    """The place of every cell that stands for one of these labels: its name, or else its number.

    Of a label such as 12.0 the name is 12 too, unless there is another 12. Numbers stand for labels only where no label
    looks like a number itself: among 1, 2, 3 a cell 0 would be the first, and 1 not the second; 1 may have been 01.
    """
    places = {label: place for place, label in enumerate(labels)}
    whole = [whole_text(label) for label in labels]
    counts = Counter(whole)
    names = {name: place for place, name in enumerate(whole) if counts[name] == 1}
    numeric = any(LOOKS.fullmatch(label) for label in labels)
    return ({} if numeric else {str(place): place for place in range(len(labels))}) | names | places


def place_of(label: str, places: dict[str, int]) -> int:
    """The place that a cell stands for, as it is written or, if it is 12.0, as 12; -1 if it has none."""
    return places.get(label, places.get(whole_text(label), -1))


def number_of(label: str) -> int:
    """The whole number that a cell says, -1 if it says none; what is too large to be a symbol is told as that."""
    found = WHOLE.fullmatch(label)
    return -1 if found is None else int(found[1][:9])


def shown(labels: Sequence[str]) -> str:
    """The first few of them."""
    return ", ".join(labels[:8]) + (" ..." if len(labels) > 8 else "")
