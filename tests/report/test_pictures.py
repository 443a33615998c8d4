"""Drawings say the same as the states."""

from dataclasses import replace

import pytest

import decpomdp as dp
from decpomdp.domains import boxpushing, gridsmall, marsrovers
from decpomdp.report.pictures import DRAWN, picture_of


@pytest.mark.parametrize("name", DRAWN)
def test_a_problem_is_recognised_by_its_numbers(name):
    model = dp.load(name)
    renamed = replace(model, name="mine", discount=0.5)
    picture = picture_of(renamed, range(len(model.states)))
    assert len(picture["states"]) == len(model.states) == DRAWN[name]
    for things in picture["states"].values():
        for thing in things:
            assert 0 <= thing["column"] <= picture["columns"] - thing.get("width", 1)
            assert 0 <= thing["row"] < picture["rows"]
            assert thing["kind"] in {"agent", "box", "site", "zone"}
    changed = replace(model, reward=model.reward + 1)
    assert picture_of(changed, [0]) is None


def test_other_problems_have_no_drawing():
    assert picture_of(dp.load("dectiger"), [0]) is None


def agents(things):
    return [thing for thing in things if thing["kind"] == "agent"]


def test_box_pushing_robots_stand_where_the_label_says():
    model = dp.load("boxpushing")
    for state, label in enumerate(model.states):
        found = agents(boxpushing.things(state))
        if state < 4:
            assert found == []
        else:
            said = "".join(f"{robot['column'] + 1}{'NESW'[robot['turn'] // 90]}" for robot in found)
            assert label == "s" + said
            assert all(thing["row"] == 1 for thing in boxpushing.things(state) if thing["kind"] == "box")
    moved = [[thing["row"] for thing in boxpushing.things(s) if thing["kind"] == "box"] for s in range(4)]
    assert moved == [[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1]]  # left, large, right


def test_rovers_and_sites_agree_with_what_is_seen():
    model = dp.load("marsrovers")
    parts = model.observation_table()
    for state in range(0, 256, 7):
        things = marsrovers.things(state)
        sites = {(thing["column"], thing["row"]): thing for thing in things if thing["kind"] == "site"}
        seen = parts[model.observation[0, state].argmax()]
        for rover, symbol in zip(agents(things), seen, strict=True):
            place = (rover["column"], rover["row"])
            assert symbol % 4 == 2 * place[0] + place[1]
            assert sites[place]["done"] == (symbol >= 4)
    assert [site["label"] for site in marsrovers.things(0)[:4]] == ["drill", "sample", "sample", "drill"]


def test_robots_on_the_grid_are_in_the_column_they_see():
    model = dp.load("gridsmall")
    parts = model.observation_table()
    for state in range(16):
        seen = parts[model.observation[0, state].argmax()]
        assert [robot["column"] for robot in agents(gridsmall.things(state))] == seen.tolist()
    assert [(r["column"], r["row"]) for r in agents(gridsmall.things(6))] == [(1, 0), (0, 1)]
