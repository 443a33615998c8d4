"""Labels of a long table -> symbols: by known alphabets, or by the labels that occur.

Without known alphabets the cells of one agent in one column are all whole numbers (0, 1, 12; also 12.0, which some
tools write for 12 beside an empty cell) or all labels. Other texts that look like numbers (007, +3, 1e3, 0.5) and
numbers among labels are ambiguous: they are refused with their row.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, FormatError
from decpomdp.core.agent import numbered
from decpomdp.io.episodes.read import MOST_LABELS
from decpomdp.io.tables.columns import LOOKS, Cells, Columns, place_of, places_of, shown, whole_text
from decpomdp.io.tables.rows import Owners, Rows

NUMBER = re.compile(r"(?:0|[1-9][0-9]*)(?:\.0+)?")
_numerals = lru_cache(numbered)  # equal alphabets are held once


class Symbols(NamedTuple):
    """A column as symbols."""

    symbols: NDArray[np.int64]  # [r, n]
    alphabets: list[tuple[str, ...]]  # [n]


def symbols_of(
    what: str, agents: Sequence[Agent] | None, columns: Columns, rows: Rows, owners: Owners, cells: Cells
) -> Symbols:
    """The symbol of every cell of the column `what` (observation or action), and the alphabet of every agent."""
    cells = _without_nothing(what, agents, columns, cells)
    codes = rows.by_step(cells.codes)  # [r, n]
    symbols = np.empty_like(codes)
    alphabets: list[tuple[str, ...]] = []
    places: dict[int, dict[str, int]] = {}  # by the identity of an alphabet: agents often share one
    for n, name in enumerate(owners.names):
        used, inverse = np.unique(codes[:, n], return_inverse=True)
        labels = [cells.labels[code] for code in used if code >= 0]
        if agents is None:
            alphabet, of_label, expected = _occurring(what, name, labels, columns)
        else:
            alphabet = getattr(agents[n], f"{what}s")
            known = places[id(alphabet)] = places.get(id(alphabet)) or places_of(alphabet)
            of_label, expected = (
                [place_of(label, known) for label in labels],
                f"an {what} of {name} ({shown(alphabet)})",
            )
        of_used = np.array([NO_OBSERVATION] * (len(used) - len(labels)) + of_label, np.int64)
        symbols[:, n] = of_used[inverse]
        wrong = (codes[:, n] >= 0) & ((symbols[:, n] < 0) | (symbols[:, n] >= MOST_LABELS))
        if wrong.any():
            columns.refuse_row(int(rows.order[wrong, n].min()), what, expected)
        alphabets.append(alphabet)
    unseen = symbols == NO_OBSERVATION
    unseen[rows.offsets[:-1]] = False
    if unseen.any():
        columns.refuse_row(rows.first(unseen), what, f"an {what} (empty only at t = 0)")
    return Symbols(symbols, alphabets)


def _occurring(what: str, name: str, labels: list[str], columns: Columns) -> tuple[tuple[str, ...], list[int], str]:
    """The alphabet of an agent, the symbol of each of its labels (-1: ambiguous), and what is expected of those."""
    say = f"(or say which {what}s there are: --like, agents=)"
    looks = [LOOKS.fullmatch(label) is not None for label in labels]
    if any(looks) and not all(looks):
        return (), [-1 if numeric else 0 for numeric in looks], f"labels or whole numbers, not both {say}"
    if not any(looks) and labels:
        if len(labels) > MOST_LABELS:
            got = f"at most {MOST_LABELS} different labels of {name}, got {len(labels)}"
            raise FormatError(columns.source, None, f"column {columns.names[what]}: expected {got}")
        alphabet = tuple(sorted(labels))
        place = {label: symbol for symbol, label in enumerate(alphabet)}
        return alphabet, [place[label] for label in labels], ""
    numbers = [int(label.partition(".")[0][:9]) if NUMBER.fullmatch(label) else -1 for label in labels]
    expected = f"a label, or a whole number such as 12 {say}"
    if min(numbers, default=0) >= 0:
        expected = f"numbers from 0 to {MOST_LABELS - 1}"
    return _numerals(min(max(numbers, default=0) + 1, MOST_LABELS)), numbers, expected


def _without_nothing(what: str, agents: Sequence[Agent] | None, columns: Columns, cells: Cells) -> Cells:
    """Cells with -1 and NaN as empty ones, unless these are labels of an agent; NaN is no action."""
    known = {whole_text(label).lower() for agent in agents or () for label in getattr(agent, f"{what}s")}
    signs = {"nan", "-1"} if what == "observation" else {"nan"}
    nothing = [code for code, label in enumerate(cells.labels) if whole_text(label).lower() in signs - known]
    if not nothing:
        return cells
    empty = np.isin(cells.codes, nothing)
    if what != "observation":
        columns.refuse(empty, what, "a label or a whole number")
    return Cells(cells.labels, np.where(empty, -1, cells.codes))
