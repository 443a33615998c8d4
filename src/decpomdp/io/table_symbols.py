"""Labels of a long table -> numbers: by the alphabets that are known, or by those that occur.

Without known alphabets the cells of one agent in one column are all whole numbers (0, 1, 12; also 12.0, which is what
some tools make of 12 beside an empty cell) or all labels. Whatever else looks like a number (007, +3, 1e3, 0.5) could
be meant either way, as could numbers among labels: it is refused with its row, and alphabets have to be said.

Numbers stand for 0 to the largest that occurs, so one cell can stand for thousands of labels. Those of all agents
together may be a million (ENOUGH), or as many as the table has rows. Work is done once per pair of an agent and a label
that it has, or in one go over the rows; equal alphabets are held once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Agent, FormatError
from decpomdp.core.agent import numbered
from decpomdp.io.episode_columns import MOST_LABELS
from decpomdp.io.table_cells import LOOKS, Cells, whole_text
from decpomdp.io.table_columns import LongColumns
from decpomdp.io.table_owners import number_of, place_of, places_of, shown
from decpomdp.io.table_pairs import Pairs
from decpomdp.io.table_rows import Owners, Rows

ENOUGH = 1_000_000  # labels of all agents in one column


class Symbols(NamedTuple):
    """A column as symbols."""

    symbols: NDArray[np.int64]  # [row]
    alphabets: list[tuple[str, ...]]  # [n]


def symbols_of(
    what: str, agents: Sequence[Agent] | None, found: LongColumns, rows: Rows, owners: Owners, cells: Cells
) -> Symbols:
    """The symbol of every cell of one column, and the alphabet of every agent."""
    names, own = owners
    cells = _without_nothing(what, agents, found, cells)
    pairs = Pairs.find(own, cells, len(names))
    if agents is None:
        of_pair, alphabets = Occurring(what, found, names, cells, pairs).symbols()
    else:
        alphabets = [getattr(agent, f"{what}s") for agent in agents]
        of_pair = _known(what, found, names, cells, pairs, alphabets)
    symbols = np.append(of_pair, NO_OBSERVATION)[pairs.of_row]
    unseen = rows.by_step(symbols) == NO_OBSERVATION
    unseen[rows.offsets[:-1]] = False
    if unseen.any():
        found.refuse_row(rows.first_row(unseen), what, f"an {what} (empty only at t = 0)")
    return Symbols(symbols, alphabets)


def _without_nothing(what: str, agents: Sequence[Agent] | None, found: LongColumns, cells: Cells) -> Cells:
    """-1 and NaN stand for nothing seen, unless they are somebody's label; of actions there is no such thing."""
    known = {_bare(label) for agent in agents or () for label in getattr(agent, f"{what}s")}
    signs = {"nan", "-1"} if what == "observation" else {"nan"}
    nothing = [place for place, label in enumerate(cells.labels) if _bare(label) in signs - known]
    if not nothing:
        return cells
    empty = np.isin(cells.codes, nothing)
    if what != "observation":
        found.refuse(empty, what, "a label or a whole number")
    return Cells(cells.labels, np.where(empty, -1, cells.codes))


def _bare(label: str) -> str:
    return whole_text(label).lower()


def _known(
    what: str, found: LongColumns, names: Sequence[str], cells: Cells, pairs: Pairs, alphabets: list[tuple[str, ...]]
) -> NDArray[np.int64]:
    """[pair]: the symbol of the label in the agent's alphabet."""
    places: dict[int, dict[str, int]] = {}  # by the identity of an alphabet: those of a team are often one
    for alphabet in alphabets:
        if id(alphabet) not in places:
            places[id(alphabet)] = places_of(alphabet)
    own = [places[id(alphabet)] for alphabet in alphabets]
    symbols = [
        place_of(cells.labels[code], own[n]) for n, code in zip(pairs.agent.tolist(), pairs.code.tolist(), strict=True)
    ]
    of_pair = np.array(symbols, np.int64)
    wrong = pairs.rows_of((of_pair < 0) | (of_pair >= MOST_LABELS))
    if wrong.any():
        n = int(pairs.agent[pairs.of_row[np.argmax(wrong)]])
        found.refuse(wrong, what, f"an {what} of {names[n]} ({shown(alphabets[n])})")
    return of_pair


class Occurring:
    """The labels that occur in one column, of agents whose alphabets nobody said."""

    def __init__(self, what: str, found: LongColumns, names: Sequence[str], cells: Cells, pairs: Pairs) -> None:
        self.what, self.found, self.names, self.pairs = what, found, names, pairs
        self.labels = cells.labels
        self.numbers = np.array([number_of(label) for label in cells.labels] + [-1])[pairs.code]  # [pair]

    def symbols(self) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
        """[pair]: its symbol, and [n]: the alphabet."""
        self._refuse_ambiguous()
        largest = np.full(len(self.names), -1)
        np.maximum.at(largest, self.pairs.agent, self.numbers)
        counts = self.pairs.sums(np.ones_like(self.numbers), len(self.names))
        by_number = (counts == 0) | (largest >= 0)  # [n] who has nothing at all has one label, "0"
        self._refuse_too_many(largest, counts)
        order, ranks = self._sorted()
        of_pair = np.where(self.numbers >= 0, self.numbers, ranks)
        return of_pair, self._alphabets(by_number, np.maximum(largest, 0) + 1, order)

    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs in the order of agents and their labels, and [pair]: its place among those of its agent."""
        by_name = sorted(range(len(self.labels)), key=self.labels.__getitem__)
        rank = np.empty(len(self.labels), np.int64)
        rank[by_name] = np.arange(len(by_name))
        order = np.lexsort((rank[self.pairs.code], self.pairs.agent))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order)) - self.pairs.starts(len(self.names))[self.pairs.agent]
        return order, ranks

    def _alphabets(
        self, by_number: NDArray[np.bool_], sizes: NDArray[np.int64], order: NDArray[np.int64]
    ) -> list[tuple[str, ...]]:
        """[n]: numbers stand for all up to the largest; other labels for themselves, sorted."""
        every = numbered(int(sizes.max()))
        codes, starts = self.pairs.code[order].tolist(), self.pairs.starts(len(self.names)).tolist()
        held: dict[tuple[str, ...] | int, tuple[str, ...]] = {}
        alphabets = []
        for n, (numeric, size) in enumerate(zip(by_number.tolist(), sizes.tolist(), strict=True)):
            if numeric:
                alphabets.append(held.get(size) or held.setdefault(size, every[:size]))
            else:
                own = tuple(self.labels[code] for code in codes[starts[n] : starts[n + 1]])
                alphabets.append(held.setdefault(own, own))
        return alphabets

    def _refuse_ambiguous(self) -> None:
        """Raise FormatError for the first cell that may be a number or a label."""
        pairs, size = self.pairs, len(self.names)
        looks = np.array([LOOKS.fullmatch(label) is not None for label in self.labels] + [False])[pairs.code]  # [pair]
        mixed = (pairs.sums(looks, size) > 0) & (pairs.sums(~looks, size) > 0)  # [n]
        wrong = pairs.rows_of(looks & (mixed[pairs.agent] | (self.numbers < 0)))
        if wrong.any():
            both = mixed[pairs.agent[pairs.of_row[np.argmax(wrong)]]]
            expected = "labels or whole numbers, not both" if both else "a label, or a whole number such as 12"
            self.found.refuse(wrong, self.what, f"{expected} (or say which {self.what}s there are: --like, agents=)")

    def _refuse_too_many(self, largest: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        """Raise FormatError for more labels than a symbol can tell apart, or numbers that stand for too many."""
        many = np.flatnonzero((largest < 0) & (counts > MOST_LABELS))
        if len(many):
            got = f"at most {MOST_LABELS} different labels of {self.names[many[0]]}, got {counts[many[0]]}"
            raise FormatError(self.found.source, None, f"column {self.found.names[self.what]}: expected {got}")
        self._refuse_numbers(self.numbers >= MOST_LABELS, f"numbers from 0 to {MOST_LABELS - 1}")
        total, most = int(np.sum(largest + 1)), max(ENOUGH, len(self.pairs.of_row))
        if total > most:
            stand = f"numbers that stand for at most {most} {self.what}s of all agents, each for 0 to its largest"
            self._refuse_numbers(self.numbers == largest.max(), stand, f", {total} in all (renumber, or write words)")

    def _refuse_numbers(self, wrong: NDArray[np.bool_], expected: str, rest: str = "") -> None:
        rows = self.pairs.rows_of(wrong)
        if rows.any():
            row = int(np.argmax(rows))
            pair = self.pairs.of_row[row]
            got = f"{self.labels[self.pairs.code[pair]][:80]!r} of {self.names[self.pairs.agent[pair]]}{rest}"
            self.found.refuse_row(row, self.what, expected, got)
