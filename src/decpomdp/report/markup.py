"""HTML and SVG from data: all texts are escaped in this module, the only one that turns text into markup.

Labels come from users' files and may contain anything. A plain text that is put into an element or an attribute is
escaped; only results of `tag`, `join` and `trusted` are not.
"""

import html
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

NO_XML = {0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD}  # allowed in HTML, but not in XML
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # not allowed in HTML, even escaped
_VOID = frozenset(("br", "col", "input", "link", "meta"))  # HTML elements without an end tag
_ROUNDING = 1e-9  # shares are sums of many numbers


class Markup(str):
    """A text that is already markup."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Any value as escaped text."""
    return value if isinstance(value, Markup) else Markup(html.escape(_CONTROLS.sub("\ufffd", str(value)), quote=True))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """An element; `class_` and `for_` stand for class and for, other underscores for hyphens.

    An attribute that is None or False is left out, one that is True has no value.

    >>> print(tag("b", "a < b", class_="x", data_node=3))
    <b class="x" data-node="3">a &lt; b</b>
    """
    written = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(content)}</{name}>")


def join(parts: Iterable[object]) -> Markup:
    """Concatenated; None is skipped."""
    return Markup("".join(text(part) for part in parts if part is not None))


def trusted(content: str) -> Markup:
    """A text of this package: not escaped."""
    return Markup(content)


def own_file(name: str) -> Markup:
    """A style sheet, script or piece of HTML of this package."""
    return trusted(files("decpomdp.report").joinpath(name).read_text(encoding="utf-8"))


def light(style: str) -> str:
    """A style sheet for a separate file: variables are replaced by the light colours of page.css."""
    named = dict(reversed(re.findall(r"--([\w-]+): ([^;]+);", own_file("page.css"))))  # first values; later ones: print
    return re.sub(r"var\(--([\w-]+)\)", lambda use: re.sub(r"light-dark\((.+?),.+", r"\1", named[use[1]]), style)


def data(name: str, value: Any) -> Markup:
    """JSON for the page's script, in an element that browsers do not run; no value can end that element."""
    packed = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: U+2028 and the like are escaped
    for character in "<>&":
        packed = packed.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{text(name)}">{packed}</script>')


def table(header: Iterable[object], rows: Iterable[Iterable[Markup]], look: str, caption: str = "") -> Markup:
    """A table in a frame that scrolls sideways; rows hold cells."""
    head = [tag("thead", tag("tr", *(tag("th", words, scope="col") for words in header)))] if header else []
    body = tag("tbody", *(tag("tr", *cells) for cells in rows))
    title = tag("caption", caption) if caption else None
    return tag("div", tag("table", title, *head, body, class_=look), class_="wide")


def note(words: str) -> Markup:
    """A paragraph of small text."""
    return tag("p", words, class_="note")


def number(value: float) -> str:
    """A coordinate, rounded to a tenth of a pixel."""
    return f"{value + 0.0:.1f}".removesuffix(".0") if abs(value) >= 0.05 else "0"


def percent(share: float) -> str:
    """A share as a percentage.

    >>> [percent(share) for share in (0.25, 0.012, 0.0004, 0.0, 0.9999, 1 - 1e-12)]
    ['25%', '1.2%', '<0.1%', '0%', '>99.9%', '100%']
    """
    if share <= _ROUNDING or share >= 1 - _ROUNDING:
        return f"{share:.0%}"
    if share < 0.001:
        return "<0.1%"
    if share > 0.999:
        return ">99.9%"
    return f"{100 * share:.0f}%" if share >= 0.0995 else f"{100 * share:.1f}%"


def shortened(words: str, longest: int) -> str:
    """The words, or their beginning and their end: long names often differ only there.

    >>> shortened("a-rather-long-name-of-an-observation-1", 20)
    'a-rather-long\u2026tion-1'
    """
    end = longest // 3
    return words if len(words) <= longest else words[: longest - 1 - end] + "\u2026" + words[len(words) - end :]


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{text(number(value) if isinstance(value, float) else value)}"'
