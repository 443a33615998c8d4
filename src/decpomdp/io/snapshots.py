"""Serialisation of states: nested NamedTuples, dataclasses, lists, dictionaries, numbers, texts, arrays and random
generators.

MessagePack, with arrays as [type, shape, bytes], or [type, shape, bytes, order of the axes] if they are not
C-contiguous: the last digits of a sum over an array depend on its memory order. Decoded values are checked against the
requested type; the bytes cannot name a type or run code.
"""

import json
import re
from types import MappingProxyType
from typing import Any, TypeVar, get_origin

import msgspec
import numpy as np

State = TypeVar("State")
NUMBERS = re.compile(r"[<>|=][biuf][0-9]{1,2}")  # that an array may hold


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
    if not isinstance(shape, list) or not isinstance(order, list):
        raise TypeError(f"expected shape and order of an array as lists, got {shape!r} and {order!r}")
    if not isinstance(name, str) or not NUMBERS.fullmatch(name):  # other names of dtypes would be parsed by numpy
        raise TypeError(f"expected an array of numbers, got {name!r}")
    dtype = np.dtype(name)
    if sorted(order) != list(range(len(shape))):
        raise TypeError(f"expected an order of {len(shape)} axes, got {order}")
    memory = np.frombuffer(data, dtype).reshape([shape[axis] for axis in order])
    return memory.transpose([order.index(axis) for axis in range(len(shape))]).copy(order="K")
