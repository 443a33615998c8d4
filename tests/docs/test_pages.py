"""Every block of code of every page is run, and its output compared; `pages.py` says what a block may be.

A page is run from top to bottom in one new folder, as a reader would. The addresses of a made-up scheduler (node7,
node8) are replaced by those of one that is started here. README.md and the slow pages are run in a shell; on other
pages a plain `decpomdp` command is called in this process, which has loaded everything already.
"""

import io
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest
from engines.processes import Processes
from packaging.requirements import Requirement

from docs.pages import PAGES, ROOT, SLOW, commands, fences, unused

NUMBER = re.compile(r"(-?\d+\.\d+)")
ADDRESS = re.compile(r"tcp://node\d:8786")  # of the reader's scheduler
PLAIN = re.compile(r"decpomdp [^|&;<>*?$`(){}~#\\]+")  # no character that is special to a shell
SHOWING = [
    pytest.param(page, id=str(page.relative_to(ROOT)), marks=pytest.mark.slow if page.name in SLOW else ())
    for page in PAGES
    if any(fences(page.read_text()))
]


@pytest.fixture
def scheduler(tmp_path_factory):
    """A function: the address of a real scheduler with two workers, started on first use."""
    started = []

    def address():
        if not started:
            started.append(Processes(tmp_path_factory.mktemp("scheduler")))
        return started[0].exactly(2)

    yield address
    for one in started:
        one.end()


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("page", SHOWING)
def test_code_of_page_runs(page, tmp_path, monkeypatch, scheduler):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), tmp_path, scheduler, in_shell if page.name in ("README.md", *SLOW) else quickest)


def run_page(text, folder, scheduler=None, way=None):
    """All blocks in order; `way` runs a command."""
    printed = ""
    for number, fence in enumerate(fences(text)):
        if fence.kind == "file":
            (folder / fence.title).write_text(fence.text)
        elif fence.kind == "code":
            path = folder / f"block{number}.py"
            path.write_text(fence.text)
            with redirect_stdout(io.StringIO()) as out:
                runpy.run_path(str(path))
            printed = out.getvalue()
        elif fence.kind == "output":
            assert prints(fence.text, printed), f"line {fence.line}\nshown:\n{fence.text}\nprinted:\n{printed}"
        elif fence.kind == "commands":
            for command in commands(fence):
                run(command, folder, scheduler, way or in_shell)


def run(command, folder, scheduler, way):
    """One command; an output that is shown as an error must be one."""
    line = ADDRESS.sub(lambda _: scheduler(), command.line) if ADDRESS.search(command.line) else command.line
    code, out, err = way(line, folder)
    fails = command.shown.startswith("error: ")
    assert code == (2 if fails else 0), f"{line}\n{err}"
    printed = err if fails else out
    assert prints(command.shown, printed), f"{line}\nshown:\n{command.shown}\nprinted:\n{printed}"


def in_shell(line, folder):
    """Exit code, standard output, standard error."""
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        line, shell=True, cwd=folder, env=here, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def quickest(line, folder):
    """The same, in this process if no shell is needed."""
    if not PLAIN.fullmatch(line):
        return in_shell(line, folder)
    from decpomdp.cli.main import code_of

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a process of its own
        code = code_of(shlex.split(line)[1:])
    return code, out.getvalue(), err.getvalue()


def prints(shown, printed):
    """Words and whole numbers must be equal; others agree to 0.1 %, because processors round differently.

    `...` stands for anything; without output shown, nothing is compared.
    """
    pieces = NUMBER.split(shown.strip())  # words and numbers in turn
    words = [".*".join(re.escape(part) for part in piece.split("...")) for piece in pieces[::2]]
    found = re.fullmatch(NUMBER.pattern.join(words), printed.strip(), re.S)
    if not shown.strip() or not found:
        return not shown.strip()
    return all(map(agree, pieces[1::2], found.groups()))


def agree(shown, real):
    """Two numbers as texts; the first may have been rounded to fewer digits."""
    last = 10.0 ** -len(shown.partition(".")[2])
    return math.isclose(float(shown), float(real), rel_tol=1e-3, abs_tol=0.51 * last)


def test_wrong_output_is_noticed():
    assert prints("value 1.50, ... s\n...\n", "value 1.5049, 3.2 s\nand more\n")
    assert prints("", "anything")
    assert not prints("value 1.500\n", "value 1.503\n")
    assert not prints("value -1.5\n", "value 1.5\n")
    assert not prints("nodes 3+3\n", "nodes 3+4\n")
    assert not prints("value 1.5\n", "value 1.5\nand more\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```yaml\na: 1\n```\n", "block that is not run: yaml"),
        ("```\ndecpomdp problems\n```\n", "block that is not run: no language"),
        ("- item\n\n  ```python\n  x = 1\n  ```\n", "block that is not run"),
        ("```console\ndecpomdp problems\n```\n", "a console begins with"),
        ("```console\n$ decpomdp info nothing\n```\n", "error: "),
        ("```console\n$ true\nerror: something\n```\n", "true"),
        ("```console\n$ echo one\ntwo\n```\n", r"shown:\s+two"),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", r"shown:\s+2"),
        ("```python\nx = 1\n", "fence without an end"),
    ],
)
def test_wrong_blocks_are_noticed(text, words, tmp_path):
    with pytest.raises(AssertionError, match=words):
        run_page(text, tmp_path)


def test_files_are_used():
    """A file that nothing reads would be shown without being tried."""
    for page in PAGES:
        assert not unused(page.read_text()), page.name
    one = '```text title="log.csv"\n0\n```\n'
    assert unused(one) == ["log.csv"]
    assert unused(one + "```console\n$ decpomdp data info log.csv\n```\n") == []


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_deep_imports():
    """The documentation needs `import decpomdp as dp` and nothing below it."""
    for page in PAGES:
        for fence in fences(page.read_text()):
            if fence.kind == "code":
                assert not re.search(r"(?:from|import) decpomdp\.", fence.text), f"{page.name}:{fence.line}"


INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")


def inline(page, program):
    """Commands in running text that begin with a program, as words."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
    for line in INLINE.findall(prose):
        if re.match(rf"(?:\$ )?{program}", line):
            yield shlex.split(line.removeprefix("$ ").replace("\\|", "|"))


def test_commands_in_running_text_exist():
    """Commands and their options, extras, make targets and scripts that sentences and tables name."""
    for page in PAGES:
        for words in inline(page, r"decpomdp [a-z]"):
            check_options(words)
        for words in inline(page, r"pip install "):
            check_extras(words[2:])
        for words in inline(page, r"make [a-z]"):
            assert set(words[1:]) <= targets(), words
        for words in inline(page, r"python [\w/]+\.py"):
            assert (ROOT / words[1]).exists() or words[1] in {fence.title for fence in fences(page.read_text())}, words


def check_options(words):
    """Every command and every option exists."""
    from typer.main import get_command

    from decpomdp.cli.main import COMMANDS, app_with

    command = get_command(app_with(COMMANDS))
    rest = words[1:]
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        names = rest.pop(0).split("|")  # data info|validate
        assert set(names) <= set(command.commands), words
        command = command.commands[names[0]]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in rest if word.startswith("--")} <= known | {"--help"}, words


@cache
def targets():
    return set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.M))


@cache
def extras():
    """Extra -> its requirements, from pyproject.toml."""
    given = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {extra: [Requirement(text).name for text in needs] for extra, needs in given.items()}


def check_extras(named):
    """Only this package is installed, with extras that exist."""
    for target in named:
        found = re.fullmatch(r"(?:decpomdp|\.)(?:\[([\w, -]+)\])?", target)
        assert found, target
        for name in found[1].split(",") if found[1] else ():
            assert extras().get(name.strip()), f"{target}: {name}"
