"""What Ctrl-C and a polite kill (SIGTERM) do.

The first raises KeyboardInterrupt: learners and planners return the best so far, everything else unwinds and leaves
nothing half-written. The second stops at once, but never between the end of the work and the moment when its result is
on disk: that is waited for. The third does not wait for anything.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from decpomdp.cli import words

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """How often the user asked to stop, and whether there is something that must not be lost."""

    def __init__(self) -> None:
        self.times, self.last = 0, signal.SIGINT
        self.unsaved = self.saving = self.held = False

    def listen(self) -> None:
        """From now on."""
        for number in SIGNALS:
            signal.signal(number, self._asked)

    @property
    def code(self) -> int:
        """The exit code of a command that was stopped."""
        return 128 + self.last

    @property
    def killed(self) -> bool:
        """Whether it was a polite kill: whoever sent it wants to see that it worked."""
        return self.times > 0 and self.last == signal.SIGTERM

    @contextmanager
    def until_saved(self) -> Iterator[None]:
        """Work whose result must be saved: the first interrupt ends it early, a second one waits until it is saved."""
        self.unsaved = True
        try:
            yield
        finally:
            self.unsaved = False
        self._let_go()

    @contextmanager
    def save(self) -> Iterator[None]:
        """While a result is being written even the first interrupt waits."""
        self.saving = True
        try:
            yield
        finally:
            self.saving = self.unsaved = False
        self._let_go()

    def leave(self, code: int) -> None:
        """End the process. After an interrupt do not wait for threads that are still at work."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError, ValueError):  # nobody reads it any more
                    stream.flush()
        if self.times:
            os._exit(code)
        sys.exit(code)

    def _asked(self, number: int, frame: FrameType | None) -> None:
        self.times, self.last = self.times + 1, signal.Signals(number)
        waits = self.saving or (self.unsaved and self.times > 1)
        if not waits or self.times > 2:
            raise KeyboardInterrupt
        self.held = True
        if self.times == 2:
            words.note("saving what there is first; once more to stop without it")

    def _let_go(self) -> None:
        if self.held:
            self.held = False
            raise KeyboardInterrupt


interrupts = Interrupts()  # signals belong to the whole process
