"""`decpomdp export` as people use it."""

import json

import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.report.export import FORMATS, exported


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = dp.Team.of(dp.load("dectiger"), [controller()] * 2)
    made.save("team.json")
    return made


@pytest.mark.parametrize("form", FORMATS)
def test_printed_and_written_are_the_same(team, form, capsys, tmp_path):
    assert code_of(["export", "team.json", "--agent", "agent2", "--format", form]) == 0
    printed = capsys.readouterr().out
    assert printed == exported(team, "agent2", form)
    assert code_of(["export", "team.json", "--agent", "agent2", "--format", form, "--out", "x"]) == 0
    assert capsys.readouterr().out == f"agent2 (6 nodes) as {form}, written to x\n"
    assert (tmp_path / "x").read_text(encoding="utf-8") == printed


def test_json(team, capsys):
    assert code_of(["export", "team.json", "--agent", "agent1", "--format", "c", "--out", "a.c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"agent": "agent1", "nodes": 6, "format": "c", "out": "a.c"}
    assert code_of(["export", "team.json", "--agent", "agent1", "--format", "c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == exported(team, "agent1", "c")
