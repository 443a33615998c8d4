"""Which code made a cell: a digest of the package's files, kept beside its result.

Our version changes seldom, the code often. A finished cell is used again whatever code made it, for a full run takes an
hour; but never silently: the command says so when it begins, and the page says how many cells which code made. What
only reads arguments or writes pages (the rooms `cli` and `report`) moves no result and is left out of the digest.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from decpomdp.experiments.cells import Cell, content_of, finished
from decpomdp.io.files import read_bytes

UNKNOWN = "not recorded"  # cells of older folders
LEFT_OUT = ("cli", "report", "__pycache__")
LARGEST = 100_000_000  # bytes of a file of ours
LETTERS = 12


@cache
def code_digest() -> str:
    """The package's files, names and contents, in 12 characters; read once a process."""
    root = Path(__file__).resolve().parents[1]
    return digest_of(root)


def digest_of(root: Path) -> str:
    """The files below a package's folder, as `code_digest` sees them."""
    names = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    told = hashlib.sha256()
    for name in names:
        if name.parts[0] not in LEFT_OUT and "__pycache__" not in name.parts:
            content = hashlib.sha256(read_bytes(root / name, LARGEST)).hexdigest()
            told.update(f"{name.as_posix()} {content}\n".encode())
    return told.hexdigest()[:LETTERS]


def codes_of(folder: Path, cells: Sequence[Cell]) -> dict[str, int]:
    """How many of the finished cells which code made; the most frequent first."""
    places = dict.fromkeys(cell.place for cell in cells if not cell.own_file and finished(folder, cell))
    contents = (content_of(folder / place) for place in places)
    return dict(Counter(str(content.get("code", UNKNOWN)) for content in contents).most_common())


def reused_words(codes: Mapping[str, int]) -> str | None:
    """What to say before cells of other code are used again; None if there are none."""
    others = {code: count for code, count in codes.items() if code != code_digest()}
    if not others:
        return None
    told = ", ".join(f"{count} {_by(code)}" for code, count in others.items())
    return f"kept cells that this code ({code_digest()}) did not make: {told}; delete them to have them made anew"


def made_words(codes: Mapping[str, int]) -> str:
    """With which code the cells of a page were made.

    >>> made_words({"0123456789ab": 3})
    'cells made with code 0123456789ab'
    >>> made_words({"0123456789ab": 3, "not recorded": 2})
    'cells made with different code: 3 with 0123456789ab, 2 not recorded'
    """
    if not codes:
        return "no cells"
    if len(codes) == 1:
        code = next(iter(codes))
        return "the code that made the cells was not recorded" if code == UNKNOWN else f"cells made with code {code}"
    return "cells made with different code: " + ", ".join(f"{count} {_by(code)}" for code, count in codes.items())


def _by(code: str) -> str:
    return code if code == UNKNOWN else f"with {code}"
