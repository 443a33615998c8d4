"""Labels of a long table -> agents and symbols: by known agents, or by the labels that occur.

Known labels are found by name, or by number if no label of the alphabet looks like a number itself. Without known
agents, the cells of one agent in one column are all whole numbers (0, 1, 12, also 12.0) or all labels. Other texts that
look like numbers (007, +3, 1e3, 0.5), and numbers among labels, are ambiguous and rejected.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, FormatError
from decpomdp.core.agent import numbered
from decpomdp.io.episodes.read import MOST_LABELS
from decpomdp.io.tables.columns import Cells, Columns, whole_text

LOOKS_NUMERIC = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.0+)?")


class Symbols(NamedTuple):
    """A column as symbols."""

    symbols: NDArray[np.int64]  # [r, n]
    alphabets: list[tuple[str, ...]]  # [n]


class Members(NamedTuple):
    """The agents of a table."""

    names: list[str]
    of_row: NDArray[np.int64]  # [row] index of the agent


def members_of(known: Sequence[Agent] | None, columns: Columns, cells: Cells) -> Members:
    """The agents in the column `agent`; without known agents, those that occur."""
    if known is None:
        return Members(cells.labels, cells.codes)
    names = [agent.name for agent in known]
    of_row = np.array(_find(cells.labels, names))[cells.codes]
    columns.reject(of_row < 0, "agent", f"one of {_list(names)}")
    return Members(names, of_row)


def symbols_of(
    what: str,
    known: Sequence[Agent] | None,
    columns: Columns,
    order: NDArray[np.int64],  # [r, n] row of the file
    names: Sequence[str],
    cells: Cells,
) -> Symbols:
    """The symbol of every cell of the column `what` (observation or action), and the alphabet of every agent."""
    if what == "observation":  # -1 and NaN mean that nothing was observed, unless they are labels
        labels = {label for agent in known or () for label in agent.observations}
        empty = [whole_text(label).lower() in ("nan", "-1") and label not in labels for label in cells.labels]
        cells = Cells(cells.labels, np.where(np.array([*empty, True])[cells.codes], -1, cells.codes))
    codes = cells.codes[order]  # [r, n]
    symbols, alphabets = np.empty_like(codes), list[tuple[str, ...]]()
    for n, name in enumerate(names):
        used, inverse = np.unique(codes[:, n], return_inverse=True)
        own = [cells.labels[code] for code in used if code >= 0]
        if known is None:
            alphabet, places, expected = _occurring(what, name, own, columns)
        else:
            alphabet = known[n].observations if what == "observation" else known[n].actions
            places, expected = _find(own, alphabet), f"an {what} of {name} ({_list(alphabet)})"
        symbols[:, n] = np.array([NO_OBSERVATION] * (len(used) - len(own)) + places)[inverse]
        wrong = (codes[:, n] >= 0) & (symbols[:, n] < 0)
        if wrong.any():
            raise columns.error(int(order[wrong, n].min()), what, expected)
        alphabets.append(alphabet)
    return Symbols(symbols, alphabets)


def _find(cells: Sequence[str], labels: Sequence[str]) -> list[int]:
    """The index of the label that each cell stands for; -1: none."""
    numeric = any(LOOKS_NUMERIC.fullmatch(label) for label in labels)
    places = {} if numeric else {str(place): place for place in range(len(labels))}
    places |= {label: place for place, label in enumerate(labels)}
    return [places.get(cell, places.get(whole_text(cell), -1)) for cell in cells]


def _occurring(what: str, name: str, labels: list[str], columns: Columns) -> tuple[tuple[str, ...], list[int], str]:
    """The alphabet of an agent, the symbol of each of its labels (-1: ambiguous), and what is expected of those."""
    hint = f"(or say which {what}s there are: --like, agents=)"
    numeric = [LOOKS_NUMERIC.fullmatch(label) is not None for label in labels]
    if any(numeric) and not all(numeric):
        return (), [-1 if each else 0 for each in numeric], f"labels or whole numbers, not both {hint}"
    if any(numeric) or not labels:
        symbols = [int(label.partition(".")[0]) if NUMBER.fullmatch(label) else -1 for label in labels]
        count = max(symbols, default=0) + 1
    else:
        place = {label: symbol for symbol, label in enumerate(sorted(labels))}
        symbols, count = [place[label] for label in labels], len(labels)
    if count > MOST_LABELS:
        message = f"expected at most {MOST_LABELS} different {what}s of {name}, got {count}"
        raise FormatError(columns.source, None, f"column {columns.names[what]}: {message}")
    alphabet = numbered(count) if any(numeric) or not labels else tuple(place)
    return alphabet, symbols, f"a label, or a whole number such as 12 {hint}"


def _list(labels: Sequence[str]) -> str:
    return ", ".join(labels[:8]) + (" ..." if len(labels) > 8 else "")
