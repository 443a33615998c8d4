"""A simulation in a process of its own, which survives the death of that process.

What was asked for since the last reset is remembered. When the process is gone (killed, out of memory, a crash inside
SUMO), a new one is started and plays the same episode again from its seed up to where it was: SUMO repeats itself, so
the answer is the one that would have come. Only a process that dies several times over the same request is given up.
One that gives no answer for SILENCE seconds hangs: it is ended, and is one that died. The longest answer is that to a
reset, the 300 s before the first decision: some ten seconds on 10 x 10 lights.
"""

import os
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import InputError
from decpomdp.environments.sumo.frames import receive, send, unpacked
from decpomdp.environments.sumo.simulation import Measures, Shown

ATTEMPTS = 3  # processes that may die over one request
PATIENCE = 5.0  # seconds that a process is given to end by itself
SILENCE = 600.0  # seconds without an answer after which a process is taken to hang
COMMAND = (sys.executable, "-m", "decpomdp.environments.sumo.worker")


class SimulationProcess:
    """The same methods as `Simulation`, somewhere else."""

    def __init__(self, side: int, rate: float, silence: float = SILENCE) -> None:
        self._opening: list[Any] = ["open", side, rate]
        self._episode: list[list[Any]] = []  # requests since the last reset
        self._running: tuple[subprocess.Popen[bytes], IO[bytes]] | None = None
        self._end: Any = None
        self.starts = 0  # processes that there have been
        self._abandoned = False
        self.silence, self._hung = silence, False

    @property
    def pid(self) -> int | None:
        """Of the process; None when there is none."""
        return None if self._running is None else self._running[0].pid

    def reset(self, seed: int, control: str = "agents") -> Shown:
        """A new episode."""
        self._episode = []
        return unpacked(self._asked(["reset", seed, control])[1:])

    def step(self, actions: NDArray[np.integer] | None) -> Shown:
        """One decision."""
        return unpacked(self._asked(["step", None if actions is None else actions.astype(np.int16).tobytes()])[1:])

    def measures(self) -> Measures:
        """Of the episode so far."""
        return Measures(*self._asked(["measures"], remember=False)[1:])

    def close(self) -> None:
        """End the process; the next request starts another."""
        self._finish()
        self._abandoned = False

    def abandon(self) -> None:
        """From another thread: nobody waits for answers any more. Every request is refused until it is closed."""
        self._abandoned = True
        self._kill()

    def _asked(self, request: list[Any], remember: bool = True) -> list[Any]:
        answer = None
        words = ""
        for _ in range(ATTEMPTS):
            if self._abandoned:
                raise InputError(f"sumo: expected an episode that somebody waits for, got {request[0]} after its end")
            answer = self._tried([request] if self._running else [self._opening, *self._episode, request])
            if answer is not None:
                break
            words = self._last_words()
            self._finish()
            if self._hung:
                words = f" (no answer for {self.silence:g} s)"
                warnings.warn(f"sumo: a worker process was ended{words}", RuntimeWarning, stacklevel=2)
        if answer is None:
            raise InputError(f"sumo: expected a worker process that runs, got one that ended {ATTEMPTS} times{words}")
        if answer[0] == "refused":
            raise InputError(answer[1])
        if remember:
            self._episode.append(request)
        return answer

    def _tried(self, requests: list[list[Any]]) -> list[Any] | None:
        """The answer to the last request; None when the process has died before."""
        if self._running is None:
            self._start()
        if self._abandoned:  # while it started
            self._kill()
        process, _ = self._running  # type: ignore[misc]
        answer: list[Any] | None = None
        try:
            for request in requests:
                with self._limited(process):
                    send(process.stdin, request)  # type: ignore[arg-type]
                    answer = receive(process.stdout)  # type: ignore[arg-type]
                if answer is None or answer[0] == "refused":
                    return answer
        except OSError:  # a broken pipe
            return None
        except BaseException:  # an interrupt: an answer may be under way that nobody waits for any more
            self._kill()
            self._finish()
            raise
        return answer

    @contextmanager
    def _limited(self, process: "subprocess.Popen[bytes]") -> Iterator[None]:
        """Within this, a process that says nothing for too long is killed: whoever waits for it then sees it end."""

        def end() -> None:
            self._hung = True
            process.kill()

        self._hung, timer = False, Timer(self.silence, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _start(self) -> None:
        source = str(Path(__file__).parents[2])  # whoever found this package here finds it there
        found = os.environ.get("PYTHONPATH")
        environment = {**os.environ, "PYTHONPATH": source if not found else source + os.pathsep + found}
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as the process
        pipe = subprocess.PIPE
        process = subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=errors, env=environment)  # noqa: S603
        self._running, self.starts = (process, errors), self.starts + 1
        self._end = weakref.finalize(self, _ended, process, errors)

    def _kill(self) -> None:
        running = self._running
        if running is not None:
            running[0].kill()

    def _finish(self) -> None:
        if self._end is not None:
            self._end()
        self._running = self._end = None

    def _last_words(self) -> str:
        if self._running is None:
            return ""
        process, errors = self._running
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # it has closed its output and goes on
            process.kill()
            code = process.wait()
        errors.seek(0)
        lines = errors.read().decode(errors="replace").split("\n")
        said = " ".join([line.strip() for line in lines if line.strip()][-1:])
        return f" (exit code {code}{': ' + said if said else ''})"


def _ended(process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
    """Its input closed, it ends; it is made to, if it does not."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # what was still to be written has no reader any more
                continue
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    errors.close()
