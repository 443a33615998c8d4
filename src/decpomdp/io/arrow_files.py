"""Files for Arrow, by any name that the system has: as a text it takes only those that are UTF-8, as bytes all."""

import os
from typing import Any, Literal


def arrow_file(path: str | os.PathLike[str], mode: Literal["rb", "wb"]) -> Any:
    """The file at `path`, open for Arrow; OSError if it cannot be."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path), mode)
