"""Work of cells, for tests: it returns a result, is killed, or fails."""

import os
import signal
import time
from pathlib import Path

import msgspec

from decpomdp.core import InputError


class Doubled(msgspec.Struct):
    """A result."""

    value: float
    missing: float | None = None


def doubled(settings) -> Doubled:
    return Doubled(2.0 * settings["seed"], float("nan"))


def slow(settings) -> Doubled:
    time.sleep(0.2)
    return Doubled(2.0 * settings["seed"])


def killed(settings) -> str:
    """Killed so many times before it comes to its end."""
    notes = Path(settings["notes"])
    with notes.open("a") as file:
        file.write("begun\n")
    if len(notes.read_text().splitlines()) <= settings["times"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def failing(settings) -> None:
    raise InputError("expected another problem")
