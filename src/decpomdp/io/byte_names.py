r"""Names of files that are bytes and no text, in JSON: a byte that is no character becomes a null byte and two digits.

Python holds such a byte as half a surrogate pair, which JSON's readers refuse. No name holds a null byte.
"""

import re

HALF, WRITTEN = re.compile("[\udc80-\udcff]"), re.compile("\0([89a-f][0-9a-f])")


def to_json(name: str) -> str:
    r"""A name as it can be kept.

    >>> to_json("n\udcff.parquet")
    'n\x00ff.parquet'
    """
    return HALF.sub(lambda found: f"\0{ord(found[0]) - 0xDC00:02x}", name)


def from_json(kept: str) -> str:
    r"""The name that was kept.

    >>> from_json("n\0ff.parquet")
    'n\udcff.parquet'
    """
    return WRITTEN.sub(lambda found: chr(0xDC00 + int(found[1], 16)), kept)
