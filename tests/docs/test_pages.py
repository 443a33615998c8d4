"""Every fence of every page: what is shown as runnable is run, and nothing is left out.

| fence | treatment |
|---|---|
| with a title | a file of that name in the page's folder; the page's own commands and code must use it |
| python, py | run |
| console | lines after `$` are commands; what stands below one is what it prints |
| sh, bash | every line is a command |
| text, or none | the same, if a line begins with `$` or a program that we know; otherwise a picture made of letters |

    python tests/docs/test_pages.py     lists every fence with its treatment

Commands are run, but for those that would change the reader's machine or take half an hour: `CHECKED` says which, and
what is checked instead. Any other language or program is an error, so that no fence can be forgotten.
"""

import importlib.util
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NUMBER = re.compile(r"(-?\d+\.\d+)")
OPENED = re.compile(r"^(\s*)(`{3,}|~{3,})\s*([\w+-]*)(?: title=\"([^\"]+)\")?(.*)$")
PROGRAMS = r"(?:[A-Z_]+=\S+ )*(?:decpomdp|pip|python|make|git|bash|gcc|\./\w+|sbatch|kubectl|docker|cd)\b"
CHECKED = {  # the beginning of a command: what is checked instead of running it
    "pip install": "the package offers the extras, with requirements that pip can read",
    "make": "the Makefile has the target",
    "git clone <this repository>": "nothing: the reader's copy is the one that is tested",
    "decpomdp reproduce": "arguments and options are accepted (minutes to hours)",
    "python benchmarks/": "the script is there and can be compiled (half an hour)",
}
ELSEWHERE = "--scheduler tcp://node"  # commands that need a cluster of the reader's: arguments and options are checked
NEEDS = {"sumo.md": "libsumo"}  # pages that run where this is installed (make test-sumo); elsewhere they are checked


class Fence(NamedTuple):
    line: int  # of the page, counted from 1
    language: str
    title: str
    text: str


class Command(NamedTuple):
    line: str
    shown: str  # what the page says that it prints


def fences(text: str) -> Iterator[Fence]:
    """All fences of a page, whatever they look like."""
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        found = OPENED.match(lines[place])
        if found:
            indent, mark, language, title, rest = found.groups()
            odd = indent + rest.strip()
            assert not odd, f"line {place + 1}: a fence that is not understood: {lines[place]}"
            end = next(i for i in range(place + 1, len(lines)) if lines[i].rstrip() == mark)
            yield Fence(place + 1, language, title or "", "\n".join(lines[place + 1 : end]) + "\n")
            place = end
        place += 1


def treatment(fence: Fence) -> str:
    """File, code, commands or picture; a fence of another language is an error."""
    if fence.title:
        return "file"
    if fence.language in ("python", "py"):
        return "code"
    if fence.language in ("console", "sh", "bash"):
        return "commands"
    if fence.language in ("", "text"):
        return "commands" if re.search(rf"^(?:\$ |{PROGRAMS})", fence.text, re.M) else "picture"
    raise AssertionError(f"line {fence.line}: nobody runs a fence of {fence.language}")


def commands(fence: Fence) -> list[Command]:
    """The commands of a fence, one by one."""
    if fence.language == "console" or fence.text.startswith("$ "):
        assert fence.text.startswith("$ "), f"line {fence.line}: a console begins with $"
        return [Command(*found) for found in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", fence.text, re.M)]
    return [Command(line, "") for line in fence.text.splitlines() if line.strip() and not line.startswith("#")]


def checked_instead(command: str) -> str:
    """Which entry of CHECKED it is; empty if it is to be run."""
    assert re.match(PROGRAMS, command), f"nobody runs {command!r}"
    return next(
        (start for start in CHECKED if f"{command} ".startswith(start if start.endswith("/") else f"{start} ")), ""
    )


def all_fences() -> Iterator[tuple[Path, Fence]]:
    for page in PAGES:
        for fence in fences(page.read_text()):
            yield page, fence


SHOWING = sorted({page for page, _ in all_fences()})


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("page", SHOWING, ids=lambda page: str(page.relative_to(ROOT)))
def test_fences_of_page_run(page, tmp_path, monkeypatch):
    """All of a page, in order, in one new folder."""
    monkeypatch.chdir(tmp_path)
    needed = NEEDS.get(page.name)
    go_through(page.read_text(), tmp_path, needed is None or importlib.util.find_spec(needed) is not None)


def go_through(text, folder, running):
    """Everything that a page shows; without what it needs, everything is only checked."""
    for number, fence in enumerate(fences(text)):
        kind = treatment(fence)
        if kind == "file":
            (folder / fence.title).write_text(fence.text)
            if fence.title.endswith(".py"):
                compile(fence.text, fence.title, "exec")
        elif kind == "code":
            run_code(fence, folder / f"block{number}.py", running)
        elif kind == "commands":
            for command in commands(fence):
                follow(command, folder, running)


def run_code(fence, path, running):
    path.write_text(fence.text)
    if running:
        runpy.run_path(str(path))
    else:
        compile(fence.text, str(path), "exec")


def follow(command, folder, running):
    """Run it, or check it instead."""
    line = command.line.partition("  #")[0].strip()
    start = checked_instead(line)
    if start == "pip install":
        check_extras(line)
    elif start == "make":
        check_targets(line)
    elif start == "python benchmarks/":
        script = ROOT / line.split()[1]
        compile(script.read_text(), str(script), "exec")
    elif start == "decpomdp reproduce" or ELSEWHERE in line or (not start and not running):
        check_arguments(line)
    elif not start:
        run(line, command.shown, folder)


def run(line, shown, folder):
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # `decpomdp`, ours
    done = subprocess.run(
        line, shell=True, cwd=folder, env=here, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert prints(shown, done.stdout), f"{line}\nshown:\n{shown}\nprinted:\n{done.stdout}"


def prints(shown, printed):
    """Words and whole numbers must be the same; others agree to 0.1 %: another processor adds up in another order.

    `...` stands for anything; nothing shown is nothing claimed.
    """
    pieces = NUMBER.split(shown.strip())  # words and numbers by turns
    words = [".*".join(re.escape(part) for part in piece.split("...")) for piece in pieces[::2]]
    found = re.fullmatch(NUMBER.pattern.join(words), printed.strip(), re.S)
    if not shown.strip() or not found:
        return not shown.strip()
    return all(map(agree, pieces[1::2], found.groups()))


def agree(told, real):
    """Two numbers as texts; the first may have been rounded to fewer digits."""
    last = 10.0 ** -len(told.partition(".")[2])
    return math.isclose(float(told), float(real), rel_tol=1e-3, abs_tol=0.51 * last)


def check_arguments(line):
    """The command takes these arguments and options; nothing is done."""
    from typer.main import get_command

    from decpomdp.cli.main import app

    program, name, *rest = shlex.split(line)
    assert program == "decpomdp", line
    command = get_command(app).commands[name]
    if "--resume" in rest:  # which needs nothing else
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known, line
    else:
        command.make_context(name, rest)


def check_targets(line):
    targets = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(line.split()[1:]) <= targets, line


@cache
def extras():
    """Extra -> what it needs, as a wheel's metadata will say: an installed copy may be older than the page."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {extra: [Requirement(text).name for text in needs] for extra, needs in told.items()}


def check_extras(line):
    """What is installed is this package, and every extra that is named needs something."""
    for target in shlex.split(line)[2:]:
        found = re.fullmatch(r"(?:decpomdp|\.)(?:\[([\w, -]+)\])?", target)
        assert found, f"{line}: {target}"
        for name in found[1].split(",") if found[1] else ():
            assert extras().get(name.strip()), f"{line}: {name}"


def test_what_is_not_printed_is_noticed():
    assert prints("value 1.50, ... s\n...\n", "value 1.5049, 3.2 s\nand more\n")
    assert prints("value 150.24\n", "value 150.32\n")
    assert prints("", "anything")
    assert not prints("value 1.5\n", "value 1.6\n")
    assert not prints("value 1.500\n", "value 1.503\n")
    assert not prints("value -1.5\n", "value 1.5\n")
    assert not prints("nodes 3+3\n", "nodes 3+4\n")
    assert not prints("value 1.5\n", "value 1.5\nand more\n")


def test_files_are_used():
    """A file that nothing reads would be shown without ever being tried."""
    for page, fence in all_fences():
        if fence.title and not fence.title.endswith((".yaml", ".py")):  # test_kubernetes.py; compiled in any case
            rest = [f.text for f in fences(page.read_text()) if not f.title]
            assert any(fence.title in text for text in rest), f"{page.name}: {fence.title}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```ruby\nputs 1\n```\n", "nobody runs a fence of ruby"),
        ("```console\n$ frobnicate --all\n```\n", "nobody runs 'frobnicate --all'"),
        ("  ```python\n  x = 1\n  ```\n", "a fence that is not understood"),
        ("```console\ndecpomdp problems\n```\n", "a console begins with"),
        ('```sh\npip install "decpomdp[nothing]"\n```\n', "nothing"),
        ("```\nmake nothing\n```\n", "make nothing"),
    ],
)
def test_what_nobody_runs_is_noticed(text, words, tmp_path):
    with pytest.raises(AssertionError, match=words):
        go_through(text, tmp_path, False)


def test_commands_are_found_in_any_fence():
    (shown,) = fences("```text\n$ decpomdp problems\n```\n")
    assert commands(shown) == [Command("decpomdp problems", "")]
    (bare,) = fences("```\npip install .    # all\nmake test\n```\n")
    assert [checked_instead(command.line) for command in commands(bare)] == ["pip install", "make"]
    (drawn,) = fences("```\ncli > report\n```\n")
    assert treatment(drawn) == "picture"


def test_wrong_arguments_are_noticed():
    check_arguments("decpomdp reproduce all --quick")
    with pytest.raises(Exception, match="No such option: --quickly"):
        check_arguments("decpomdp reproduce all --quickly")


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_what_is_to_be_installed_or_made_exists():
    """In running text too."""
    for page in PAGES:
        text = page.read_text()
        for names in re.findall(r"decpomdp\[([a-z, ]+)\]", text):
            check_extras(f"pip install 'decpomdp[{names}]'")
        for name in re.findall(r"(?:^\$? ?|`)make ([a-z][\w-]*)", text, re.M):
            check_targets(f"make {name}")


if __name__ == "__main__":
    for page, fence in all_fences():
        kind = treatment(fence)
        told = [checked_instead(c.line.partition("  #")[0]) for c in commands(fence)] if kind == "commands" else []
        checks = sorted({f"{start}: {CHECKED[start]}" for start in told if start})
        words = f"{told.count('')} run" + "".join(f"; {check}" for check in checks) if told else ""
        print(f"{page.relative_to(ROOT)}:{fence.line}\t{fence.language or '-'}\t{kind}\t{fence.title or words}")
