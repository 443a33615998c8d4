"""The pages and their fences: what each of them is, and where it is run.

| fence | what it is |
|---|---|
| `python`, `py` | code, which is run |
| `console` | lines after `$` are commands, which are run; below one is what it prints (`error: ...`: it fails) |
| `sh`, `bash` | every line is a command, which is run |
| any, with a title | a file of that name; something that is run on the same page uses it, or it is in RECIPES |
| `text` | a drawing, and in DRAWINGS |

There is no other fence: any other language, a fence without one, a fence inside a list or a quotation, a block of
code made by indenting (in a list or a quotation too), HTML's `<pre>` and its like, and `<code>` or `<samp>` over
several lines are refused. So every block of code is run, but for the files in RECIPES.

    python tests/docs/pages.py     lists every fence with what is done with it
"""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPENED = re.compile(r"^(`{3,}|~{3,})([\w+-]*)(?: title=\"([^\"]+)\")?$")
ODD = re.compile(  # outside of fences: code that would not be seen
    r"""`{3} | ~{3} | <(?:pre|xmp|listing|plaintext|textarea)\b
      | <(code|samp|kbd|tt)\b (?! .* </\1\s*> )                      # does not end on its line
      | ^(?: \ {0,3} (?: > \ ?+ | (?: [-*+] | \d{1,9}[.)] ) \  ) )* \ {4}  # four more than what the line is inside of
      | ^[\s>*+\-\d.)]*\t
    """,
    re.I | re.X,
)

RECIPES = {  # files that need what no test has: where they are tried as far as can be
    "job.yaml": "needs Kubernetes",
    "dask.yaml": "needs Kubernetes",
    "slurm.py": "needs Slurm: tests/docs/test_slurm.py runs it with dask-jobqueue, its jobs on this machine",
}
DRAWINGS = {  # how a drawing begins: what it is
    "cli > report >": "which room may know which",
    "DecPOMDP --rollouts.simulate-->": "how data flow",
    "posterior --expect-->": "one sweep",
    "occupancy state --Ranking-->": "one trial of FB-HSVI",
    "portfolio   every generic memory": "the two parts of the search",
}
SLOW = {"sumo.md": "make test-slow, which installs SUMO"}  # pages that are not run by make test


class Fence(NamedTuple):
    line: int  # of the page, counted from 1
    language: str
    title: str
    text: str


class Command(NamedTuple):
    line: str
    shown: str  # what the page says that it prints


def fences(text: str) -> Iterator[Fence]:
    """All fences of a page; whatever else looks like a block of code is an error."""
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        found = OPENED.match(lines[place])
        if found:
            mark, language, title = found.groups()
            end = next((i for i in range(place + 1, len(lines)) if lines[i].rstrip() == mark), None)
            assert end is not None, f"line {place + 1}: a fence without an end"
            yield Fence(place + 1, language, title or "", "\n".join(lines[place + 1 : end]) + "\n")
            place = end
        else:
            assert not ODD.search(lines[place]), f"line {place + 1}: a block that nobody runs: {lines[place]}"
        place += 1


def treatment(fence: Fence) -> str:
    """File, code, commands or drawing; any other fence is an error."""
    if fence.title:
        return "file"
    if fence.language in ("python", "py"):
        return "code"
    if fence.language in ("console", "sh", "bash"):
        return "commands"
    if fence.language == "text" and any(fence.text.startswith(start) for start in DRAWINGS):
        return "drawing"
    raise AssertionError(f"line {fence.line}: nobody runs this fence of {fence.language or 'no language'}")


def commands(fence: Fence) -> list[Command]:
    """The commands of a fence, one by one."""
    if fence.language == "console":
        assert fence.text.startswith("$ "), f"line {fence.line}: a console begins with $"
        return [Command(*found) for found in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", fence.text, re.M)]
    lines = (uncommented(line).strip() for line in fence.text.splitlines())
    return [Command(line, "") for line in lines if line]


def uncommented(line: str) -> str:
    """A line of a shell without its comment: a # that begins a word outside of quotes, and what follows it."""
    pieces = re.finditer(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|(?:(?<=[\s;&|()])|^)(#)|.", line)
    return line[: next((piece.start() for piece in pieces if piece[1]), len(line))]


def all_fences() -> Iterator[tuple[Path, Fence]]:
    """Of all pages."""
    for page in PAGES:
        for fence in fences(page.read_text()):
            yield page, fence


def unused(text: str) -> list[str]:
    """Files of a page that nothing that is run there uses, and that are no recipes."""
    found = list(fences(text))
    words = [word for fence in found for word in words_of(fence)]
    files = [fence.title for fence in found if fence.title and fence.title not in RECIPES]
    return [
        title for title in files if not any(re.search(rf"(?<![\w.-]){re.escape(title)}(?![\w-])", w) for w in words)
    ]


def words_of(fence: Fence) -> list[str]:
    """What is run of a fence, in words: those of its commands, or the texts in its code. Comments are none."""
    kind = treatment(fence)
    if kind == "commands":
        return [word for command in commands(fence) for word in shlex.split(command.line, comments=True)]
    if kind != "code":
        return []
    nodes = list(ast.walk(ast.parse(fence.text)))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings, which do nothing
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in said]
    return [text for text in texts if isinstance(text, str)]


def told(page: Path, fence: Fence) -> str:
    """What is done with a fence, in words."""
    kind = treatment(fence)
    where = SLOW.get(page.name, "make test")
    if kind == "drawing":
        return "drawing: " + next(words for start, words in DRAWINGS.items() if fence.text.startswith(start))
    if kind == "file":
        return f"file {fence.title}: {RECIPES.get(fence.title, f'used by what {where} runs')}"
    return f"{len(commands(fence))} commands run: {where}" if kind == "commands" else f"code run: {where}"


if __name__ == "__main__":
    for page, fence in all_fences():
        print(f"{page.relative_to(ROOT)}:{fence.line}\t{fence.language}\t{told(page, fence)}")
