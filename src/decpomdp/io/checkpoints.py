"""Checkpoints of a run: the state in one file, atomically replaced, and the trace in another.

`checkpoint.bin` holds the state, the spent budget, the number of rows of the trace and a checksum. `trace.jsonl` is
only appended to, and flushed to the disk before the state; rows after the number in the checkpoint are dropped on
resume. A checkpoint belongs to one run (`run_id`). Writing takes at most a twentieth of the time.

A state (nested NamedTuples, dataclasses, lists, dictionaries, numbers, texts, arrays, generators) is MessagePack, with
arrays as [type, shape, bytes], or [type, shape, bytes, order of the axes] if they are not C-contiguous: the last
digits of a sum over an array depend on its memory order. Decoded values are checked against the requested type; the
bytes can neither name a type nor run code.
"""

import hashlib
import json
import os
import re
import time
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_origin

import msgspec
import numpy as np

from decpomdp.core import FormatError
from decpomdp.core.fit import Row
from decpomdp.core.run import Spent
from decpomdp.io.files import FilePath, one_line_errors, path_of, read_bytes, write_bytes

FORMAT = b"decpomdp-checkpoint/2\n"
STATE, TRACE = "checkpoint.bin", "trace.jsonl"
LIMIT = 2**31  # bytes
EVERY, FIRST = 5.0, 1.0  # seconds from one checkpoint to the next, and to the first
COST = 20  # shortest pause, in durations of the last checkpoint
NUMBERS = re.compile(r"[<>|=][biuf][0-9]{1,2}")  # that an array may hold

State = TypeVar("State")


class Saved(msgspec.Struct):
    """The body of a checkpoint."""

    run_id: str
    spent: Spent
    rows: int  # of the trace
    state: bytes


def clear(folder: Path) -> None:
    """Remove the checkpoint of a finished run."""
    with one_line_errors(folder):
        for name in (STATE, TRACE):
            (folder / name).unlink(missing_ok=True)


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
            raise FormatError(str(path), None, f"the checkpoint was written by another version: {error}") from None
        return state, saved.spent, self._rows(saved.rows)

    def save(self, state: Any, spent: Spent, trace: list[Row]) -> None:
        """Save this state now."""
        began = time.monotonic()
        with one_line_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._append(trace)
        body = msgspec.msgpack.encode(Saved(self.run_id, spent, len(trace), encode(state)))
        digest = hashlib.sha256(body).hexdigest().encode()
        write_bytes(self.folder / STATE, FORMAT + digest + b"\n" + body)
        self._last = time.monotonic()
        self._pause = max(self.every, COST * (self._last - began)) if self.every else 0.0

    def clear(self) -> None:
        """Remove the files: the run is finished."""
        clear(self.folder)

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
            cells = [json.loads(line).items() for line in lines]
            rows: list[Row] = [
                {key: tuple(cell) if isinstance(cell, list) else cell for key, cell in row} for row in cells
            ]
        except ValueError as error:
            raise FormatError(str(path), None, f"not a trace: {error}") from None
        if len(rows) < count:
            raise FormatError(str(path), None, f"expected {count} rows, got {len(rows)}")
        write_bytes(path, b"".join(lines))
        self._written = count
        return rows


def _opened(data: bytes, source: str) -> Saved:
    head, _, rest = data.partition(b"\n")
    digest, _, body = rest.partition(b"\n")
    if head + b"\n" != FORMAT:
        raise FormatError(source, None, "not a checkpoint of this version; delete it to start the run again")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise FormatError(source, None, "checksum mismatch: the checkpoint is damaged; delete it to start again")
    try:
        return msgspec.msgpack.decode(body, type=Saved)
    except msgspec.MsgspecError as error:
        raise FormatError(source, None, f"not a checkpoint: {error}") from None


def encode(state: Any) -> bytes:
    """The state as bytes, the same for the same state.

    >>> decode(encode({"rewards": np.arange(3.0)}), dict[str, np.ndarray])["rewards"].tolist()
    [0.0, 1.0, 2.0]
    """
    return msgspec.msgpack.encode(state, enc_hook=_encode)


def decode(data: bytes, kind: type[State]) -> State:
    """The state; ValueError if the bytes are not a state of this type."""
    try:
        return msgspec.msgpack.decode(data, type=kind, dec_hook=_decode)
    except (msgspec.MsgspecError, TypeError) as error:
        raise ValueError(str(error)) from None


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
        packed = [value.dtype.str, list(value.shape), np.ascontiguousarray(value.transpose(order)).tobytes()]
        return packed if order == list(range(value.ndim)) else [*packed, order]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.Generator):
        return json.dumps(value.bit_generator.state)
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise TypeError(f"a state cannot hold a {type(value).__name__}")


def _decode(kind: Any, value: Any) -> Any:
    if kind is np.random.Generator:
        generator = np.random.default_rng(0)
        generator.bit_generator.state = json.loads(value)
        return generator
    if (get_origin(kind) or kind) is not np.ndarray:
        raise TypeError(f"a state cannot hold a {kind}")
    name, shape, data, *more = value
    order = more[0] if more else list(range(len(shape)))
    if not NUMBERS.fullmatch(name):  # other names of dtypes would be parsed by numpy
        raise TypeError(f"expected an array of numbers, got {name!r}")
    memory = np.frombuffer(data, np.dtype(name)).reshape([shape[axis] for axis in order])
    return memory.transpose([order.index(axis) for axis in range(len(shape))]).copy(order="K")
