"""Checkpoints in a run folder: the newest two states of the work, each with a digest.

They are written by turns into two files, whole or not at all, so that one good state is always there. A damaged newest
one is told of and the one before is taken. A state belongs to one piece of work (`work`: the command with everything
that it depends on) and to one version of the format; any other is refused.
"""

import hashlib
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from decpomdp.core import FormatError, InputError
from decpomdp.io.files import read_bytes, write_bytes
from decpomdp.io.snapshots import decode, encode

FORMAT = b"decpomdp-checkpoint/1\n"
NAMES = ("checkpoint-0.bin", "checkpoint-1.bin")
LIMIT = 2**31  # bytes of a checkpoint
EVERY = 5.0  # seconds from one to the next

State = TypeVar("State")


class Envelope(msgspec.Struct):
    """What a checkpoint holds."""

    number: int  # counts up
    work: str
    state: bytes


class Checkpoints:
    """The keeper of a run (see `core/keeping.py`)."""

    def __init__(self, folder: Path, work: str, every: float = EVERY) -> None:
        self.folder, self.work, self.every = folder, work, every
        self._number, self._last = 0, time.monotonic()

    def restore(self, kind: type[State]) -> State | None:
        """The newest state that is whole."""
        read = [self._read(self.folder / name) for name in NAMES]
        for envelope in sorted((each for each in read if each is not None), key=lambda each: -each.number):
            if envelope.work != self.work:
                raise InputError(f"{self.folder}: the checkpoint belongs to other work: {envelope.work}")
            try:
                state = decode(envelope.state, kind)
            except ValueError as error:
                raise FormatError(str(self.folder), None, f"the checkpoint is of another version: {error}") from None
            self._number = envelope.number
            return state
        return None

    def offer(self, state: Callable[[], Any]) -> None:
        """Keep a state if the last one is old enough."""
        if time.monotonic() - self._last >= self.every:
            self.write(state())

    def write(self, state: Any) -> None:
        """Keep this state now."""
        self._number += 1
        body = msgspec.msgpack.encode(Envelope(self._number, self.work, encode(state)))
        digest = hashlib.sha256(body).hexdigest().encode()
        write_bytes(self.folder / NAMES[self._number % 2], FORMAT + digest + b"\n" + body)
        self._last = time.monotonic()

    def clear(self) -> None:
        """The work is done: nothing to go on from."""
        for name in NAMES:
            (self.folder / name).unlink(missing_ok=True)

    def _read(self, path: Path) -> Envelope | None:
        if not path.exists():
            return None
        try:
            return _opened(read_bytes(path, LIMIT))
        except (FormatError, ValueError) as error:
            warnings.warn(f"{path}: damaged, the checkpoint before it is taken ({error})", stacklevel=3)
            return None


def _opened(data: bytes) -> Envelope:
    head, _, rest = data.partition(b"\n")
    digest, _, body = rest.partition(b"\n")
    if head + b"\n" != FORMAT:
        raise ValueError("not a checkpoint")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError("its digest is another one")
    try:
        return msgspec.msgpack.decode(body, type=Envelope)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
