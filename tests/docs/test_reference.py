"""The reference says what there is: every public name with a running example, every command with every option."""

import re
import runpy
from pathlib import Path

import pytest

import decpomdp as dp

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference"
PUBLIC = [name for name in dp.__all__ if name != "__version__"]


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


def test_command_reference_is_what_the_commands_say(maker):
    told = (REFERENCE / "commands.md").read_text()
    assert told == maker["page"](), "run python docs/reference/make_commands.py"
