"""Examples run, and what the documents show is what happens."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "demo.py")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def blocks(language):
    for page in PAGES:
        for number, text in enumerate(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)):
            yield pytest.param(text, id=f"{page.name}-{number}")


@pytest.mark.filterwarnings("ignore::decpomdp.core.errors.LearningWarning")
@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_block_runs(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "block.py"
    path.write_text(text)
    runpy.run_path(str(path))


@pytest.mark.parametrize("text", list(blocks("console")))
def test_console_block_runs(text, tmp_path):
    """Lines that begin with `$ decpomdp` are run one after the other; `make` lines are the reader's."""
    for line in re.findall(r"^\$ (decpomdp .*)$", text, re.M):
        command = f'"{sys.executable}" -m decpomdp.cli.main {line.removeprefix("decpomdp ")}'
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
