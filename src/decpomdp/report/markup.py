"""HTML and SVG from data: every text is escaped here, at the one place where text becomes markup.

Labels come from users' files and may hold anything. A plain text that is put into an element or an attribute is
escaped; only what `tag`, `join` or `trusted` made passes as it is.
"""

import html
import json
import re
from collections.abc import Iterable
from typing import Any

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # not allowed in HTML, whatever the escape
_ALONE = frozenset(("br", "col", "input", "link", "meta"))  # HTML elements that have no end


class Markup(str):
    """A text that is markup already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Any value as harmless text."""
    return value if isinstance(value, Markup) else Markup(html.escape(_CONTROLS.sub("\ufffd", str(value)), quote=True))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element; `class_` and `for_` stand for class and for, other underscores for hyphens.

    An attribute that is None or False is left out, one that is True has no value.

    >>> print(tag("b", "a < b", class_="x", data_node=3))
    <b class="x" data-node="3">a &lt; b</b>
    """
    said = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in _ALONE:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{join(content)}</{name}>")


def join(parts: Iterable[object]) -> Markup:
    """One after the other; None is nothing."""
    return Markup("".join(text(part) for part in parts if part is not None))


def trusted(content: str) -> Markup:
    """Our own style sheet or script: not escaped."""
    return Markup(content)


def data(name: str, value: Any) -> Markup:
    """JSON for our script, in an element that no browser runs; nothing in it can end that element."""
    packed = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: U+2028 and the like are escaped
    for character in "<>&":
        packed = packed.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{text(name)}">{packed}</script>')


def number(value: float) -> str:
    """A coordinate: as short as a tenth of a pixel allows."""
    return f"{value + 0.0:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{text(number(value) if isinstance(value, float) else value)}"'
