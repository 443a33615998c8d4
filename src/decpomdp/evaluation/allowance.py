"""How far the numbers of a chain may be off before anything is added up.

A row of probabilities may be off by rounding (see `core.checks`); what is true is the row divided by its sum. Where
several rows are multiplied, what one is off may hide what another is, so each counts. Rewards that nearly cancel lose
digits of what they were, not of what is left. And a product of probabilities may be too small for floating point.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import DecPOMDP, Team

LEAST = float(np.nextafter(0.0, 1.0))  # what the smallest numbers are rounded to


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the error of a value has to allow for."""

    start: float  # how far the rows that say where it begins are from summing to 1, together
    rows: float  # the same of those that say what is done and what follows
    gross: float  # the largest expected reward if none cancelled another, in the unit of the chain
    lost: float  # what a step may lose as too small for floating point, in the same unit


def allowance(model: DecPOMDP, team: Team, gross: float, lost: float) -> Allowance:
    """That of a team on a model."""
    start = _off(model.start) + sum(_off(c.initial) for c in team.controllers)
    rows = _off(model.transition) + _off(model.observation)
    rows += sum(_off(c.action) + _off(c.transition) for c in team.controllers)
    return Allowance(start, rows, gross, lost)


def _off(table: NDArray[np.float64]) -> float:
    return float(np.abs(table.sum(axis=-1) - 1).max())
