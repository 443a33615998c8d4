"""How much memory there is: that of the machine, or less where a container's limit says so.

Linux limits groups of processes (cgroups), one inside another: a process has what the smallest limit on its way up
leaves it. `/proc/self/cgroup` names the groups, `0::/PATH` in version 2 and `4:memory:/PATH` in version 1. A container
sees its own group as the root of the tree, while the path may still be the host's: folders that are not there are
passed over, and the root is always asked. Reference: Linux kernel documentation, Control Group v2 and v1 (memory).
"""

import os
from collections.abc import Iterator
from pathlib import Path

GROUPS, TREE = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
UNKNOWN = 1 << 40  # bytes where the machine does not say


def memory() -> int:
    """Bytes of memory that this process may use at most."""
    return min([_of_machine(), *limits(GROUPS, TREE)])


def limits(groups: Path, tree: Path) -> Iterator[int]:
    """The limits in bytes of the groups that the file `groups` names, and of those around them."""
    for line in _text(groups).splitlines():
        number, kinds, path = [*line.split(":", 2), "", ""][:3]
        if (number, kinds) == ("0", "") and path:
            yield from _upwards(tree, path, "memory.max")
            yield from _upwards(tree / "unified", path, "memory.max")  # beside version 1
        elif "memory" in kinds.split(","):
            yield from _upwards(tree / "memory", path, "memory.limit_in_bytes")


def _upwards(root: Path, path: str, name: str) -> Iterator[int]:
    """The limits in the files `name` from the group at `path` up to the root; "max" and what is not there are none."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    for depth in range(len(parts), -1, -1):
        said = _text(root.joinpath(*parts[:depth], name)).strip()
        if said.isdecimal():
            yield int(said)


def _of_machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
