"""Checkpoints of a run: the state in one file, atomically replaced, and the trace in another.

`checkpoint.bin` holds the state, the spent budget, the number of rows of the trace and a checksum. `trace.jsonl` is
only appended to, and flushed to the disk before the state; rows after the number in the checkpoint are dropped on
resume. A checkpoint belongs to one run (`run_id`). Writing takes at most a twentieth of the time.
"""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec

from decpomdp.core import FormatError
from decpomdp.core.fit import Row
from decpomdp.core.run import Spent
from decpomdp.io.files import FilePath, in_words, path_of, read_bytes, write_bytes
from decpomdp.io.snapshots import decode, encode

FORMAT = b"decpomdp-checkpoint/2\n"
STATE, TRACE = "checkpoint.bin", "trace.jsonl"
LIMIT = 2**31  # bytes
EVERY, FIRST = 5.0, 1.0  # seconds from one checkpoint to the next, and to the first
COST = 20  # shortest pause, in durations of the last checkpoint


class Saved(msgspec.Struct):
    """The body of a checkpoint."""

    run_id: str
    spent: Spent
    rows: int  # of the trace
    state: bytes


class CheckpointFolder:
    """Saves a run in a folder: see `core/run.py`.

    Parameters
    ----------
    folder
        Folder of the two files; created if it does not exist.
    run_id
        Identifies the run; a checkpoint of another run is rejected.
    every
        Seconds from one checkpoint to the next.
    """

    def __init__(self, folder: FilePath, run_id: str, every: float = EVERY) -> None:
        self.folder, self.run_id, self.every = Path(path_of(folder)), run_id, every
        self._written, self._pause = 0, min(every, FIRST)  # rows in the trace file, seconds
        self._last = time.monotonic()

    @property
    def exists(self) -> bool:
        """Whether there is a checkpoint."""
        return (self.folder / STATE).exists()

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.monotonic() - self._last >= self._pause

    def load(self, kind: type) -> tuple[Any, Spent, list[Row]] | None:
        """The saved state as a `kind`, the spent budget, and the trace; None if there is no checkpoint."""
        if not self.exists:
            return None
        path = self.folder / STATE
        saved = _opened(read_bytes(path, LIMIT), str(path))
        if saved.run_id != self.run_id:
            raise FormatError(str(path), None, "the checkpoint belongs to a different run")
        try:
            state: Any = decode(saved.state, kind)
        except ValueError as error:
            raise FormatError(str(path), None, f"the checkpoint is of another version: {error}") from None
        return state, saved.spent, self._rows(saved.rows)

    def save(self, state: Any, spent: Spent, trace: list[Row]) -> None:
        """Save this state now."""
        began = time.monotonic()
        with in_words(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._append(trace)
        body = msgspec.msgpack.encode(Saved(self.run_id, spent, len(trace), encode(state)))
        digest = hashlib.sha256(body).hexdigest().encode()
        write_bytes(self.folder / STATE, FORMAT + digest + b"\n" + body)
        self._last = time.monotonic()
        self._pause = max(self.every, COST * (self._last - began)) if self.every else 0.0

    def clear(self) -> None:
        """Remove the files: the run is finished."""
        with in_words(self.folder):
            for name in (STATE, TRACE):
                (self.folder / name).unlink(missing_ok=True)

    def _append(self, trace: list[Row]) -> None:
        lines = "".join(json.dumps(dict(row)) + "\n" for row in trace[self._written :])
        with (self.folder / TRACE).open("a" if self._written else "w", encoding="utf-8") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        self._written = len(trace)

    def _rows(self, count: int) -> list[Row]:
        """The first `count` rows of the trace; the file is cut after them."""
        path = self.folder / TRACE
        lines = read_bytes(path, LIMIT).splitlines(keepends=True)[:count] if count else []
        try:
            rows: list[Row] = [{key: _cell(cell) for key, cell in json.loads(line).items()} for line in lines]
        except ValueError as error:
            raise FormatError(str(path), None, f"not a trace: {error}") from None
        if len(rows) < count:
            raise FormatError(str(path), None, f"expected {count} rows, got {len(rows)}")
        write_bytes(path, b"".join(lines))
        self._written = count
        return rows


def _cell(cell: Any) -> Any:
    return tuple(cell) if isinstance(cell, list) else cell


def _opened(data: bytes, source: str) -> Saved:
    head, _, rest = data.partition(b"\n")
    digest, _, body = rest.partition(b"\n")
    if head + b"\n" != FORMAT:
        raise FormatError(source, None, "not a checkpoint of this version")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise FormatError(source, None, "checksum mismatch: the checkpoint is damaged; delete it to start again")
    try:
        return msgspec.msgpack.decode(body, type=Saved)
    except msgspec.MsgspecError as error:
        raise FormatError(source, None, f"not a checkpoint: {error}") from None
