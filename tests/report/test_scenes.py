"""Scenes: grids and streets are drawn as their states and queues are; wrong maps are rejected."""

from dataclasses import replace

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core import InputError
from decpomdp.core.scene import COLUMN, NEITHER, ROW, OnStreets, Street, StreetMap, StreetScene
from decpomdp.domains.traffic import Traffic
from decpomdp.report.scenes import CELL, GRIDS, LIGHT, grid_film, street_film


def approaches():
    """Two lights beside each other, driven to from both sides."""
    there = Street("east", (0.0, 0.0), (1.0, 0.0), (1.0, 0.0))
    back = Street("west", (1.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    return StreetMap(((0.0, 0.0), (1.0, 0.0)), (there, back), most=20)


def test_nonsense_is_refused():
    for make, words in [
        (lambda: Street("x", (0, 0), (1, 1), (2, 2)), "street x: expected a way along a row or a column"),
        (lambda: StreetScene((1,), (ROW, ROW)).fitting(approaches()), "expected 2 queues and 2 lights, got 1 and 2"),
    ]:
        with pytest.raises(InputError, match=words):
            make()


def test_traffic_shows_its_streets():
    grid = Traffic(3)
    assert isinstance(grid, OnStreets)
    grid.reset(2, seed=4)
    found = grid.street_map()
    assert [found.lights[n] for n in (0, 1, 3)] == [(0, 0), (1, 0), (0, 1)]  # r1c1, r1c2, r2c1
    assert [street.name for street in found.streets][:4] == ["row 1", "row 2", "row 3", "column 1"]
    assert found.most == 9
    for episode in range(2):
        scene = grid.street_scene(episode).fitting(found)
        assert scene.waiting == tuple(grid.loads[episode].tolist())
        assert scene.green == (NEITHER,) * 9
    grid.step(np.arange(18).reshape(2, 9) % 2)
    assert grid.street_scene(1).green == (1, 0, 1, 0, 1, 0, 1, 0, 1)
    with pytest.raises(InputError, match="episode"):
        grid.street_scene(2)


def taken(film, k, t):
    """Per part: what its changes have come to."""
    return [{what: values[k][t] for what, values in part.changes.items()} for part in film.parts]


def test_the_drawing_says_what_waits_and_what_is_green():
    grid = Traffic(2)
    streets = grid.street_map()
    scenes = [[StreetScene((0, 9, 3, 5), (ROW, COLUMN, NEITHER, ROW)), StreetScene((1, 8, 9, 0), (COLUMN,) * 4)]]
    film = street_film(streets, scenes)
    for t, scene in enumerate(scenes[0]):
        values = taken(film, 0, t)
        queues, fulls, lights = values[0:8:2], values[1:8:2], values[8:]
        for s, (queue, full) in enumerate(zip(queues, fulls, strict=True)):
            axis = "x2" if s < 2 else "y2"
            car = (CELL - LIGHT - 3 - 4) / 9
            assert queue[axis] == pytest.approx(-LIGHT - 3 - car * scene.waiting[s])  # away from the first light
            assert full["display"] == float(scene.waiting[s] == 9)
        assert [light["display"] for light in lights] == [float(green != NEITHER) for green in scene.green]
        shown = [light["turn"] for light in lights if light["display"]]
        assert shown == [{ROW: 0.0, COLUMN: 90.0}[green] for green in scene.green if green != NEITHER]
    assert film.captions[0] == (
        "17 cars wait, 1 of 4 streets are full; green: 2 rows, 1 columns, 1 neither",
        "18 cars wait, 1 of 4 streets are full; green: 0 rows, 4 columns",
    )
    assert [part.agent for part in film.parts if part.agent is not None] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", GRIDS.values())
def test_a_grid_is_recognised_by_its_numbers(name):
    model = replace(dp.load(name), scene=None)  # as read from a file
    film = grid_film(replace(model, name="mine"), [range(len(model.states))])
    assert film.captions[0][3] == f"state {model.states[3]}"
    assert all(len(values[0]) == len(model.states) for part in film.parts for values in part.changes.values())
    assert grid_film(replace(model, reward=model.reward + 1), [[0]]) is None


def test_robots_stand_where_the_state_says():
    model = dp.load("gridsmall")
    film = grid_film(model, [range(16)])
    for state in range(16):
        values = taken(film, 0, state)
        moved = [value["move"] for value in values if "move" in value]
        cells = [divmod(cell, 2) for cell in divmod(state, 4)]  # row, column of both robots
        beside = 19 if cells[0] == cells[1] else 0
        assert moved == [(90 * c + 45 + s, 90 * r + 53) for (r, c), s in zip(cells, (-beside, beside), strict=True)]


def agents(things):
    return [thing for thing in things if thing["kind"] == "agent"]


def test_box_pushing_robots_stand_where_the_label_says():
    model = dp.load("boxpushing")
    for state, label in enumerate(model.states):
        found = agents(model.scene.things[state])
        if state < 4:
            assert found == []
        else:
            said = "".join(f"{robot['column'] + 1}{'NESW'[robot['turn'] // 90]}" for robot in found)
            assert label == "s" + said
            assert all(thing["row"] == 1 for thing in model.scene.things[state] if thing["kind"] == "box")
    moved = [[thing["row"] for thing in model.scene.things[s] if thing["kind"] == "box"] for s in range(4)]
    assert moved == [[0, 1, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1]]  # left, large, right


def test_rovers_and_sites_agree_with_what_is_seen():
    model = dp.load("marsrovers")
    parts = model.observation_table()
    for state in range(0, 256, 7):
        things = model.scene.things[state]
        sites = {(thing["column"], thing["row"]): thing for thing in things if thing["kind"] == "site"}
        seen = parts[model.observation[0, state].argmax()]
        for rover, symbol in zip(agents(things), seen, strict=True):
            place = (rover["column"], rover["row"])
            assert symbol % 4 == 2 * place[0] + place[1]
            assert sites[place]["done"] == (symbol >= 4)
    assert [site["label"] for site in model.scene.things[0][:4]] == ["drill", "sample", "sample", "drill"]
