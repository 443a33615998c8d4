"""What learning and planning return: a team, how it came about, and why it stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from decpomdp.core.controller import Team

Row = Mapping[
    str, float | int | str | None | tuple[float, ...]
]  # one line of a trace; the keys are the same in every row of a trace
Watch = Callable[[Row], None]  # called with every new row, for progress displays


def unwatched(row: Row) -> None:
    """Nobody looks on."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A team and its history."""

    team: Team
    trace: tuple[Row, ...]
    stopped: str  # "converged", "iterations", "time limit", "steps", "interrupted"
    seconds: float
    settings: Row = field(default_factory=dict)
