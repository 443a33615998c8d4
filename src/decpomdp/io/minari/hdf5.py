"""Episodes in the HDF5 file of a Minari dataset: only what is in the file itself, and only numbers.

HDF5 can do more than Minari needs. A dataset may live in any other file (external storage, virtual datasets), a name
may lead to any other file (external and soft links), values may be packed (a few bytes unpack to gigabytes) or be
texts that are all kept in one place, and values that were never written are read as zeros. So every name is looked at
before it is followed and every dataset before it is read. What Minari writes beside the episodes (infos, options) is
not read at all. Reference: The HDF Group, HDF5 File Format Specification, version 3.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.io.minari.spaces import parts_in

FLAT = ("rewards", "terminations", "truncations")
WIDEST = 8  # bytes of a number


@contextmanager
def hdf5_reader(path: Path, seen: Any, taken: Any) -> Iterator[Callable[[int, int], dict[str, Any]]]:
    """How to read episode k of this file, of so many steps at most; whatever is wrong is an exception of h5py or here.

    Opened read-only; one episode is in memory at a time.
    """
    import h5py  # type: ignore[import-untyped]

    with h5py.File(path, "r") as file:
        yield lambda k, most: _episode(_member(file, f"episode_{k}", h5py.Group), seen, taken, most)


def _episode(group: Any, seen: Any, taken: Any, most: int) -> dict[str, Any]:
    import h5py

    length = (_member(group, "rewards", h5py.Dataset).shape or (0,))[0]
    if length > most:
        raise ValueError(f"{group.name}: expected at most {most} steps as announced, got {length}")
    return {
        "observations": _values(group, "observations", seen, length + 1),
        "actions": _values(group, "actions", taken, length),
        **{name: _numbers(group, name, length, 1) for name in FLAT},
    }


def _values(group: Any, name: str, space: Any, length: int) -> Any:
    """What is recorded in a space: groups for its parts, a dataset for what has none."""
    import h5py
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        inner = _member(group, name, h5py.Group)
        return {key: _values(inner, key, part, length) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        inner = _member(group, name, h5py.Group)
        return tuple(_values(inner, f"_index_{n}", part, length) for n, part in enumerate(space.spaces))
    return _numbers(group, name, length, parts_in(space))


def _member(group: Any, name: str, kind: type) -> Any:
    """What has this name in the group, if it is in this file; a link that leads elsewhere is not followed."""
    import h5py

    where = f"{group.name.rstrip('/')}/{name}"
    if name in ("", ".") or {*name} & {"/", "\0"}:  # a path, or a name that ends early
        raise ValueError(f"{where}: expected a name, got a path")
    if not group.id.links.exists(name.encode()):
        raise ValueError(f"expected {where}, got none")
    if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
        raise ValueError(f"{where}: expected what is in the file itself, got a link")
    found = group[name]
    if not isinstance(found, kind):
        raise ValueError(f"{where}: expected a {kind.__name__.lower()}, got another object")
    return found


def _numbers(group: Any, name: str, length: int, width: int) -> NDArray:
    """[t, ...]: the numbers of a dataset that has so many rows of so many."""
    import h5py

    found = _member(group, name, h5py.Dataset)
    _check_plain(found)
    shape = found.shape
    if not shape or shape[0] != length or math.prod(shape[1:]) != width:
        raise ValueError(f"{found.name}: expected {length} rows of {width} numbers, got the shape {shape}")
    if found.id.get_storage_size() < found.nbytes:
        raise ValueError(f"{found.name}: expected {found.nbytes} bytes, got {found.id.get_storage_size()} written")
    if found.chunks:  # those at the edge may be wider than the values: bytes do not tell whether all are there
        needed = math.prod(-(-size // chunk) for size, chunk in zip(shape, found.chunks, strict=True))
        if found.id.get_num_chunks() < needed:
            raise ValueError(f"{found.name}: expected {needed} chunks, got {found.id.get_num_chunks()} written")
    return np.asarray(found[()])


def _check_plain(found: Any) -> None:
    """Raise ValueError unless these are numbers or truth values in the file itself, not packed: as Minari writes."""
    from h5py import h5d, h5t

    kind, made = found.id.get_type(), found.id.get_create_plist()
    if kind.get_class() not in (h5t.INTEGER, h5t.FLOAT, h5t.ENUM) or kind.get_size() > WIDEST:
        raise ValueError(f"{found.name}: expected numbers or truth values, got another type")
    if made.get_layout() not in (h5d.COMPACT, h5d.CONTIGUOUS, h5d.CHUNKED) or made.get_external_count():
        raise ValueError(f"{found.name}: expected values in the file itself, got a place in another file")
    if made.get_nfilters():
        raise ValueError(f"{found.name}: expected values that are not packed (h5repack -f NONE), got packed ones")
