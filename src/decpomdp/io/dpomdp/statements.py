"""The statements of a `.dpomdp` file: T, O and R lines, and the rows, matrices and keywords that may follow them.

    T: joint action : state : next state : probability     a number
    T: joint action : state :                              a row on the next line, or uniform
    T: joint action :                                      a matrix on the next lines, uniform or identity

O is the same with next state and joint observation in place of state and next state. R has one place more: a number
for joint action, state, next state and joint observation, a row over joint observations, or a matrix of next states
by joint observations. The colon at the end of a line may be left out, and a keyword may stand after it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from decpomdp.io.dpomdp.fields import ALL, Field
from decpomdp.io.dpomdp.log import Log
from decpomdp.io.dpomdp.text import Lines
from decpomdp.io.dpomdp.words import Numbers, shown

PENDING = 1 << 18  # numbers kept before a table takes them over


class Statements:
    """The statements of one letter, collected in `log`."""

    keywords: tuple[str, ...] = ()

    def __init__(self, form: str, axes: Sequence[Field], numbers: Numbers, shape: tuple[int, int]) -> None:
        self.form = form
        self.axes = axes
        self.numbers = numbers
        self.shape = shape  # of a matrix
        self.log = Log(len(axes))

    def read(self, lines: Lines, fields: list[str]) -> None:
        """Takes in one statement: its parts between colons, the letter first, and the lines that belong to it."""
        if len(fields) == len(self.axes) + 2:
            places = [axis[text] for axis, text in zip(self.axes, fields[1:], strict=False)]
            self.log.add(lines.number, places, self.numbers[fields[-1]])
        else:
            self._read_long(lines, fields)
        if len(self.log.values) + self.log.numbers >= PENDING:
            self.settle()

    def settle(self) -> None:
        """Empties the log into a table, for the letters that have one."""

    def _read_long(self, lines: Lines, fields: list[str]) -> None:
        last = fields[-1].strip()
        given = fields[1:-1] if last in ("", *self.keywords) else fields[1:]
        missing = len(self.axes) - len(given)
        if missing not in (1, 2):
            forms = f"'{self.form}', or its beginning and then a row or a matrix"
            raise lines.wrong(f"expected {forms}, found {shown(':'.join(fields))}")
        places = [axis[text] for axis, text in zip(self.axes, given, strict=False)]
        line = lines.number
        content = last if last in self.keywords else lines.next(self._expected(missing))
        if content in self.keywords:
            self._add_keyword(lines, line, places, content)
        else:
            self._add_numbers(lines, line, places, content)

    def _expected(self, missing: int) -> str:
        words = self.keywords if missing == 2 else self.keywords[:1]
        return " or ".join((*words, f"a row of {self.shape[1]} numbers"))

    def _add_keyword(self, lines: Lines, line: int, places: list[int], keyword: str) -> None:
        missing = len(self.axes) - len(places)
        rows, columns = self.shape
        every = (*places, *(ALL,) * missing)
        if keyword == "uniform":
            self.log.add(line, every, 1.0 / columns)
        elif missing == 1 or rows != columns:
            raise lines.wrong(f"expected {self._expected(1)}, found 'identity' where there is no square matrix")
        else:
            self.log.add(line, every, 0.0)
            for i in range(rows):
                self.log.add(line, (*places, i, i), 1.0)

    def _add_numbers(self, lines: Lines, line: int, places: list[int], first: str) -> None:
        missing = len(self.axes) - len(places)
        rows, columns = self.shape
        block = self.numbers.row(first, columns)
        if missing == 2:
            top, block = block, np.empty(self.shape)
            block[0] = top
            for i in range(1, rows):
                block[i] = self.numbers.row(lines.next(f"row {i + 1} of {rows} of a matrix"), columns)
        self.log.add_block(line, (*places, *(ALL,) * missing), block)


def read_statements(lines: Lines, letters: Mapping[str, Statements]) -> None:
    """Reads the lines after the header to the end of the file."""
    for line in lines:
        fields = line.split(":", 6)  # no statement has more than five colons
        statements = letters.get(fields[0]) or letters.get(fields[0].strip())
        if statements is None:
            raise lines.wrong(
                f"expected a statement {', '.join(f'{letter}:' for letter in letters)}, found {shown(line)}"
            )
        statements.read(lines, fields)
