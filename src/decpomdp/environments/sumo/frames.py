"""What passes between a grid and its worker processes: frames of a length and a msgpack message.

A request is a list of a word and its arguments; an answer a list of a word and what was found. Arrays travel as bytes.
Nothing that arrives is executed.
"""

import struct
from typing import Any, BinaryIO

import msgspec
import numpy as np

from decpomdp.environments.sumo.simulation import FIELDS, Shown

HEAD = struct.Struct(">I")
APPROACHES = 4


def send(stream: BinaryIO, message: list[Any]) -> None:
    """Write one frame."""
    body = msgspec.msgpack.encode(message)
    stream.write(HEAD.pack(len(body)) + body)
    stream.flush()


def receive(stream: BinaryIO) -> list[Any] | None:
    """Read one frame; None when the other side is gone."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    (length,) = HEAD.unpack(head)
    body = stream.read(length)
    return None if len(body) < length else msgspec.msgpack.decode(body, type=list)


def packed(shown: Shown) -> list[bytes]:
    """Its arrays as bytes."""
    return [shown.views.tobytes(), shown.queues.tobytes(), shown.waits.tobytes(), shown.present.tobytes()]


def unpacked(parts: list[bytes]) -> Shown:
    """The arrays again."""
    views, queues, waits, present = parts
    return Shown(
        np.frombuffer(views, np.int16).reshape(-1, len(FIELDS)),
        np.frombuffer(queues, np.int16).reshape(-1, APPROACHES),
        np.frombuffer(waits, np.float64),
        np.frombuffer(present, np.int16),
    )
