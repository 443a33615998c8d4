"""The dense tables of probabilities: filled by T and O statements, then checked row by row.

A row must be a distribution (the rule of core/checks.py). Which rows are not is known only at the end of the file,
since later statements overwrite earlier ones; the line reported is that of the last statement that touched the row.
"""

from collections.abc import Sequence

import numpy as np

from decpomdp.core.checks import ACCEPTED, Floats, freeze, probabilities
from decpomdp.core.errors import FormatError
from decpomdp.io.dpomdp.fields import Field, Joint
from decpomdp.io.dpomdp.log import obey
from decpomdp.io.dpomdp.statements import Statements
from decpomdp.io.dpomdp.words import Numbers

CELLS = 1 << 20  # numbers looked at together


class Table(Statements):
    """Statements about probabilities, obeyed in a table [joint action, state, n]."""

    keywords = ("uniform", "identity")

    def __init__(self, form: str, axes: Sequence[Field], numbers: Numbers, shape: tuple[int, int, int]) -> None:
        super().__init__(form, axes, numbers, shape[1:])
        self._table = np.zeros(shape)
        self._work = 0  # entries set so far
        self._touched = np.zeros(shape[:2], np.int32)  # [u, s] line of the last statement about a row, 0: none

    def settle(self) -> None:
        records = self.log.drain()
        self._work = obey(self._table, records, self.axes, self._work)
        obey(self._touched, records.leading(2)._replace(values=records.lines), self.axes[:2])

    def finish(self, source: str, actions: Joint, states: Sequence[str]) -> Floats:
        """The table, normalised and read-only; FormatError if a row is no distribution."""
        self.settle()
        step = max(1, CELLS // self._table[0].size)
        for first in range(0, len(self._table), step):
            sums = self._table[first : first + step].sum(axis=-1)
            wrong = np.argwhere(np.abs(sums - 1.0) > ACCEPTED)
            if len(wrong):
                u, s = wrong[0].tolist()
                raise self._complaint(source, first + u, s, float(sums[u, s]), actions, states)
        return probabilities(self.form[0], freeze(self._table), "u, s, n", self._table.shape)

    def _complaint(
        self, source: str, u: int, s: int, total: float, actions: Joint, states: Sequence[str]
    ) -> FormatError:
        line = int(self._touched[u, s])
        where = f"{self.form[0]} for joint action {actions.label(u)}, state {states[s]}"
        never = "" if line else " (nothing is said about it)"
        where = where if len(where) <= 300 else f"{where[:297]}..."
        return FormatError(source, line or None, f"{where} sums to {total:.9g}, expected 1{never}")
