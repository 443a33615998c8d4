"""When to stop: a time limit, a number of joint steps, or the user's interrupt, whichever comes first.

Time may cut the work anywhere. Steps are shared out before a round of work begins, so that what is done with them is
a function of the seed alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic

from decpomdp.engines.threads import unwanted

PAUSE = 1.0  # seconds without news after which the heartbeat is called


class Finished(Exception):  # noqa: N818 - it is no error
    """The time or the steps are used up; what was begun is dropped."""


class Clock:
    """Seconds since the start, the limit, and a heartbeat for whoever looks on."""

    def __init__(self, limit: float | None, heartbeat: Callable[[], None] = lambda: None) -> None:
        self.begin = self.last = self.ready = monotonic()
        self.limit, self.heartbeat = limit, heartbeat
        self.held = False
        self._lock = Lock()

    def seconds(self) -> float:
        """Since the start."""
        return monotonic() - self.begin

    def over(self) -> bool:
        """Whether the time is up."""
        return self.limit is not None and not self.held and self.seconds() >= self.limit

    @contextmanager
    def hold(self) -> Iterator[None]:
        """What is done within this does not count: compiling, which only the first run on a machine has to do."""
        self.held = True
        try:
            yield
        finally:
            self.held = False
            self.begin = self.last = self.ready = monotonic()

    def go_on(self, seconds: float, ready: float) -> None:
        """As if it had been started so many seconds ago, and the preparations had been over at `ready`."""
        self.last = monotonic()
        self.begin = self.last - seconds
        self.ready = self.begin + ready

    def left(self) -> float:
        """Seconds until the limit."""
        return float("inf") if self.limit is None else max(0.0, self.limit - self.seconds())

    def prepared(self) -> None:
        """What came before was preparation: shares of the time count from here."""
        self.ready = monotonic()

    def share(self) -> float:
        """Part of the time since the preparations that is used up."""
        used = monotonic() - self.ready
        return used / (used + self.left()) if used > 0 else 0.0

    def shown(self) -> None:
        """There was news just now."""
        self.last = monotonic()

    def check(self) -> None:
        """Raise Finished when the time is up or nobody waits for this work; let the heart beat. For any worker."""
        if self.over() or unwanted():
            raise Finished
        if monotonic() - self.last > PAUSE and self._lock.acquire(blocking=False):
            try:
                self.shown()
                self.heartbeat()
            finally:
                self._lock.release()
