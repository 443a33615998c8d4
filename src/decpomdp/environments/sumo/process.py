"""A simulation in its own process, restarted when that process dies.

libsumo holds one simulation per process, so every simulation beyond the first needs a process of its own:
`python -m decpomdp.environments.sumo.process FD SIDE RATE`, which answers requests on the pipe FD until it is closed.

An episode is a function of its seed and the actions. If the process has died (killed, out of memory, a crash inside
SUMO) or sends no answer for SILENCE seconds, a new one is started and replays the episode from its seed. Its answer is
the same. If ATTEMPTS processes die during one request, this is an error.

`multiprocessing.Process` is not used: it imports the user's script again, which then needs a main guard, and it is not
allowed in the workers of a Dask cluster, which are daemonic.
"""

import os
import signal
import subprocess
import sys
import weakref
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core.errors import InputError
from decpomdp.environments.sumo.simulation import Measures, Shown, Simulation

ATTEMPTS = 3  # processes that may die during one request
PATIENCE = 5.0  # seconds until a process that does not exit is killed
SILENCE = 600.0  # seconds without an answer; the slowest, a reset of 10 x 10 lights, takes about ten
COMMAND = (sys.executable, "-m", "decpomdp.environments.sumo.process")


class SimulationProcess:
    """The same methods as `Simulation`, in another process."""

    def __init__(self, side: int, rate: float) -> None:
        self._arguments = str(side), str(rate)
        self._episode: list[tuple[Any, ...]] = []  # requests since the last reset
        self._running: tuple[subprocess.Popen[bytes], Connection] | None = None
        self._finalizer: Any = None
        self._cancelled = False
        self.starts = 0  # processes started so far

    @property
    def pid(self) -> int | None:
        """The process id; None while no process is running."""
        return None if self._running is None else self._running[0].pid

    def reset(self, seed: int, control: str = "agents") -> Shown:
        """Start a new episode."""
        self._episode = []
        return self._ask("reset", seed, control)

    def step(self, actions: NDArray[np.integer] | None) -> Shown:
        """One decision."""
        return self._ask("step", None if actions is None else np.array(actions, np.int16))

    def measures(self) -> Measures:
        """Measures of the episode so far."""
        return self._ask("measures")

    def close(self) -> None:
        """End the process; the next request starts another."""
        self._cancelled = False
        self._end()

    def cancel(self) -> None:
        """From another thread: kill the process and reject all requests until `close`."""
        self._cancelled = True
        running = self._running
        if running is not None:
            running[0].kill()

    def _ask(self, *request: Any) -> Any:
        code = None
        for _ in range(ATTEMPTS):
            if self._cancelled:
                raise InputError(f"sumo: {request[0]}: the episode was cancelled")
            try:
                answer = self._answer(request)
            except (EOFError, OSError):  # the process has died or hangs
                code = self._end(kill=True)
                continue
            if isinstance(answer, InputError):
                raise answer
            self._episode.append(request)
            return answer
        raise InputError(f"sumo: expected a running worker process, got {ATTEMPTS} that died (exit code {code})")

    def _answer(self, request: tuple[Any, ...]) -> Any:
        """Send a request and return the answer; a new process first gets all earlier requests of the episode."""
        answer = None
        try:
            requests = [request] if self._running else [*self._episode, request]
            pipe = self._running[1] if self._running else self._start()
            for each in requests:
                pipe.send(each)
                if not pipe.poll(SILENCE):
                    raise EOFError
                answer = pipe.recv()
        except (EOFError, OSError):
            raise
        except BaseException:  # an interrupt: the pending answer must not be mistaken for that of the next request
            self._end(kill=True)
            raise
        return answer

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        search = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH")]  # imports the same package
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*COMMAND, str(theirs.fileno()), *self._arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # what SUMO prints
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search))},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._running, self.starts = (process, ours), self.starts + 1
        self._finalizer = weakref.finalize(self, _join, process, ours)
        if self._cancelled:  # while it was started
            process.kill()
        return ours

    def _end(self, kill: bool = False) -> int | None:
        """End the process, if there is one; its exit code."""
        running, self._running = self._running, None
        if running is None:
            return None
        if kill:
            running[0].kill()
        self._finalizer()
        return running[0].returncode


def _join(process: "subprocess.Popen[bytes]", pipe: Connection) -> None:
    """Close the pipe, which ends the process; kill it if it does not end."""
    pipe.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve(pipe: Connection, side: int, rate: float) -> None:
    """Answer requests (method, *arguments) of one simulation until the pipe is closed; an `InputError` is an answer."""
    simulation: Simulation | None = None
    while True:
        try:
            method, *arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            simulation = simulation or Simulation(side, rate)
            answer = getattr(simulation, method)(*arguments)
        except InputError as error:
            answer = error
        pipe.send(answer)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is handled by the process that owns this one
    serve(Connection(int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3]))
