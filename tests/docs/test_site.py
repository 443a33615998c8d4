"""The site builds without a warning, draws its formulas and fetches nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return {str(page.relative_to(folder)): page.read_text() for page in folder.rglob("*.html")}


def test_every_page_is_there(site):
    pages = {str(page.relative_to(ROOT / "docs").with_suffix(".html")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(site)


def test_formulas_are_drawn(site):
    assert site["formulas.html"].count("<math") > 300
    assert not [name for name, page in site.items() if "arithmatex" in page]
    assert not [name for name, page in site.items() if re.search(r"<(?:p|li|td)>[^<]*\$[a-zA-Z\\]", page)]


def test_lists_are_lists(site):
    """GitHub needs no empty line before a list."""
    assert not [
        name for name, page in site.items() if re.search(r"^(?:- |1\. )\w", page.partition("<article")[2], re.M)
    ]
    assert "<li>A result is a value" in site["howto/own_problem.html"]


def test_nothing_is_fetched_from_elsewhere(site):
    for name, page in site.items():
        assert not re.findall(r"<(?:script|img|iframe)[^>]+src=\"?https?:", page), name
        assert not re.findall(r"<link[^>]+rel=\"?stylesheet[^>]+https?:", page), name


def test_docstrings_are_in_the_reference(site):
    assert 'id="decpomdp.learn"' in site["reference/learning.html"]
    assert "Monte-Carlo EM" in site["reference/learning.html"]
