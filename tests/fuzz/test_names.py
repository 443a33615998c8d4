"""Names that mean harm, in files, labels, run folders and run.json: they are shown as they are and do nothing else."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core import InputError
from decpomdp.io.run_folder import BEGUN, OWN, check_links, locked
from decpomdp.io.runs import read_run, versions
from decpomdp.report.export import exported
from decpomdp.report.page import write_page
from decpomdp.report.sources import shown

RUN_FOLDER = Path(__file__).parent / "corpus" / "run_folder"
WORDS = (  # one word each, as .dpomdp files want them
    "<script>alert(1)</script>", "$(touch${IFS}pwned)", "`touch-pwned`", "../../pwned",
    "..", "/etc/passwd", "--out", "-rf", "\"quoted\"", "it's", "back\\", "a;b|c&d>e", "%s%n", "{{7*7}}", "\x1b[2Jgone",
    "\u202egnorw", "*/", "??/", "\\N", "&amp;", "\x7f", "a,b", "~", "\x9b2J", "<!--", "]]>", "\\\"", "}",
)  # fmt: skip
FILE_NAMES = (
    "$(touch pwned).dpomdp",
    "`touch pwned`;touch pwned.dpomdp",
    "<img src=x onerror=alert(1)>.dpomdp",
    "a\nb\x1b[2J.dpomdp",
    "..dpomdp",
    "--help.dpomdp",
)


def problem(words=WORDS):
    """A problem whose every label means harm."""
    labels = " ".join(words)
    return "\n".join((
        "agents: " + " ".join(words[:2]), "discount: 0.9", "values: reward", f"states: {' '.join(words[:3])}",
        "start:", "uniform", "actions:", labels, words[3], "observations:", labels, words[4],
        "T: * :", "uniform", "O: * :", "uniform", "R: * : * : * : * : 1", "",
    ))  # fmt: skip


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    home = tmp_path / "outer" / "home"
    home.mkdir(parents=True)
    monkeypatch.chdir(home)

    def call(*arguments):
        code = code_of([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert len(said.err.splitlines()) <= 1 or code == 0
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", said.out + said.err), "it reaches the terminal"
        return code, said.out, said.err

    call.tree = lambda: {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    return call


@pytest.mark.parametrize("name", FILE_NAMES)
def test_commands_write_where_they_are_told_and_nowhere_else(run, name):
    Path(name).write_text(problem())
    team = dp.Team.uniform(dp.load(f"./{name}"))
    dp.write_team(team, "team.json")
    before = run.tree()
    for arguments in (
        ("info", f"./{name}"),
        ("simulate", f"./{name}", "--episodes", 2, "--horizon", 2, "--out", "<e>.parquet"),
        ("evaluate", "team.json", "--problem", f"./{name}", "--test-episodes", 10, "--horizon", 3),
        ("show", "team.json"),
        ("data", "info", "<e>.parquet"),
    ):
        code, _, complaint = run(*arguments)
        assert code == 0, (arguments, complaint)
    assert run.tree() - before == {"outer/home/<e>.parquet"}


def test_a_run_in_a_folder_of_any_name_stays_in_it(run):
    Path("p.dpomdp").write_text(problem(WORDS[:6]))
    before = run.tree()
    name = "<b>$(touch pwned)`touch pwned`"
    code, _, complaint = run("plan", "p.dpomdp", "--method", "em", "--nodes", 1, "--out", name, "--quiet")
    assert code == 0, complaint
    new = {path.removeprefix("outer/home/") for path in run.tree() - before}
    assert new == {name} | {
        f"{name}/{part}" for part in ("team.json", "run.json", "trace.parquet", "log.txt", "report.html")
    }
    for arguments in (("report", name), ("runs", "."), ("show", f"{name}/team.json")):
        code, _, complaint = run(*arguments)
        assert code == 0, complaint
    assert run.tree() - before == {f"outer/home/{path}" for path in new}


def test_unknown_problems_are_told_of_in_one_harmless_line(run):
    for name in (*WORDS, "a\0b", "x" * 5000, "\udc80"):
        if not name.startswith("-") and name not in ("~", "..", "/etc/passwd"):
            code, out, complaint = run("info", name)
            assert (code, out, len(complaint.splitlines())) == (2, "", 1)


# -- run folders that somebody else made -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(RUN_FOLDER, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("name", OWN)
def test_links_that_lead_out_of_a_run_are_not_followed(folder, tmp_path, name):
    outside = tmp_path / "precious"
    outside.write_text("mine")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)
    with pytest.raises(InputError, match="leads out of its folder"), locked(folder):
        pytest.fail("it was opened for writing")
    with pytest.raises(InputError, match="leads out of its folder"):
        check_links(folder)
    assert outside.read_text() == "mine"


def test_the_page_is_not_written_through_a_link(folder, tmp_path):
    outside = tmp_path / "precious"
    outside.write_text("mine")
    (folder / "report.html").symlink_to(outside)
    with pytest.raises(InputError, match=r"report.html: expected a file of the run, got a link"):
        write_page([shown(read_run(folder))])
    assert outside.read_text() == "mine"
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to("inside.html")  # this one stays in the folder
    write_page([shown(read_run(folder))])
    assert (folder / "inside.html").read_text().startswith("<!doctype html>")


def begun(folder, arguments, where):
    told = {"format": "decpomdp-begun/1", "arguments": arguments, "folder": where, "files": {}, "versions": versions()}
    (folder / BEGUN).write_text(json.dumps(told))


def test_a_hostile_begun_cannot_lead_elsewhere(run, tmp_path):
    home = Path.cwd()
    (home / "run").mkdir()
    elsewhere = tmp_path / "elsewhere"
    begun(home / "run", ["plan", "broadcast", "--method", "em", "--nodes", "1", "--out", str(elsewhere)], str(home))
    code, _, complaint = run("plan", "--resume", "run", "--quiet")
    assert code == 0, complaint
    assert not elsewhere.exists()
    assert (home / "run" / "team.json").exists()


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["learn"], "\0"),
        (["learn"], "/no/such/folder"),
        (["learn"], "\ud800"),
        (["learn"], "x" * 5000),
        ([], "/"),
        (["export", "--out", "pwned"], "/"),
        (["learn", "--resume", "/"], "."),
        (["learn", "\0", "--out", "x"], "."),
        (["learn", "--\x1b[2J"], "."),
    ],
)
def test_other_nonsense_in_begun_is_one_line(run, arguments, where):
    Path("run").mkdir()
    begun(Path("run"), arguments, where)
    before = run.tree()
    code, out, complaint = run("learn", "--resume", "run")
    assert (code, out, len(complaint.splitlines())) == (2, "", 1)
    assert run.tree() == before


# -- exports -----------------------------------------------------------------------------------------------------------

LABELS = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=12) | st.sampled_from(WORDS),
    min_size=1,
    max_size=4,
    unique=True,
)


def team_of(labels):
    agent = dp.Agent(labels[0], tuple(labels), tuple(reversed(labels)))
    return dp.Team((agent,), (dp.Controller.uniform(len(labels), len(labels)),), 0.9, "p")


def dot_tokens(text):
    """Tokens as the scanner of Graphviz makes them: in quotes only a quote and a backslash can be escaped."""
    at, found = 0, []
    while at < len(text):
        match = re.compile(r'\s+|->|[{}\[\]=;,]|[A-Za-z_][A-Za-z_0-9]*|"(?:[^"\\]|\\[\s\S])*"').match(text, at)
        assert match, f"no token at {text[at : at + 20]!r}"
        at = match.end()
        if match[0].strip():
            found.append(match[0])
    return found


def dot_statements(text):
    """`digraph NAME { statements }`, strictly; every statement as its tokens."""
    head, name, brace, *body, end = dot_tokens(text)
    assert (head, brace, end) == ("digraph", "{", "}")
    assert name.startswith('"')
    statements, now = [], []
    for token in body:
        if token == ";":
            statements.append(now)
            now = []
        else:
            now.append(token)
    assert not now
    pattern = r'(?:[a-z]+\d*)(?: -> [a-z]+\d+)?(?: \[ \w+ = (?:\w+|"[^\n]*")(?: , \w+ = \w+)* \])?'
    for statement in statements:
        assert re.fullmatch(pattern, " ".join(statement)), statement
    return statements


@settings(max_examples=150, deadline=None)
@given(LABELS)
def test_no_label_breaks_dot(labels):
    statements = dot_statements(exported(team_of(labels), None, "dot"))
    drawn = [" ".join(statement[:3]) for statement in statements]
    assert drawn == ["node [ shape", "n0 [ label", "start0 [ shape", "start0 -> n0", "n0 -> n0"]


def test_the_strict_reader_of_dot_can_fail():
    for text in ('digraph "x" { n0 [label="a"b"]; }', 'digraph "x\\" { }', 'digraph "x" { n0 [label=<b>]; }', "graph"):
        with pytest.raises((AssertionError, ValueError)):
            dot_statements(text)


@settings(max_examples=100, deadline=None)
@given(LABELS)
def test_no_label_breaks_python(labels):
    made = {}
    exec(compile(exported(team_of(labels), None, "python"), "controller.py", "exec"), made)
    assert made["ACTIONS"] == tuple(labels)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_no_label_breaks_c(tmp_path):
    source = tmp_path / "controller.c"
    source.write_text(exported(team_of([*WORDS, "a\nb", "\0", "\r", "%:", "/*", "//", "\\\n", "é"]), None, "c"))
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-trigraphs", "-c"]
    done = subprocess.run(["cc", *strict, source, "-o", tmp_path / "c.o"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
def test_a_colon_in_a_folder_is_no_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dp.write_episodes(dp.simulate("broadcast", "random", episodes=40, horizon=3, seed=1), "e.parquet")
    assert (
        code_of(["learn", "e.parquet", "--prior", "fixed:3", "--sweeps", "3", "--quiet", "--out", "run-fixed:3"]) == 0
    )
    assert dp.read_run("run-fixed:3").trace
    assert code_of(["report", "run-fixed:3"]) == 0
