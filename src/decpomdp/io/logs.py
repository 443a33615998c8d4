"""What was said during a run: the command, progress now and then, warnings. It is the run folder's log.txt.

Every line is written when it is said: of a run that was killed, the log tells how far it came.
"""

import shlex
import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from decpomdp.core import Row, Watch
from decpomdp.core.plain import on_a_line
from decpomdp.core.progress import in_words as row_in_words
from decpomdp.io.files import in_words

EVERY = 5.0  # seconds between lines of progress


class RunLog:
    """A context manager: warnings are noted while it is open, and still shown as before."""

    def __init__(self, command: Sequence[str], path: Path) -> None:
        self.path = path
        self.shown = time.monotonic()
        self.last = ""
        self.say(shlex.join(["decpomdp", *command]))

    def say(self, line: str) -> None:
        """Note a line, with the time of day."""
        with in_words(self.path), self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z  {on_a_line(line)}\n")

    def watching(self, watch: Watch, columns: Mapping[str, str]) -> Watch:
        """A watch that passes rows on and notes some of them: `columns` says how, key -> format."""

        def both(row: Row) -> None:
            watch(row)
            self.last = " ".join(row_in_words(row, columns).split())
            if time.monotonic() - self.shown >= EVERY:
                self._note_progress()

        return both

    def close(self, last: str) -> None:
        """The latest progress, and a last line."""
        self._note_progress()
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

    def _note_progress(self) -> None:
        if self.last:
            self.say(self.last)
        self.last, self.shown = "", time.monotonic()
