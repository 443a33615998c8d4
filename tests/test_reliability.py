"""The figures of docs/reliability.md: put there by a command, between markers that are there."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import reliability
    import reliability_page

    yield reliability, reliability_page
    for name in ("reliability", "reliability_page"):
        del sys.modules[name]


def test_figures_come_between_their_markers(scripts, tmp_path):
    reliability, page = scripts
    tally = reliability.asdict(reliability.Tally("plan, em", 2, 7, 1, 1234567, 0, 5000, "error: DISK: full"))
    (tmp_path / "r.json").write_text(json.dumps({part: {"plan, em": tally} for part in reliability.PARTS}))
    (tmp_path / "fuzz.json").write_text(json.dumps({"team": {"executions": 200, "accepted": 50, "megabytes": 90}}))
    (tmp_path / "fuzz.findings/team").mkdir(parents=True)
    (tmp_path / "fuzz.findings/team/found").write_bytes(b"x")
    (tmp_path / "fuzz.findings/team/died.txt").write_text("why")
    tables = page.figures(tmp_path / "r.json", tmp_path / "fuzz.json")
    before = page.PAGE.read_text()
    after = page.written(before, tables)
    for part in ("kills", "disks", "engines", "fuzz"):
        found = re.search(rf"<!-- begin: {part} -->\n\n(.*?)\n<!-- end: {part} -->", after, re.S)[1]
        assert found == tables[part]
    assert "| plan, em | 2 | 7 | 1 | 1,234,567 | 0 | 5 kB |\n| all | 2 | 7 | 1 | 1,234,567 | 0 | |" in after
    assert "| plan, em | `error: DISK: full` | 1,234,567 | 0 |" in after
    assert "| team | 200 | 25% | 1 | 90 MB |\n| all | 200 | | 1 | 90 MB |" in after
    assert page.written(after, tables) == after
    assert re.sub(r"(begin: \w+ -->).*?(<!-- end)", r"\1\2", after, flags=re.S) == re.sub(
        r"(begin: \w+ -->).*?(<!-- end)", r"\1\2", before, flags=re.S
    )


def test_a_part_without_a_place_is_refused(scripts):
    with pytest.raises(SystemExit, match="expected markers for elsewhere once, got 0"):
        scripts[1].written("a page", {"elsewhere": "| |"})


def test_nothing_measured_changes_nothing(scripts, tmp_path):
    assert scripts[1].figures(tmp_path / "none", tmp_path / "neither") == {}
