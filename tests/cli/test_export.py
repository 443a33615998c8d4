"""`decpomdp export` as people use it."""

import json
from xml.etree import ElementTree

import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.cli.main import code_of
from decpomdp.core.text import CONTROL
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


@pytest.mark.parametrize("form", FORMATS)
def test_labels_cannot_command_a_terminal(tmp_path, monkeypatch, form, capsys):
    """The first byte of a command, and what turns text round: neither is printed, and both are still said."""
    monkeypatch.chdir(tmp_path)
    hostile = "a\x9b2J\u202eb\u2066&c\x85"
    agent = dp.Agent(hostile + "n", (hostile, "y"), (hostile, "z"))
    dp.Team((agent,), (dp.Controller.deterministic([0, 1], [[0, 1], [1, 0]], 2),), 0.9).save("team.json")
    assert code_of(["export", "team.json", "--format", form]) == 0
    printed = capsys.readouterr().out
    assert CONTROL.findall(printed.replace("\n", "")) == []
    if form == "json":
        assert json.loads(printed) == json.loads(exported(dp.Team.load("team.json"), None, form))
    if form == "svg":
        assert hostile[:6] in "".join(ElementTree.fromstring(printed).itertext())
    if form == "dot":
        assert "a&#155;2J&#8238;b&#8294;&amp;c&#133;" in printed
