"""The result of learning or planning: a team, its trace, and why the run stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from decpomdp.core.controller import Team
from decpomdp.core.settings import Settings

Cell = float | int | str | tuple[float, ...] | None
Row = Mapping[str, Cell]  # one line of a trace; every row of a trace has the same keys
Watch = Callable[[Row], bool | None]  # called with every new row; the run ends when it returns True


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
        Why it ended: "converged", "iterations", "steps", "time limit", "callback" or "interrupted".
    seconds
        How long it took.
    settings
        The settings of the method, defaults included.
    seed
        The seed.
    facts
        What the method measured or chose beside the team, such as bounds, or sizes that follow from a speed probe.

    Examples
    --------
    >>> import decpomdp as dp
    >>> fit = dp.learn("dectiger", steps=200_000, seed=1)
    >>> fit.stopped, fit.settings.method, "value" in fit.trace[-1]
    ('steps', 'search', True)
    """

    team: Team
    trace: tuple[Row, ...] = ()
    stopped: str = ""
    seconds: float = 0.0
    settings: Settings | None = None
    seed: int = 0
    facts: Row = field(default_factory=dict)

    def finished(self, trace: tuple[Row, ...], stopped: str, seconds: float) -> Self:
        """The same fit with its history, which the driver knows."""
        return replace(self, trace=trace, stopped=stopped, seconds=seconds)

    def described(self, settings: Settings, seed: int) -> Self:
        """The same fit with what it was made with."""
        more: dict[str, Any] = {"settings": settings, "seed": seed}
        return replace(self, **more)
