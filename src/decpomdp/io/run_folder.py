"""Creating, locking, logging and resuming a run folder.

The folder of an unfinished run holds a checkpoint (`checkpoints.py`), and `run.json` has `finished: false`. A lock
excludes other processes; the operating system releases it when the process ends. Lines of log.txt are written at once,
so the log of a killed run shows its progress.
"""

import os
import shlex
import shutil
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from decpomdp.core import InputError, Row
from decpomdp.core.progress import line_of
from decpomdp.core.text import on_a_line
from decpomdp.io.checkpoints import STATE, clear
from decpomdp.io.checkpoints import TRACE as ROWS
from decpomdp.io.files import FilePath, one_line_errors, write_bytes
from decpomdp.io.runs import LOG, RUN, RunRecord, read_record, versions

LOCK = ".lock"
OLD = "begun.json"  # of an unfinished run of version 0.1
EVERY = 5.0  # seconds between lines of progress
PARTS = ".decpomdp-*.part"  # temporary files of `files.replacing`, left by killed processes


@contextmanager
def new_run(path: FilePath) -> Iterator[Path]:
    """A new or empty folder for a run, locked.

    If the run fails before it has written a checkpoint or a team, a folder that was created for it is removed.
    """
    folder = Path(path)
    if folder.is_file():
        raise InputError(f"{folder}: expected a new or empty folder, got a file")
    with one_line_errors(folder):
        created = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            _check_empty(folder)
            try:
                yield folder
            except BaseException:
                _remove_empty_run(folder)
                raise
    except BaseException:
        for place in created:
            with suppress(OSError):  # not empty
                place.rmdir()
        raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder and remove temporary files of killed processes; InputError if it is locked."""
    path = folder / LOCK
    with one_line_errors(path):
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not (_lock(number) and _same_file(number, path)):
            raise InputError(f"{folder}: another process is writing to this run")
        try:
            with one_line_errors(folder):
                for part in folder.glob(PARTS):
                    part.unlink(missing_ok=True)
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(number)


def _lock(number: int) -> bool:
    """Lock an open file until it is closed; False if another process holds the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _same_file(number: int, path: Path) -> bool:
    """Whether an open file still has this name: the process that held the lock removes it."""
    with suppress(FileNotFoundError):
        return os.fstat(number).st_ino == path.stat().st_ino
    return False


def unfinished(folder: Path) -> RunRecord | None:
    """The record of a run that can be resumed; None if it is finished: then files left by a kill are removed."""
    if (folder / OLD).is_file():
        raise InputError(f"{folder}: a run of version 0.1 cannot be resumed; start it again in another folder")
    if not (folder / RUN).is_file():
        raise InputError(
            f"{folder}: expected a run folder, got {f'a folder without {RUN}' if folder.is_dir() else 'none'}"
        )
    record = read_record(folder / RUN)
    if not record.finished:
        return record
    clear(folder)
    return None


def can_resume(folder: Path) -> bool:
    """Whether the folder has an unfinished run with a checkpoint."""
    return (folder / STATE).is_file() and (folder / RUN).is_file() and not read_record(folder / RUN).finished


def check_same(record: RunRecord, digest: str) -> None:
    """Raise InputError if a resumed run would give another result: other versions, a changed source."""
    for name, now in versions().items():
        if record.versions.get(name) != now:
            before = record.versions.get(name, "another version")
            raise InputError(f"cannot resume: the run started with {name} {before}, the installed version is {now}")
    if record.digest != digest:
        raise InputError(f"{record.source}: changed since the run started; cannot resume")


def empty(folder: Path) -> None:
    """Remove everything in a folder that no other process writes to."""
    with locked(folder), one_line_errors(folder):
        for place in folder.iterdir():
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            elif place.name != LOCK:
                place.unlink()


def mark(folder: Path, name: str, content: bytes, expected: str) -> None:
    """Write the file that identifies the folder, unless it exists; rejects a folder with other contents."""
    if folder.is_file():
        raise InputError(f"{folder}: expected {expected}, got a file")
    with one_line_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder), one_line_errors(folder):
        if (folder / name).exists():
            return
        if _has_contents(folder):
            raise InputError(f"{folder}: expected {expected}, got a folder with other contents")
        write_bytes(folder / name, content)


def _check_empty(folder: Path) -> None:
    if (folder / RUN).is_file() and not read_record(folder / RUN).finished:
        raise InputError(f"{folder}: expected a new or empty folder, got an unfinished run (--resume {folder})")
    if _has_contents(folder):
        raise InputError(f"{folder}: expected a new or empty folder, got one with contents")


def _has_contents(folder: Path) -> bool:
    return any(place.name != LOCK for place in folder.iterdir())


def _remove_empty_run(folder: Path) -> None:
    """Remove record and log of a run that has no checkpoint and no team."""
    names = (LOG, RUN, ROWS)
    if all(place.name in (*names, LOCK) for place in folder.iterdir()):
        for name in names:
            (folder / name).unlink(missing_ok=True)


class RunLog:
    """A context manager: warnings are logged while it is open, and still shown as before."""

    def __init__(self, command: Sequence[str], path: Path) -> None:
        self.path = path
        self.shown = time.monotonic()
        self.last = ""
        self.say(shlex.join(["decpomdp", *command]))

    def say(self, line: str) -> None:
        """Write a line, with the time of day."""
        with one_line_errors(self.path), self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}Z  {on_a_line(line)}\n")

    def watch(self, row: Row) -> None:
        """A callback for a run: logs a row every few seconds."""
        self.last = " ".join(line_of(row).split())
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
