"""When planning stops: a time limit or an interrupt, and what is being done then is not lost.

A worker thread never sees Ctrl-C, and waiting for it from the main thread would make the user wait. So work on threads
is waited for in short naps: an interrupt makes the clock be over, the workers notice at their next look at it, and what
they return is returned all the same. Compiled loops that last look at `stop` instead.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TypeVar

import numpy as np

from decpomdp.engines import threads as engine
from decpomdp.engines.clock import PAUSE, Clock, Finished

COMPILING = "compiling (once)"  # the phase that a progress display shows
QUIET = 2.0  # seconds of compiling before it is spoken of: loading what was compiled before takes less

Result = TypeVar("Result")


class PlanClock(Clock):
    """A clock that is over after an interrupt, too."""

    def __init__(self, limit: float | None, threads: int | None) -> None:
        super().__init__(limit)
        self.threads = threads
        self.interrupted = False
        self.stop = np.zeros(1, np.int64)  # not 0: compiled loops end early

    def over(self) -> bool:
        """Whether the time is up or the user has had enough."""
        return self.interrupted or super().over()

    def interrupt(self) -> None:
        """The user has had enough."""
        self.interrupted = True
        self.stop[0] = 1

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """Within this the limit is a share of what it is."""
        limit, self.limit = self.limit, None if self.limit is None else share * self.limit
        try:
            yield
        finally:
            self.limit, self.stop[0] = limit, int(self.interrupted)

    def why(self) -> str:
        """Why work was cut short."""
        return "interrupted" if self.interrupted else "time limit"

    def run(self, work: Callable[[int], Result], pieces: int) -> list[Result]:
        """work(0), ..., work(pieces - 1) on threads, which look at this clock; an interrupt shortens them.

        It is not raised again: whoever calls this takes in the results and looks at the clock.
        """
        answer: Future[list[Result]] = Future()

        def all_pieces() -> None:
            try:
                answer.set_result(engine.run(work, pieces, self.threads))
            except BaseException as error:
                answer.set_exception(error)

        Thread(target=all_pieces, name="decpomdp-pieces", daemon=True).start()
        while not answer.done():
            try:
                self._wait(answer)
            except KeyboardInterrupt:
                if self.interrupted:
                    raise  # they are asked for the second time
                self.interrupt()
        return answer.result()

    def _wait(self, answer: "Future[list[Result]]") -> None:
        """For the answer, or for a nap after which the heart may beat."""
        wait([answer], timeout=min(PAUSE, max(0.02, self.left())))
        if self.over():
            self.stop[0] = 1
        with suppress(Finished):
            self.check()

    def rehearse(self, work: Callable[[], object], tell: Callable[[str], None]) -> None:
        """Let `work` compile what is needed. It does not count as time; when it takes long, `tell` says so.

        With no time at all there is nothing to compile for.
        """
        if self.limit == 0:
            return
        with self.hold(), _told(lambda: tell(COMPILING)):
            work()


class RehearsalClock(PlanClock):
    """For a rehearsal of work on threads: nothing to compile before it, and all of it on the calling thread.

    An interrupt then ends compiling, which looks at no clock, at once.
    """

    def __init__(self) -> None:
        super().__init__(None, 1)

    def run(self, work: Callable[[int], Result], pieces: int) -> list[Result]:
        """One piece after the other."""
        return [work(piece) for piece in range(pieces)]

    def rehearse(self, work: Callable[[], object], tell: Callable[[str], None]) -> None:
        """This is the rehearsal."""


@contextmanager
def _told(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` every now and then from a thread of its own while something lasts."""
    done, failures = Event(), list[BaseException]()

    def keep_telling() -> None:
        try:
            pause = QUIET
            while not done.wait(pause):
                tell()
                pause = PAUSE
        except BaseException as error:
            failures.append(error)

    teller = Thread(target=keep_telling, name="decpomdp-compiling", daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
    for failure in failures:
        raise failure
