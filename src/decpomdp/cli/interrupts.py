"""What Ctrl-C and a polite kill (SIGTERM) do.

The first raises KeyboardInterrupt: learners and planners return the best so far, which is saved before anything else is
done with it; everything else unwinds and leaves nothing half-written.

The second stops at once. What is being saved gets a moment (`GRACE`) to be saved and what unwinds to unwind, but no
more: then the process ends wherever it is, also inside of compiled code. A thread of its own sees to that, because
Python runs signal handlers between two lines of the main thread only, and this one hears every signal. What was kept
before stays: files are replaced in one step, and half-written ones are removed. The third does not wait at all.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from decpomdp.cli import words

SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 0.5  # seconds from the second interrupt to the end
LATER = 0.01  # seconds after which the compiler is asked again whether it is ready
WORDS = 0.1  # seconds for the last words: nobody may read them


class Interrupts:
    """How often the user asked to stop, and whether there is something that must not be lost."""

    def __init__(self) -> None:
        self.times, self.last = 0, signal.SIGINT
        self.unsaved = self.saving = self.held = False
        self.left: Callable[[], Sequence[str]] = tuple  # lines about what stays when it ends wherever it is

    def listen(self) -> None:
        """From now on, to those that are not ignored: nohup and shells that begin a job in the background do that."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._asked)
        ear, mouth = socket.socketpair()
        mouth.setblocking(False)
        signal.set_wakeup_fd(mouth.detach(), warn_on_full_buffer=False)
        threading.Thread(target=self._hear, args=(ear,), name="decpomdp-interrupts", daemon=True).start()

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
        """Work whose result must be saved: the first interrupt ends it early, a second one lets it be saved."""
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

    @contextmanager
    def leaving(self, left: Callable[[], Sequence[str]]) -> Iterator[None]:
        """Within this, `left` says what stays of the work if it is stopped wherever it is."""
        self.left = left
        try:
            yield
        finally:
            self.left = tuple

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
        """On the main thread, when it comes to it."""
        if _compiling(frame) and hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, lambda _, frame: self._asked(number, frame))
            signal.setitimer(signal.ITIMER_REAL, LATER)
            return
        self.times, self.last = self.times + 1, signal.Signals(number)
        if not (self.saving or (self.unsaved and self.times > 1)):
            raise KeyboardInterrupt
        self.held = True

    def _let_go(self) -> None:
        if self.held:
            self.held = False
            raise KeyboardInterrupt

    def _hear(self, ear: socket.socket) -> None:
        """On a thread of its own, at once."""
        heard = 0
        while numbers := ear.recv(64):
            for number in numbers:
                heard += number in SIGNALS
                if heard == 2:
                    timer = threading.Timer(GRACE, self._end, (number,))
                    timer.daemon = True
                    timer.start()
                elif heard > 2:
                    self._end(number)

    def _end(self, number: int) -> None:
        """Wherever the work is."""
        speaker = threading.Thread(target=self._last_words, daemon=True)
        speaker.start()
        speaker.join(WORDS)
        os._exit(128 + number)

    def _last_words(self) -> None:
        from decpomdp.io.files import drop_parts

        drop_parts()
        for line in ("stopped at once", *self.left()):
            words.note(line)


def _compiling(frame: FrameType | None) -> bool:
    """Whether the compiler is at work: it calls Python back, and crashes when that raises."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("llvmlite."):
            return True
        frame = frame.f_back
    return False


interrupts = Interrupts()  # signals belong to the whole process
