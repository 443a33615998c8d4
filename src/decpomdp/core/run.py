"""A run is a state, a step and a budget.

    method.init(now)         -> State              quick; its result is a valid team
    method.step(state, now)  -> State, Row | None  10 ms to 1 s of work; None, a row or a list of rows for the trace
    method.result(state)     -> Fit, Row | None    valid after every step; the row is the last of the trace

A state is plain data (a NamedTuple of numbers, strings, arrays, teams), so it *is* the checkpoint. It has the fields
`steps` (joint steps played), `iterations` and `stopped` (why the method ended; "" while it goes on). Models, threads,
clusters, simulators and caches belong to the method object. A step depends on (state, now) alone and may reuse the
memory of the state it was given. Methods never use a clock, a signal or a file: everything that ends a run early (time
limit, Ctrl-C, SIGTERM, callback) sets one flag, `now.stop`. A long step calls `now.check()`, and may catch `Cut` to
return a partial result. Compiled loops poll the flag and release the GIL.

Steps run on a worker thread; the main thread watches the clock and receives signals.
"""

import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from decpomdp.core.controller import Team
from decpomdp.core.fit import Fit, Row, Watch
from decpomdp.engines.threads import default_threads

TIME_LIMIT, INTERRUPTED, TERMINATED, CALLBACK, PROCESSOR_TIME = 1, 2, 3, 4, 5  # values of the stop flag
REASONS = ("", "time limit", "interrupted", "terminated", "callback", "processor time")
TICK, IDLE = 0.05, 1.0  # seconds between two looks at the clock; if nothing is shown and no time is limited
LIMITS = {  # fields of `Budget` and `Spent` -> why a run ends when it is used up
    "seconds": "time limit",
    "cpu_seconds": "processor time",
    "steps": "steps",
    "iterations": "iterations",
}

Result = TypeVar("Result")


class Cut(Exception):  # noqa: N818 - not an error
    """Raised by `now.check()` to abandon a step: the run is ending."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """When to stop, whichever comes first. Limits of steps and iterations give the same result on every machine."""

    seconds: float | None = None
    cpu_seconds: float | None = None  # of this process, all threads
    steps: int | None = None  # joint steps played
    iterations: int | None = None

    def used(self, spent: "Spent") -> tuple[float, str]:
        """The largest share of a limit that is used up, and the name of that limit."""
        limited = {name: limit for name in LIMITS if (limit := getattr(self, name)) is not None}
        shares = [(getattr(spent, name) / limit if limit else 1.0, LIMITS[name]) for name, limit in limited.items()]
        return max(shares, default=(0.0, ""))


class Spent(NamedTuple):
    """The used part of the budget; the same fields as `Budget`."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    steps: int = 0
    iterations: int = 0


class Now(NamedTuple):
    """The context of a step: the remaining budget at its start, and the stop flag."""

    progress: float  # used share of the budget, 0 to 1; schedules depend on it
    seconds: float  # left; inf without a limit
    steps: float  # left; inf without a limit
    iterations: float  # left; inf without a limit
    pace: float  # seconds that the last step took; 0 before the first one
    stop: NDArray[np.int64]  # [1]; not 0: end early

    @property
    def stopping(self) -> bool:
        """Whether the run is ending."""
        return bool(self.stop[0])

    def check(self) -> None:
        """Raise `Cut` if the run is ending."""
        if self.stop[0]:
            raise Cut


def unlimited() -> Now:
    """No limits, never stopped: for warm-up, tests and steps outside a run."""
    return Now(0.0, math.inf, math.inf, math.inf, 0.0, np.zeros(1, np.int64))


class Inputs(NamedTuple):
    """Inputs of a method in addition to its problem (or episodes) and its settings."""

    seed: int = 0
    threads: int | None = None  # None: all cores; the result does not depend on it
    engine: Any = None  # a Dask cluster instead of threads; the result is the same
    begin: Team | None = None  # a team to begin with
    behaviours: Sequence[Team] | None = None  # the teams that collected each batch of episodes


class Method(Protocol):
    """A learning or planning method, run by the driver."""

    state: type  # of its states: a checkpoint is decoded as this type

    def toy(self) -> "Method | list[Method | NamedToy]":
        """The same method, or its parts, on a toy problem: two steps compile everything."""
        ...

    def init(self, now: Now) -> Any: ...
    def step(self, state: Any, now: Now) -> tuple[Any, Row | list[Row] | None]: ...
    def result(self, state: Any) -> tuple[Fit, Row | None]: ...


class NamedToy(NamedTuple):
    """A toy that a function of a module makes: a second process can make it too."""

    module: str
    function: str
    agents: int

    def made(self) -> Method:
        method: Method = getattr(import_module(self.module), self.function)(self.agents)
        return method


class Checkpoint(Protocol):
    """Saves and loads the state of a run (`io/checkpoints.py`)."""

    def load(self, kind: type) -> tuple[Any, Spent, list[Row]] | None:
        """The saved state, the used budget and the trace up to it; None if there is no checkpoint."""
        ...

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        ...

    def save(self, state: Any, spent: Spent, trace: list[Row]) -> None:
        """Replace the saved state; rows are appended to the saved trace."""
        ...


class Display(Protocol):
    """Shows the progress of a run."""

    def __call__(self, row: Row) -> object:
        """A new row of the trace."""
        ...

    def tick(self, seconds: float, phase: str) -> None:
        """Called about twenty times a second with the elapsed time, which never decreases, and the phase.

        The phase is "compiling", "stopping" or ""; the elapsed time is 0 while compiling.
        """
        ...


class Outcome(NamedTuple):
    """The result of a run."""

    fit: Fit  # the method's result, with trace, stopped and seconds
    spent: Spent


def run(
    method: Method,
    budget: Budget,
    *,
    checkpoint: Checkpoint | None = None,
    watch: Watch | None = None,
    display: Display | None = None,
    within: Now | None = None,
) -> Outcome:
    """Run until the method ends, the budget is used up or the user asks to stop; resume from `checkpoint`.

    `watch` is called with every row of the trace; the run ends when it returns True. With a time limit or a display,
    the kernels are compiled first: that time is shown as "compiling" and not counted. A run `within` a step of another
    run ends with that run.
    """
    saved = checkpoint.load(method.state) if checkpoint else None
    driver = _Driver(budget, display, saved[1] if saved else Spent(), within)
    trace: list[Row] = list(saved[2]) if saved else []
    with _signals(driver.stop):
        if budget.seconds or budget.cpu_seconds or display:
            driver.phase = "compiling"
            driver.work(lambda: warm_up(method.toy(), driver.stop))
        driver.start()
        state = saved[0] if saved else driver.work(lambda: method.init(driver.now()))
        while not (state.stopped or driver.over()):
            if checkpoint and checkpoint.due:  # before a step, so that an abandoned step is never in a checkpoint
                checkpoint.save(state, driver.spent, trace)
            try:
                state, rows = driver.timed(method, state)
            except Cut:
                break
            driver.count(state)
            for row in rows if isinstance(rows, list) else [] if rows is None else [rows]:
                driver.record(row, trace, watch)
        fit, last = driver.work(lambda: method.result(state))
    driver.count(state)
    if last is not None:
        driver.record(last, trace, watch)
    stopped = REASONS[int(driver.stop[0])] or state.stopped or budget.used(driver.spent)[1]
    fit = replace(fit, trace=tuple(trace), stopped=stopped, seconds=driver.spent.seconds)
    return Outcome(fit, driver.spent)


def warm_up(toys: Method | Sequence[Method | NamedToy], stop: NDArray[np.int64] | None = None) -> None:
    """Compile the kernels of a method: two steps of its toys. A stop flag that is set leaves out the rest.

    numba compiles one function at a time in a process. On the first run a second process compiles for the named toy;
    its code is then loaded from the cache.
    """
    every = toys if isinstance(toys, Sequence) else [toys]
    named = [toy for toy in every if isinstance(toy, NamedToy)]
    with ExitStack() as meanwhile:
        for toy in named:
            meanwhile.enter_context(_second_process(toy, stop))
        for method in every:
            if not isinstance(method, NamedToy):
                _two_steps(method, stop)
    for toy in named:
        _two_steps(toy.made(), stop)


def _two_steps(method: Method, stop: NDArray[np.int64] | None) -> None:
    state = None
    for _ in range(2):
        if stop is not None and stop[0]:
            return
        state = method.init(unlimited()) if state is None else state
        if not state.stopped:
            state, _ = method.step(state, unlimited())
    method.result(state)


@contextmanager
def _second_process(toy: NamedToy, stop: NDArray[np.int64] | None) -> Iterator[None]:
    """Meanwhile another process compiles for a toy, unless that was done before. Its failure only costs time."""
    from decpomdp.kernels.compiled import FOLDER  # imports numba

    mark = Path(FOLDER or "", f"{toy.module}.{toy.function}.{toy.agents}.compiled")
    if FOLDER is None or mark.exists() or default_threads() == 1 or not sys.executable or hasattr(sys, "frozen"):
        yield
        return
    program = f"from decpomdp.core.run import NamedToy, warm_up; warm_up(NamedToy{tuple(toy)!r}.made())"
    quiet: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", program], **quiet)  # noqa: S603 - our own program
    try:
        yield
        while process.poll() is None and not (stop is not None and stop[0]):
            time.sleep(TICK)
        if process.poll() == 0:
            mark.touch()
    finally:
        process.kill()
        process.wait()


class _Driver:
    """The clock, the stop flag and the worker thread of one run."""

    def __init__(self, budget: Budget, display: Display | None, spent: Spent, within: Now | None) -> None:
        self.budget, self.display, self.spent, self.within = budget, display, spent, within
        self.stop = np.zeros(1, np.int64)
        self.phase, self.pace = "", 0.0
        self.began: float | None = None  # None before `start`: no time is counted

    def start(self) -> None:
        """Start the clock, at the time that was spent before a resume."""
        self.phase = ""
        self.began = time.monotonic() - self.spent.seconds
        self.began_cpu = time.process_time() - self.spent.cpu_seconds

    def seconds(self) -> float:
        return 0.0 if self.began is None else time.monotonic() - self.began

    def over(self) -> bool:
        return bool(self.stop[0]) or self.budget.used(self.spent)[0] >= 1

    def now(self) -> Now:
        def left(limit: float | None, used: float) -> float:
            return math.inf if limit is None else max(0.0, limit - used)

        used, budget = self.spent, self.budget
        return Now(
            progress=min(1.0, budget.used(used)[0]),
            seconds=left(budget.seconds, used.seconds),
            steps=left(budget.steps, used.steps),
            iterations=left(budget.iterations, used.iterations),
            pace=self.pace,
            stop=self.stop,
        )

    def count(self, state: Any) -> None:
        """Update the used budget after a step."""
        used = time.process_time() - self.began_cpu
        self.spent = Spent(self.seconds(), used, state.steps, state.iterations)

    def timed(self, method: Method, state: Any) -> tuple[Any, Row | list[Row] | None]:
        now, began = self.now(), time.monotonic()
        result = self.work(lambda: method.step(state, now))
        self.pace = time.monotonic() - began
        return result

    def record(self, row: Row, trace: list[Row], watch: Watch | None) -> None:
        trace.append({"seconds": round(self.spent.seconds, 3), **row})
        if self.display:
            self.display(trace[-1])
        if watch and watch(trace[-1]) is True:
            self.stop[0] = self.stop[0] or CALLBACK

    def work(self, task: Callable[[], Result]) -> Result:
        """Do `task` on a worker thread, while this thread watches the clock and receives signals."""
        future = on_thread(task, "decpomdp-step")
        limited = self.budget.seconds is not None or self.budget.cpu_seconds is not None
        tick = TICK if limited or self.display or self.within else IDLE
        while wait([future], timeout=tick).not_done:
            self._look()
        return future.result()

    def _look(self) -> None:
        seconds, budget = self.seconds(), self.budget
        if self.display:
            self.display.tick(seconds, "stopping" if self.stop[0] else self.phase)
        if self.within is not None and self.within.stopping:
            self.stop[0] = self.stop[0] or self.within.stop[0]
        if self.began is None:
            return
        if budget.seconds is not None and seconds > budget.seconds:
            self.stop[0] = self.stop[0] or TIME_LIMIT
        if budget.cpu_seconds is not None and time.process_time() - self.began_cpu > budget.cpu_seconds:
            self.stop[0] = self.stop[0] or PROCESSOR_TIME


def on_thread(task: Callable[[], Result], name: str) -> "Future[Result]":
    """Start `task` on a new thread, which does not keep the process alive."""
    future: Future[Result] = Future()

    def work() -> None:
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name=name, daemon=True).start()
    return future


@contextmanager
def _signals(stop: NDArray[np.int64]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM sets the flag, the second has its usual effect. Nothing is raised inside a step."""

    def ask(number: int, _: Any) -> None:
        stop[0] = TERMINATED if number == signal.SIGTERM else INTERRUPTED
        signal.signal(number, usual[number])

    main = threading.current_thread() is threading.main_thread()
    handled = [n for n in (signal.SIGINT, signal.SIGTERM) if main and signal.getsignal(n) is not signal.SIG_IGN]
    usual: dict[int, Any] = {number: signal.signal(number, ask) for number in handled}
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
