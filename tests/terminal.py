"""The output of a program in a pseudo-terminal."""

import os
import pty
import subprocess
import sys


def in_terminal(*arguments: str, **environment: str) -> str:
    """All output of a Python process whose standard output and error are a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=follower, stderr=follower, env={**os.environ, **environment}
    )
    os.close(follower)
    told = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        told += part
    os.close(leader)
    assert process.wait() == 0, told
    return told.decode()
