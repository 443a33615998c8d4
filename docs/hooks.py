"""Extensions of Markdown for the site: formulas as MathML, and lists as GitHub reads them.

Formulas become MathML when the site is built. Browsers draw it themselves: no script, nothing fetched from elsewhere.
Python-Markdown wants an empty line before a list where GitHub does not; here it is put in, so one text serves both.
"""

import html
import re
from typing import Any

FENCE = re.compile(r"^(```.*?^```[ ]*$)", re.S | re.M)
BEFORE_LIST = re.compile(r"^(?![ ]*(?:[-*]|\d+\.) |#|\||[ ]*$|[ ]{2})(.+)\n(?=(?:[-*]|1\.) )", re.M)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.S)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called with every page before it becomes HTML."""
    pieces = FENCE.split(markdown)
    return "".join(piece if place % 2 else BEFORE_LIST.sub(r"\1\n\n", piece) for place, piece in enumerate(pieces))


def on_page_content(content: str, **_: Any) -> str:
    """Called with the HTML of every page."""
    return FORMULA.sub(_drawn, content)


def _drawn(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    kind, formula = found.groups()
    display = "inline" if kind == "span" else "block"
    return f'<{kind} class="formula">{convert(html.unescape(formula), display=display)}</{kind}>'
