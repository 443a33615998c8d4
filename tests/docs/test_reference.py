"""The reference says what there is: every public name with a running example, every command with every option."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

import decpomdp as dp

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
PUBLIC = [name for name in dp.__all__ if name != "__version__"]
DOCUMENTED = [name for name in PUBLIC if inspect.isclass(getattr(dp, name)) or inspect.isfunction(getattr(dp, name))]


@pytest.fixture(scope="module")
def maker():
    return runpy.run_path(str(REFERENCE / "make_commands.py"))


def test_every_public_name_has_its_entry():
    pages = "\n".join(page.read_text() for page in REFERENCE.glob("*.md"))
    entries = re.findall(r"^(?:::: |## )decpomdp\.(\w+)$", pages, re.M)
    assert sorted(entries) == sorted(PUBLIC)


def test_every_public_name_is_in_the_overview():
    told = (REFERENCE / "index.md").read_text().partition("## Errors")[0]
    listed = [name for row in re.findall(r"^\| (`.*?) \|", told, re.M) for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(PUBLIC)


def test_docstring_has_an_example():
    for name in DOCUMENTED:
        words = inspect.getdoc(getattr(dp, name))
        assert "Examples\n--------\n" in words
        assert ">>> " in words.partition("Examples\n--------\n")[2]


def test_docstring_names_only_real_parameters():
    """Every entry of a Parameters or Attributes section is one, spelt as in the code."""
    for name in DOCUMENTED:
        thing = getattr(dp, name)
        made = thing.__init__ if inspect.isclass(thing) else thing
        known = set(inspect.signature(made).parameters) | set(dir(thing))
        section = r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S+\n-+$|\Z)"
        for found in re.findall(section, inspect.getdoc(thing), re.S | re.M):
            for line in re.findall(r"^(\w[\w, ]*)$", found, re.M):
                assert set(line.split(", ")) <= known, line


def test_command_reference_is_what_the_commands_say(maker):
    told = (REFERENCE / "commands.md").read_text()
    assert told == maker["page"](), "run python docs/reference/make_commands.py"


def test_both_forms_of_sbpr_are_told_apart(maker):
    page = maker["page"]()
    assert "**Settings of sbpr (by playing)**" in page
    assert "**Settings of sbpr (from episodes)**" in page
    assert "sbpr-loop" not in page


def test_every_option_of_the_help_is_in_the_reference(maker):
    """Against what a user sees, not against what the page was made from."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from decpomdp.cli.main import COMMANDS, app_with

    told = (REFERENCE / "commands.md").read_text()
    for name, _ in maker["commands"](get_command(app_with(COMMANDS))):
        shown = (
            CliRunner()
            .invoke(app_with(COMMANDS), [*name.split()[1:], "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
            .stdout
        )
        options = set(re.findall(r"(?<=[│ ])(--[a-z][a-z-]+)", shown)) - {"--help"}
        section = told.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        written = set(re.findall(r"^\| `(--[a-z-]+)", section, re.M))
        mentioned = set(re.findall(r"(?<!`)(--[a-z][a-z-]+)", section))  # in the words about another option
        assert written <= options <= written | mentioned, name
