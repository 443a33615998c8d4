"""The documentation's pages and their code blocks.

| fence | meaning |
|---|---|
| `python` | code; it is run |
| `text` after `python` | the output of that code; it is compared |
| `console` | lines after `$` are commands; they are run. Below each is its output (`error: ...`: it fails) |
| any, with a title | a file of that name, used by code or commands of the same page |
| `text` elsewhere | a diagram |

Any other fence, and a fence inside a list or quotation, is an error: so every block of code is run.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPENED = re.compile(r"^(`{3,})([\w+-]*)(?: title=\"([^\"]+)\")?$")
SLOW = {"sumo.md": "make test-slow, which installs SUMO"}  # pages that are not run by make test


class Fence(NamedTuple):
    line: int  # of the page, counted from 1
    kind: str  # code, output, commands, file, diagram
    title: str
    text: str


class Command(NamedTuple):
    line: str
    shown: str  # the output that the page shows


def fences(text: str) -> Iterator[Fence]:
    """All fences of a page; an unknown kind of code block is an error."""
    lines, place, last = text.splitlines(), 0, ""
    while place < len(lines):
        found = OPENED.match(lines[place])
        if found:
            mark, language, title = found.groups()
            end = next((i for i in range(place + 1, len(lines)) if lines[i].rstrip() == mark), None)
            assert end is not None, f"line {place + 1}: fence without an end"
            kind = kind_of(language, title or "", last, place + 1)
            yield Fence(place + 1, kind, title or "", "\n".join(lines[place + 1 : end]) + "\n")
            place, last = end, kind
        else:
            assert "```" not in lines[place], f"line {place + 1}: block that is not run: {lines[place]}"
            last = last if not lines[place].strip() else ""
        place += 1


def kind_of(language: str, title: str, last: str, line: int) -> str:
    """What a fence is; `last` is the kind of the fence directly before it."""
    if title:
        return "file"
    known = {"python": "code", "console": "commands", "text": "output" if last == "code" else "diagram"}
    assert language in known, f"line {line}: block that is not run: {language or 'no language'}"
    return known[language]


def commands(fence: Fence) -> list[Command]:
    """The commands of a console, one by one."""
    assert fence.text.startswith("$ "), f"line {fence.line}: a console begins with $"
    return [Command(*found) for found in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", fence.text, re.M)]


def unused(text: str) -> list[str]:
    """Files of a page that no code or command of the page uses."""
    found = list(fences(text))
    run = "\n".join(
        fence.text if fence.kind == "code" else "\n".join(command.line for command in commands(fence))
        for fence in found
        if fence.kind in ("code", "commands")
    )
    files = [fence.title for fence in found if fence.title]
    return [title for title in files if not re.search(rf"(?<![\w.-]){re.escape(title)}(?![\w-])", run)]
