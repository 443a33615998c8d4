"""Files that one process holds: the operating system lets go of them when it dies."""

import os
import sys
from contextlib import suppress
from pathlib import Path


def still_there(number: int, path: Path) -> bool:
    """Whether the file that was locked is the one that others will find."""
    with suppress(FileNotFoundError):
        return os.fstat(number).st_ino == path.stat().st_ino
    return False


def lock(number: int) -> bool:
    """Whether the open file is ours now, until it is closed."""
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
