"""Every block of code of every page is run. What a block may be is told in `pages.py`, which also lists them all.

A page is gone through from top to bottom in one new folder, as a reader would. One thing is put in the place of
another: the addresses of a scheduler that a page makes up (node7, node8) are those of one that was started here.
Everything on README.md, and on the slow pages, is run in a shell. On the others a plain call of `decpomdp` is made in
this process, which has loaded everything already; whatever needs a shell has one there, too.
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

from docs.pages import (
    DRAWINGS,
    PAGES,
    RECIPES,
    ROOT,
    SLOW,
    Command,
    all_fences,
    commands,
    fences,
    treatment,
    uncommented,
    unused,
)

NUMBER = re.compile(r"(-?\d+\.\d+)")
ADDRESS = re.compile(r"tcp://node\d:8786")  # of the reader's scheduler
PLAIN = re.compile(r"decpomdp [^|&;<>*?$`(){}~#\\]+")  # nothing that a shell would do anything with
SHOWING = [
    pytest.param(page, id=str(page.relative_to(ROOT)), marks=pytest.mark.slow if page.name in SLOW else ())
    for page in sorted({page for page, _ in all_fences()})
]


@pytest.fixture
def scheduler(tmp_path_factory):
    """A function: the address of a real scheduler with two workers, started when it is first asked for."""
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
def test_fences_of_page_run(page, tmp_path, monkeypatch, scheduler):
    """All of a page, in order, in one new folder."""
    monkeypatch.chdir(tmp_path)
    go_through(page.read_text(), tmp_path, scheduler, in_shell if page.name in ("README.md", *SLOW) else quickest)


def go_through(text, folder, scheduler, way=None):
    """Everything that a page shows; `way` runs a command."""
    for number, fence in enumerate(fences(text)):
        kind = treatment(fence)
        if kind == "file":
            (folder / fence.title).write_text(fence.text)
        elif kind == "code":
            path = folder / f"block{number}.py"
            path.write_text(fence.text)
            runpy.run_path(str(path))
        elif kind == "commands":
            for command in commands(fence):
                run(command, folder, scheduler, way or in_shell)


def run(command, folder, scheduler, way):
    """As a reader would; what is shown as an error is one."""
    line = ADDRESS.sub(lambda _: scheduler(), command.line) if ADDRESS.search(command.line) else command.line
    code, out, err = way(line, folder)
    fails = command.shown.startswith("error: ")
    assert code == (2 if fails else 0), f"{line}\n{err}"
    printed = err if fails else out
    assert prints(command.shown, printed), f"{line}\nshown:\n{command.shown}\nprinted:\n{printed}"


def in_shell(line, folder):
    """Exit code, standard output, standard error."""
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # `decpomdp`, ours
    done = subprocess.run(
        line, shell=True, cwd=folder, env=here, capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def quickest(line, folder):
    """The same; in this process, whose folder it is, if no shell is needed."""
    line = uncommented(line)
    if not PLAIN.fullmatch(line):
        return in_shell(line, folder)
    from decpomdp.cli.main import code_of

    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a process of its own
        code = code_of(shlex.split(line)[1:])
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    "line",
    [
        "decpomdp info dectiger  # all about it",
        "decpomdp info 'no such'",
        "decpomdp list | head -n 1",
        "echo $((1 + 1)) > two; cat two; false",
    ],
)
def test_both_ways_to_run_a_command_are_the_same(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert quickest(line, tmp_path) == in_shell(line, tmp_path)


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


def agree(shown, real):
    """Two numbers as texts; the first may have been rounded to fewer digits."""
    last = 10.0 ** -len(shown.partition(".")[2])
    return math.isclose(float(shown), float(real), rel_tol=1e-3, abs_tol=0.51 * last)


def test_what_is_not_printed_is_noticed():
    assert prints("value 1.50, ... s\n...\n", "value 1.5049, 3.2 s\nand more\n")
    assert prints("value 150.24\n", "value 150.32\n")
    assert prints("", "anything")
    assert not prints("value 1.5\n", "value 1.6\n")
    assert not prints("value 1.500\n", "value 1.503\n")
    assert not prints("value -1.5\n", "value 1.5\n")
    assert not prints("nodes 3+3\n", "nodes 3+4\n")
    assert not prints("value 1.5\n", "value 1.5\nand more\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```ruby\nputs 1\n```\n", "nobody runs this fence of ruby"),
        ("```yaml\na: 1\n```\n", "nobody runs this fence of yaml"),
        ("```\ndecpomdp problems\n```\n", "nobody runs this fence of no language"),
        ("```text\nsome words\n```\n", "nobody runs this fence of text"),
        ("```console\ndecpomdp problems\n```\n", "a console begins with"),
        ("```console\n$ frobnicate --all\n```\n", "frobnicate: not found"),
        ("```console\n$ decpomdp info nothing\n```\n", "error: "),
        ("```console\n$ true\nerror: something\n```\n", "true"),
        ("```console\n$ echo one\ntwo\n```\n", r"shown:\s+two"),
        ("```sh\ntrue\nfalse  # with a reason\n```\n", "false"),
        ("```python\nx = 1\n", "a fence without an end"),
        ("  ```python\n  x = 1\n  ```\n", "a block that nobody runs"),
        ("- item\n\n  ~~~python\n  x = 1\n  ~~~\n", "a block that nobody runs"),
        ("> ```python\n> x = 1\n> ```\n", "a block that nobody runs"),
        ("``` python\nx = 1\n```\n", "a block that nobody runs"),
        ("```python hl_lines=1\nx = 1\n```\n", "a block that nobody runs"),
        ("words\n\n    decpomdp problems\n", "a block that nobody runs"),
        ("words\n\n\tdecpomdp problems\n", "a block that nobody runs"),
        ("<pre>decpomdp problems</pre>\n", "a block that nobody runs"),
        ("<PRE class='x'>\ndecpomdp problems\n</PRE>\n", "a block that nobody runs"),
        ("<code>\ndecpomdp problems\n</code>\n", "a block that nobody runs"),
        ("<p><Code>a</Code> <code>decpomdp problems<br>\ndecpomdp list</code>\n", "a block that nobody runs"),
        ("<samp>decpomdp\nproblems</samp>\n", "a block that nobody runs"),
        ("words\n\n>     decpomdp problems\n", "a block that nobody runs"),
        ("words\n\n> >     decpomdp problems\n", "a block that nobody runs"),
        ("words\n\n-     decpomdp problems\n", "a block that nobody runs"),
        ("words\n\n12.     decpomdp problems\n", "a block that nobody runs"),
        ("words\n\n- >     decpomdp problems\n", "a block that nobody runs"),
        (">\t\tdecpomdp problems\n", "a block that nobody runs"),
        ("-\t\tdecpomdp problems\n", "a block that nobody runs"),
        ("```sh\nprintf '  # %s' && false\n```\n", "false"),
    ],
)
def test_what_nobody_runs_is_noticed(text, words, tmp_path):
    with pytest.raises(AssertionError, match=words):
        go_through(text, tmp_path, None)


@pytest.mark.parametrize(
    "text",
    [
        "words\n\n- one\n-   two\n\n   three\n1. four\n",
        "> said\n>    more\n",
        "press <kbd>x</kbd>, <code>a</code> and <CODE>b</CODE>\n",
        "--- and ** and 4. 5\n",
    ],
)
def test_what_is_no_code_is_let_be(text):
    assert list(fences(text)) == []


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("ls  # all", "ls  "),
        ("# all", ""),
        ("ls # all 'of them'", "ls "),
        ("echo 'a  # b'  # c", "echo 'a  # b'  "),
        ('echo "a \\"  # b"  # c', 'echo "a \\"  # b"  '),
        ("echo a#b \\# c", "echo a#b \\# c"),
        ("true;# c", "true;"),
    ],
)
def test_comments_end_a_line_outside_of_quotes(line, kept):
    assert uncommented(line) == kept


def test_code_that_fails_is_noticed(tmp_path):
    with pytest.raises(ZeroDivisionError):
        go_through("```python\n1 / 0\n```\n", tmp_path, None)


def test_files_are_used():
    """A file that nothing reads would be shown without ever being tried."""
    for page in PAGES:
        assert not unused(page.read_text()), page.name
    one = '```text title="log.csv"\n0\n```\n'
    assert unused(one) == ["log.csv"]
    assert unused(one + "```console\n$ decpomdp data info log.csv\n```\n") == []
    assert unused(one + "```sh\ncat ./log.csv | head\n```\n") == []
    assert unused(one + "```python\nopen('log.csv').close()\n```\n") == []
    for comment in (
        "```sh\ntrue  # reads log.csv\n```\n",
        "```console\n$ true # log.csv\n```\n",
        "```console\n$ echo one\nlog.csv\n```\n",
        "```console\n$ cat other-log.csv\n```\n",
        "```python\nx = 1  # log.csv\n```\n",
        '```python\n"""Reads log.csv."""\n```\n',
    ):
        assert unused(one + comment) == ["log.csv"], comment


def test_exceptions_are_few_and_none_is_out_of_date():
    """What is not run is shown somewhere, and tried where its reason says."""
    shown = [fence for _, fence in all_fences()]
    assert {fence.title for fence in shown if fence.title in RECIPES} == set(RECIPES)
    assert all(any(fence.text.startswith(start) for fence in shown) for start in DRAWINGS)
    assert set(SLOW) <= {page.name for page in PAGES}
    for words in RECIPES.values():
        assert (ROOT / re.search(r"tests/[\w/]+\.py", words)[0]).exists(), words


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


INLINE = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")


def inline(page, program):
    """Commands in running text that begin with a program, as words."""
    prose = re.sub(r"^(```|~~~).*?^\1$", "", page.read_text(), flags=re.S | re.M)
    for line in INLINE.findall(prose):
        if re.match(rf"(?:\$ )?{program}", line):
            yield shlex.split(line.removeprefix("$ ").replace("\\|", "|"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_running_text_exist(page):
    """Commands and their options, extras, targets and scripts that sentences and tables name."""
    for words in inline(page, r"decpomdp [a-z]"):
        check_options(words)
    for words in inline(page, r"pip install "):
        check_extras(words[2:])
    for words in inline(page, r"make [a-z]"):
        assert set(words[1:]) <= targets(), words
    for words in inline(page, r"python [\w/]+\.py"):
        assert (ROOT / words[1]).exists() or words[1] in titles(page), words


def titles(page):
    return {fence.title for fence in fences(page.read_text())}


def check_options(words):
    """Every command and every option is one that there is."""
    from typer.main import get_command

    from decpomdp.cli.main import app

    command = get_command(app)
    rest = words[1:]
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        names = rest.pop(0).split("|")  # data info|validate
        assert set(names) <= set(command.commands), words
        command = command.commands[names[0]]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    assert {word for word in rest if word.startswith("--")} <= known, words


@cache
def targets():
    return set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.M))


@cache
def extras():
    """Extra -> what it needs, as a wheel's metadata will say: an installed copy may be older than the page."""
    given = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    return {extra: [Requirement(text).name for text in needs] for extra, needs in given.items()}


def check_extras(named):
    """What is installed is this package, and every extra that is named needs something."""
    for target in named:
        found = re.fullmatch(r"(?:decpomdp|\.)(?:\[([\w, -]+)\])?", target)
        assert found, target
        for name in found[1].split(",") if found[1] else ():
            assert extras().get(name.strip()), f"{target}: {name}"


def test_commands_that_do_not_exist_are_noticed(tmp_path):
    check_options(shlex.split("decpomdp reproduce all --quick"))
    check_options(shlex.split("decpomdp data info|validate FILE"))
    for line in ("decpomdp reproduce all --quickly", "decpomdp sing", "decpomdp data sing FILE"):
        with pytest.raises(AssertionError):
            check_options(shlex.split(line))
    with pytest.raises(AssertionError, match="nothing"):
        check_extras(["decpomdp[nothing]"])
    page = tmp_path / "page.md"
    page.write_text("Say `decpomdp sing\n--loud` now.\n\n```console\n$ decpomdp dance\n```\n")
    assert list(inline(page, "decpomdp ")) == [["decpomdp", "sing", "--loud"]]


def test_commands_are_taken_one_by_one():
    (shown,) = fences("```console\n$ echo 1\n1\n$ echo 2\n```\n")
    assert commands(shown) == [Command("echo 1", "1\n"), Command("echo 2", "")]
    (bare,) = fences("```sh\n# first\nmake test  # all\n\ntrue\n```\n")
    assert commands(bare) == [Command("make test", ""), Command("true", "")]
