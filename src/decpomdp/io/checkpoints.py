"""Checkpoints in a folder: the newest two states of the work, each with a digest.

They are written by turns into two files, whole or not at all, so that one good state is always there. A damaged one is
told of and the other is taken. A state belongs to one piece of work (`work`: whatever text says what is being done) and
is refused to any other. Writing takes at most a twentieth of the time, however large the state is.
"""

import hashlib
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from decpomdp.core import FormatError
from decpomdp.io.files import in_words, read_bytes, write_bytes
from decpomdp.io.snapshots import decode, encode

FORMAT = b"decpomdp-checkpoint/1\n"
NAMES = ("checkpoint-0.bin", "checkpoint-1.bin")
LIMIT = 2**31  # bytes of a checkpoint
EVERY = 5.0  # seconds from one to the next
COST = 20  # times what writing the last one took: the least pause

State = TypeVar("State")


class Envelope(msgspec.Struct):
    """What a checkpoint holds."""

    number: int  # counts up
    work: str
    state: bytes


class Checkpoints:
    """A keeper (see `core/keeping.py`): give it to `learn` or `plan`, and after a kill to the same call again.

    Parameters
    ----------
    folder
        Where the two files are; made when there is none.
    work
        What is being done: a state that was kept for other work is refused.
    every
        Seconds from one checkpoint to the next.

    Examples
    --------
    >>> import tempfile
    >>> import decpomdp as dp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keeper = Checkpoints(folder, "dectiger, seed 1", every=0)
    ...     fit = dp.learn("dectiger", steps=200_000, seed=1, keeper=keeper)
    ...     again = dp.learn("dectiger", steps=200_000, seed=1, keeper=Checkpoints(folder, "dectiger, seed 1"))
    >>> again.team == fit.team  # it went on from the last round
    True
    """

    def __init__(self, folder: str | os.PathLike[str], work: str, every: float = EVERY) -> None:
        self.folder, self.work, self.every = Path(folder), work, every
        self._number, self._last, self._pause = 0, time.monotonic(), every

    def restore(self, kind: type[State]) -> State | None:
        """The newest state that is whole."""
        found, damaged = list[Envelope](), list[str]()
        for path in (self.folder / name for name in NAMES):
            try:
                if path.exists():
                    found.append(_opened(read_bytes(path, LIMIT)))
            except (FormatError, ValueError) as error:
                damaged.append(f"{path} is damaged: {str(error).removeprefix(f'{path}: ')}")
        for words in damaged:
            instead = "the other checkpoint is taken" if found else "no other is whole, so the work begins again"
            warnings.warn(f"{words}; {instead}", stacklevel=2)
        return self._state(max(found, key=lambda each: each.number), kind) if found else None

    def offer(self, state: Callable[[], Any]) -> None:
        """Keep a state if the last one is old enough."""
        if time.monotonic() - self._last >= self._pause:
            self.write(state())

    def write(self, state: Any) -> None:
        """Keep this state now."""
        begin = time.monotonic()
        body = msgspec.msgpack.encode(Envelope(self._number + 1, self.work, encode(state)))
        if len(body) < LIMIT - 1000:
            self._put(body)
        else:
            warnings.warn(f"a checkpoint of {len(body)} bytes would be too large: none is written", stacklevel=2)
        self._last = time.monotonic()
        self._pause = max(self.every, COST * (self._last - begin))

    def clear(self) -> None:
        """The work is done: nothing to go on from."""
        with in_words(self.folder):
            for name in NAMES:
                (self.folder / name).unlink(missing_ok=True)

    def _put(self, body: bytes) -> None:
        with in_words(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(body).hexdigest().encode()
        write_bytes(self.folder / NAMES[(self._number + 1) % 2], FORMAT + digest + b"\n" + body)
        self._number += 1

    def _state(self, newest: Envelope, kind: type[State]) -> State:
        if newest.work != self.work:
            raise FormatError(str(self.folder), None, "expected checkpoints of this work, got those of other work")
        self._number = newest.number
        try:
            return decode(newest.state, kind)
        except ValueError as error:
            raise FormatError(str(self.folder), None, f"the checkpoint is of another version: {error}") from None


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
