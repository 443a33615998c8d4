"""What learning and planning return: a team, how it came about, and why it stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from decpomdp.core.controller import Team

Cell = float | int | str | tuple[float, ...] | None
Row = Mapping[str, Cell]  # one line of a trace; every row of a trace has the same keys
Watch = Callable[[Row], None]  # called with every new row, for progress displays


def unwatched(row: Row) -> None:
    """Nobody looks on."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A team and its history.

    Attributes
    ----------
    team
        What was learned or planned.
    trace
        One row per iteration, all with the same keys; which ones depends on the method.
    stopped
        Why it ended: "converged", "iterations", "time limit", "steps" or "interrupted".
    seconds
        How long it took.
    settings
        Everything that was set, defaults included.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.learn("dectiger", steps=200_000, seed=1)
    >>> fit.stopped, fit.settings["method"], "value" in fit.trace[-1]
    ('steps', 'search', True)
    """

    team: Team
    trace: tuple[Row, ...]
    stopped: str  # "converged", "iterations", "time limit", "steps", "interrupted"
    seconds: float
    settings: Row = field(default_factory=dict)
