"""The log of a run, log.txt: the command, progress every few seconds, warnings.

Every line is written when it happens: the log of a killed run shows how far it came.
"""

import shlex
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from decpomdp.core import Row
from decpomdp.core.progress import in_words as row_in_words
from decpomdp.core.text import on_a_line
from decpomdp.io.files import in_words

EVERY = 5.0  # seconds between lines of progress


class RunLog:
    """A context manager: warnings are logged while it is open, and still shown as before."""

    def __init__(self, command: Sequence[str], path: Path) -> None:
        self.path = path
        self.shown = time.monotonic()
        self.last = ""
        self.say(shlex.join(["decpomdp", *command]))

    def say(self, line: str) -> None:
        """Write a line, with the time of day."""
        with in_words(self.path), self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z  {on_a_line(line)}\n")

    def watch(self, row: Row) -> None:
        """A callback for a run: logs a row every few seconds."""
        self.last = " ".join(row_in_words(row).split())
        if time.monotonic() - self.shown >= EVERY:
            self._log_progress()

    def close(self, last: str) -> None:
        """Log the latest progress and a last line."""
        self._log_progress()
        self.say(last)

    def __enter__(self) -> Self:
        self._show = warnings.showwarning
        warnings.showwarning = self._warned
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        warnings.showwarning = self._show

    def _warned(self, message: Warning | str, *place: Any, **more: Any) -> None:
        self.say(f"warning: {message}")
        self._show(message, *place, **more)

    def _log_progress(self) -> None:
        if self.last:
            self.say(self.last)
        self.last, self.shown = "", time.monotonic()
