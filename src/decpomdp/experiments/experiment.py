"""A table or figure of the paper: the cells to compute, and the tables, pictures and verdicts of their results.

    effort --cells--> cells --results--> rows --+--> tables     words
                                                +--> pictures   curves, drawn by matplotlib (`drawing`)
                                                +--> verdicts   on the claims of the paper (`judge`)

Everything shown is a function of the rows; the same numbers give the same files.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.drawing import Picture
from decpomdp.experiments.judge import ClaimVerdict, Compare, Effort, Judge, Texts, judged, texts_of
from decpomdp.experiments.rows import ResultRows, Results


@dataclass(frozen=True, slots=True)
class TextTable:
    """Words in rows and columns."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def text_table(title: str, columns: Mapping[str, str], lines: Iterable[Mapping[str, Any]], note: str = "") -> TextTable:
    """The facts of every line in the texts of the columns."""
    rows = tuple(tuple(text.format(**facts) for text in columns.values()) for facts in lines)
    return TextTable(title, tuple(columns), rows, note)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of the paper; its efforts, texts and claims are in texts/NAME.toml."""

    name: str
    cells: Callable[[Effort], list[Cell]]
    rows: Callable[[Results], ResultRows]
    tables: Callable[[ResultRows], list[TextTable]]
    comparisons: Mapping[str, Compare]  # those that rules name
    pictures: Callable[[ResultRows], list[Picture]] = lambda rows: []
    judge: Judge = judged

    @property
    def texts(self) -> Texts:
        """Title, efforts and claims."""
        return texts_of(self.name)

    def verdicts(self, rows: ResultRows) -> list[ClaimVerdict]:
        """The claims of the paper, and whether they are seen here."""
        return self.judge(self.texts, self.comparisons, rows)
