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
    for name in ("reliability", "reliability_page", "reliability_stops", "dask_engine"):
        sys.modules.pop(name, None)


def test_figures_come_between_their_markers(scripts, tmp_path):
    reliability, page = scripts
    from reliability_stops import Stop

    tally = reliability.asdict(Stop("plan, em", 4, 3, 2, 0.512))
    tally |= reliability.asdict(reliability.Tally("plan, em", 2, 7, 1, 1234567, 0, 5000, "error: DISK: full"))
    (tmp_path / "r.json").write_text(json.dumps({part: {"plan, em": tally} for part in reliability.PARTS}))
    (tmp_path / "fuzz.json").write_text(json.dumps({"team": {"executions": 200, "accepted": 50, "megabytes": 90}}))
    (tmp_path / "fuzz.findings/team").mkdir(parents=True)
    (tmp_path / "fuzz.findings/team/found").write_bytes(b"x")
    (tmp_path / "fuzz.findings/team/died.txt").write_text("why")
    tables = page.figures(tmp_path / "r.json", tmp_path / "fuzz.json")
    before = page.PAGE.read_text()
    after = page.written(before, tables)
    for part in ("kills", "disks", "engines", "stops", "fuzz"):
        found = re.search(rf"<!-- begin: {part} -->\n\n(.*?)\n<!-- end: {part} -->", after, re.S)[1]
        assert found == tables[part]
    assert "| plan, em | 2 | 7 | 1 | 1,234,567 | 0 | 5 kB |\n| all | 2 | 7 | 1 | 1,234,567 | 0 | |" in after
    assert "| plan, em | `error: DISK: full` | 1,234,567 | 0 |" in after
    assert "| plan, em | 4 | 3 | 2 | 0 | 0.51 s |" in after
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
    assert scripts[1].engine(tmp_path / "none") == {}


def test_figures_of_a_cluster(scripts, tmp_path):
    sweeps = [
        {"agent_steps": 10_000, "thread": [0.01, 0.02, 0.03], "workers": {"1": [0.05] * 3, "2": [0.04] * 3}},
        {"agent_steps": 200_000, "thread": [1.0] * 3, "workers": {"1": [1.5] * 3, "2": [0.75] * 3}},
    ]
    task = {"seconds": [0.01, 0.02, 0.03], "processor": 0.0027}
    kept = {"nodes": 50, "cores": 2, "load": [0.5, 2.25], "task": task, "sweeps": sweeps}
    (tmp_path / "c.json").write_text(json.dumps(kept))
    page = scripts[1]
    after = page.written(page.CLUSTER.read_text(), page.engine(tmp_path / "c.json"))
    assert "| 10,000 | 20 ms (10 - 30) | 50 ms (50 - 50) | 40 ms (40 - 40) | 1.25 |" in after
    assert "| 200,000 | 1e+03 ms" not in after
    assert "overhead of an\niteration is 30 ms" in after
    assert "2.7 ms of processor time" in after


def test_tables_are_compared_but_for_durations(scripts, tmp_path):
    reliability = scripts[0]

    def table(name, value, seconds):
        (tmp_path / name / "cells").mkdir(parents=True)
        told = {"result": [{"value": value, "seconds": seconds}], "settings": {"seed": 1}}
        (tmp_path / name / "cells/a.json").write_text(json.dumps(told))
        (tmp_path / name / "index.html").write_text(f"took {seconds}")
        return tmp_path / name

    whole, same, other = table("whole", 1.0, 2.0), table("same", 1.0, 3.0), table("other", 1.5, 2.0)
    tally = reliability.Tally("reproduce")
    reliability.compare_tables(whole, same, tally)
    assert (tally.different, tally.compared > 20) == (0, True)
    reliability.compare_tables(whole, other, tally)
    assert tally.different == 1
    (same / "cells/b.json").write_text("{}")
    reliability.compare_tables(whole, same, tally)
    assert tally.different == 2


def test_what_is_begun_goes_on_and_what_is_over_does_not(scripts, tmp_path):
    reliability = scripts[0]
    for name in reliability.RUNS:
        begin = reliability.command(tmp_path, name, "out")
        assert (begin[0], "--resume" in begin) == (reliability.RUNS[name][0], False)
        assert not reliability.over(tmp_path / "out", name)
    (tmp_path / "out").mkdir()
    for name in ("run.json", "index.html", *(f"{n}/run.json" for n in range(8))):
        (tmp_path / "out" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "out" / name).touch()
    assert all(reliability.over(tmp_path / "out", name) for name in reliability.RUNS)
    (tmp_path / "out/begun.json").touch()
    assert not any(reliability.over(tmp_path / "out", name) for name in reliability.RUNS)
    assert reliability.command(tmp_path, "reproduce", "out") == ["reproduce", "--resume", "out"]
    assert reliability.command(tmp_path, "plan, em", "out")[:3] == ["plan", "--resume", "out"]
