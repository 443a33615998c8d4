"""A problem by name or by file."""

import os
from pathlib import Path

from decpomdp import domains
from decpomdp.core import DecPOMDP

ENDINGS = (".dpomdp", ".dpomdp.gz")


def load(problem: str | os.PathLike[str], discount: float | None = None) -> DecPOMDP:
    """The built-in problem of that name, or the model in that `.dpomdp` file (gzipped or not).

    Without a discount, a built-in problem has 0.9 and a file its own.
    """
    text = os.fspath(problem)
    if text not in domains.names() and (text.endswith(ENDINGS) or Path(text).is_file()):
        from decpomdp.io.dpomdp import read_dpomdp

        return read_dpomdp(text, discount)
    return domains.build(text, discount)
