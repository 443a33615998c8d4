"""How long work survives being killed: now and then it gives its whole state to a keeper.

A state is a plain noun (a NamedTuple or dataclass of numbers, texts, arrays and the like) from which the work goes on
as if nothing had happened: the same random numbers, the same order, the same result. Who keeps it, where and how often,
is not the worker's business.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from decpomdp.core.fit import Row

State = TypeVar("State")
# a row of a trace, as a state holds it; whole numbers stay whole
KeptRow = dict[str, float | int | str | tuple[float | int, ...] | None]


class Keeper(Protocol):
    """Keeps the newest state of one piece of work."""

    def restore(self, kind: type[State]) -> State | None:
        """The state that was kept last, as a `kind`; None when there is none."""
        ...

    def offer(self, state: Callable[[], Any]) -> None:
        """A moment at which the work could be continued later; `state` is called if it is time to keep one."""
        ...


class Unkept:
    """Nobody keeps anything."""

    def restore(self, kind: type[State]) -> State | None:
        """There is nothing."""
        return None

    def offer(self, state: Callable[[], Any]) -> None:
        """Not wanted."""


UNKEPT = Unkept()


def kept_rows(trace: Iterable[Row]) -> list[KeptRow]:
    """A trace for a state."""
    return [dict(row) for row in trace]
