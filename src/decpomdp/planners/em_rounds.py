"""Many climbs side by side on the machine's threads: restarts of a local search, best kept.

A fixed number of climbs is under way at a time. In a round each goes on for a short stretch on its own; then, the most
promising first, they tell what they found, and those that are over make room. Neither the number of threads nor how
long a stretch takes changes what is found; only a time limit or an interrupt cuts by the clock, and what the stretches
under way have found by then is told, too.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from decpomdp.planners.stopping import PlanClock

ABREAST = 4  # climbs under way at a time


class Climbing(Protocol):
    """A search that can be taken a stretch at a time."""

    def advance(self) -> bool:
        """Go on for a stretch, ending early when the time is up; whether the climb is over."""
        ...

    def promise(self) -> float:
        """The value it has reached, by its own account."""
        ...


Climb = TypeVar("Climb", bound=Climbing)


class Rounds(Generic[Climb]):
    """Climbs number 0, 1, ... `count` - 1, or without end when that is None."""

    def __init__(
        self,
        make: Callable[[int], Climb],
        tell: Callable[[Climb], None],
        count: int | None,
        offer: Callable[[], None] = lambda: None,  # called between stretches: a moment to keep the state
    ) -> None:
        self.make, self.tell, self.count, self.offer = make, tell, count, offer
        self.made = 0
        self.under_way: dict[int, Climb] = {}  # by number

    def run(self, clock: PlanClock) -> str:
        """Until all climbs are over or the clock is; says which: "converged", "time limit", "interrupted"."""
        while not clock.over() and self._fill():
            self.offer()
            climbs = list(self.under_way.values())
            over = clock.run(partial(_advance, climbs), len(climbs))
            for climb in sorted(climbs, key=lambda climb: -climb.promise()):
                self.tell(climb)
            self.under_way = {k: self.under_way[k] for k, done in zip(self.under_way, over, strict=True) if not done}
        return clock.why() if clock.over() else "converged"

    def _fill(self) -> bool:
        while len(self.under_way) < ABREAST and (self.count is None or self.made < self.count):
            self.under_way[self.made] = self.make(self.made)
            self.made += 1
        return bool(self.under_way)


def _advance(climbs: Sequence[Climbing], k: int) -> bool:
    return climbs[k].advance()
