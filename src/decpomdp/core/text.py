"""Escaping of control characters: names and labels from files are made safe for the terminal."""

import re

CONTROL = re.compile(  # all but tabs; also bidirectional marks, invisible characters and surrogates
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
BREAKS = re.compile(r"[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]\s*")


def on_a_line(text: str) -> str:
    r"""The text on one line, without line breaks; spaces stay, because a path may contain them.

    >>> print(on_a_line("no such file:\n  'a  b'\n"))
    no such file: 'a  b'
    """
    return plain(BREAKS.sub(" ", text.strip()))


def plain(text: str) -> str:
    r"""The text on one line, with control characters escaped, so that a label cannot control the terminal.

    >>> print(plain("\x1b[2J gone\nand more"))
    \x1b[2J gone\nand more
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
