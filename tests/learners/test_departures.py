"""The list of departures in docs/formulas.md is complete: what is marked is listed, and what is listed is marked."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "decpomdp"


def listed(text):
    """Modules in the last column of the tables of section 19."""
    section = text.split("## 19.")[1].split("## 20.")[0]
    rows = [line.rsplit("|", 2)[1] for line in section.splitlines() if line.startswith("|") and line.count("|") == 6]
    return {name for cell in rows for name in re.findall(r"`([\w/]+\.py)`", cell)}


def marked():
    return {
        path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if "DEPARTS:" in path.read_text("utf-8")
    }


def test_every_departure_is_listed():
    assert marked() == listed((ROOT / "docs" / "formulas.md").read_text("utf-8"))
