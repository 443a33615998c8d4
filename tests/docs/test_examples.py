"""Examples run, and what the documents show is what happens."""

import math
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "demo.py")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = r"decpomdp |gcc |\./|[A-Z_]+=\w+ bash "
NUMBER = re.compile(r"(-?\d+\.\d+)")
BLOCK = re.compile(r"^```([a-z]+)?(?: title=\"([^\"]+)\")?\n(.*?)^```", re.S | re.M)


def blocks(page):
    return [found for found in BLOCK.findall(page.read_text()) if found[1] or found[0] in ("python", "console")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_page_run(page, tmp_path, monkeypatch):
    """All blocks of a page, in order, in one new folder. A block with a title is a file of that name."""
    monkeypatch.chdir(tmp_path)
    for number, (language, title, text) in enumerate(blocks(page)):
        if title:
            (tmp_path / title).write_text(text)
        elif language == "python":
            path = tmp_path / f"block{number}.py"
            path.write_text(text)
            runpy.run_path(str(path))
        else:
            run_console(text, tmp_path)


def run_console(text, folder):
    """Lines that begin with `$` and a name of RUN are run one after the other; `make` lines are the reader's.

    What stands below a command is what it prints, see `prints`; `...` stands for anything.
    """
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # `decpomdp`, ours
    for line, shown in re.findall(rf"^\$ ((?:{RUN}).*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        done = subprocess.run(
            line, shell=True, cwd=folder, env=here, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert prints(shown, done.stdout), f"{line}\nshown:\n{shown}\nprinted:\n{done.stdout}"


def prints(shown, printed):
    """Words and whole numbers must be the same; others agree to 0.1 %: another processor adds up in another order."""
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


def test_what_is_not_printed_is_noticed():
    assert prints("value 1.50, ... s\n...\n", "value 1.5049, 3.2 s\nand more\n")
    assert prints("value 150.24\n", "value 150.32\n")
    assert prints("", "anything")
    assert not prints("value 1.5\n", "value 1.6\n")
    assert not prints("value 1.500\n", "value 1.503\n")
    assert not prints("value -1.5\n", "value 1.5\n")
    assert not prints("nodes 3+3\n", "nodes 3+4\n")
    assert not prints("value 1.5\n", "value 1.5\nand more\n")


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_what_is_to_be_installed_or_made_exists():
    """Commands that change the reader's machine are not run here: the extras and targets they name must be there."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    targets = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        text = page.read_text()
        for names in re.findall(r"decpomdp\[([a-z, ]+)\]", text):
            assert {name.strip() for name in names.split(",")} <= set(extras), f"{page.name}: {names}"
        for name in re.findall(r"(?:^\$? ?|`)make ([a-z][\w-]*)", text, re.M):
            assert name in targets, f"{page.name}: make {name}"
