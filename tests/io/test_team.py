"""Teams on disk: what is written comes back equal, and what is not exactly a team is refused with its place."""

import copy
import json
import os

import numpy as np
import pytest
from oracles import making

from decpomdp.core import Agent, Controller, FormatError, Team
from decpomdp.io import team as team_io
from decpomdp.io.team import (
    read_team,
    team_from_json,
    team_to_json,
    write_team,
)

SIZES = [((2,), (3,)), ((2, 3), (3, 2)), ((2, 1, 2), (1, 2, 2)), ((2, 1, 2, 1, 2), (1, 2, 1, 2, 2))]


def team(actions=(2, 3), observations=(3, 2), nodes=3, first=False, seed=0):
    rng = np.random.default_rng(seed)
    return making.team(rng, making.model(rng, 2, actions, observations), nodes, first=first)


def document(**options):
    return json.loads(team_to_json(team(**options)))


def refusal(content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    with pytest.raises(FormatError) as caught:
        team_from_json(data, "t.json")
    assert caught.value.path == "t.json"
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix("t.json: ")


def changed(path, value):
    """A good team.json with one place changed."""
    content = copy.deepcopy(document(first=True))
    inside = content
    for key in path[:-1]:
        inside = inside[key]
    if value is None:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return content


@pytest.mark.parametrize(("actions", "observations"), SIZES)
@pytest.mark.parametrize("first", [False, True])
def test_a_team_comes_back_equal(tmp_path, actions, observations, first):
    held = team(actions, observations, first=first)
    write_team(held, tmp_path / "team.json")
    again = read_team(tmp_path / "team.json")
    assert again == held
    assert team_to_json(again) == team_to_json(held) == (tmp_path / "team.json").read_bytes()
    assert os.listdir(tmp_path) == ["team.json"]


def test_numbers_that_are_hard_to_write_come_back_equal():
    tiny, odd = 5e-324, 0.1 + 0.2
    start = np.array([tiny, 1e-17, odd, 1 - odd])
    held = Team(
        (Agent('quote " and \\ and \n', ["é", "日本", "\x01"], ["null"]),),
        (Controller(start, np.full((4, 3), 1 / 3), np.full((4, 3, 1, 4), 0.25)),),
        0.1 + 0.2,
        "a b",
    )
    assert team_from_json(team_to_json(held), "t.json") == held


def test_equal_teams_give_equal_bytes():
    plus = Team((Agent("a", ["x", "y"], ["o"]),), (Controller.deterministic([0], [[0]], 2),), 1)
    minus = Team(plus.agents, (Controller([1], [[1, -0.0]], np.ones((1, 2, 1, 1))),), 1)
    assert plus == minus
    assert team_to_json(plus) == team_to_json(minus)


def test_people_can_read_it():
    agent = Agent("a", ["stay", "go"], ["dark", "light"])
    held = Team((agent,), (Controller.deterministic([0, 1], [[0, 1], [1, 0]], 2),), 0.9, "cave")
    lines = team_to_json(held).decode().splitlines()
    assert lines[:10] == [
        "{",
        '  "format": "decpomdp-team/1",',
        '  "problem": "cave",',
        '  "discount": 0.9,',
        '  "agents": [',
        "    {",
        '      "name": "a",',
        '      "actions": ["stay", "go"],',
        '      "observations": ["dark", "light"],',
        '      "initial": [1.0, 0.0],',
    ]
    assert "            [1.0, 0.0]," in lines


@pytest.mark.parametrize("n", [0, 1])
def test_one_agents_controller_is_a_team_of_one(tmp_path, n):
    held = team(first=n == 1)
    held.save(tmp_path / "one.json", held.agents[n].name)
    alone = read_team(tmp_path / "one.json")
    assert alone == Team(held.agents[n : n + 1], held.controllers[n : n + 1], held.discount, held.problem)
    content = json.loads((tmp_path / "one.json").read_bytes())
    assert content["format"] == "decpomdp-controller/1"
    assert content["agent"] == json.loads(team_to_json(held))["agents"][n]


SECOND = ("agents", 1)


BAD = [
    ((*SECOND, "action", 2), [0.5, 0.48, 0], "agents[1].action[i=2] sums to 0.98, expected 1"),
    ((*SECOND, "initial"), [], "agents[1].initial: expected at least one node, got none"),
    ((*SECOND, "initial"), [1], "agents[1].action: expected 1 entries, one per node, got 3"),
    (
        (*SECOND, "transition", 1, 2, 1),
        [0.5, 0.5],
        "agents[1].transition[i=1, a=2, o=1]: expected 3 entries, one per node, got 2",
    ),
    (
        (*SECOND, "actions"),
        ["x", "y", "x"],
        "agents[1]: actions of agent2: expected distinct labels, got 'x' twice",
    ),
    ((*SECOND, "initial", 1), True, "agents[1].initial[1]: expected float, got bool"),
    ((*SECOND, "colour"), "red", "agents[1]: object contains unknown field colour"),
    ((*SECOND, "transition"), None, "agents[1]: object missing required field transition"),
    (("agents",), [], "agents: expected at least one label, got none"),
]


def test_a_bad_team_is_refused_with_its_place():
    for path, value, expected in BAD:
        assert refusal(changed(path, value)).startswith(expected)


def test_numbers_that_are_not_finite_are_refused():
    data = json.dumps(changed(("agents", 0, "initial", 0), 12345)).encode()
    for value in (b"NaN", b"Infinity", b"1e999", b"1" * 5000):
        refusal(data.replace(b"12345", value))


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(FormatError, match=r"none\.json: cannot be read: No such file or directory$"):
        read_team(tmp_path / "none.json")
    with pytest.raises(FormatError, match=r"team\.json: cannot be read: No such file or directory$"):
        read_team(tmp_path)
    write_team(team(), tmp_path / "team.json")
    monkeypatch.setattr(team_io, "LIMIT", 100)
    with pytest.raises(FormatError, match=r"team\.json: expected at most 100 bytes, got a larger file$"):
        read_team(tmp_path / "team.json")
