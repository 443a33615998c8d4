"""Controllers in words."""

import numpy as np
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.report.text import controller_in_words, team_in_words

AGENT = dp.Agent("x", ("wait", "go"), ("dark", "light", "fog"))


def test_a_sure_controller():
    model = dp.load("dectiger")
    lines = team_in_words(dp.Team.of(model, [controller()] * 2))
    assert lines[0] == "agent1 (6 nodes)"
    assert lines[1] == "  start in 0"
    assert lines[3] == "  node 1: listen; on hear-left go to 3, on hear-right go to 4"
    assert lines[5] == "  node 3: open-right; then go to 0"
    assert len(lines) == 16


def test_moves_that_depend_on_the_action_and_first_observations():
    table = [[[[1.0, 0.0]] * 3, [[0.0, 1.0]] * 3]] * 2
    found = dp.Controller([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], table, [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    words = controller_in_words(AGENT, found)
    assert words[0] == "start in 0 if dark is seen first"
    assert words[2] == "start in 0 (0.50) or 1 (0.50) if fog is seen first"
    assert words[3] == "node 0: wait (0.50) or go (0.50); after wait then go to 0; after go then go to 1"
    assert words[4] == "node 1: go; then go to 1"


def test_bins_and_many_observations_are_joined():
    bins = dp.Discretiser.binned([[0.0, 1.0, 2.0], [5.0]], names=("x", "y"))
    agent = dp.Agent("x", ("wait", "go"), bins.labels)
    to = [1, 1, 1, 1, 0, 2, 0, 2]  # [x, y]
    words = controller_in_words(agent, dp.Controller.deterministic([0, 1, 0], [to, [0] * 8, to], 2))
    assert words[1] == "node 0: wait; on x < 1 go to 1, on x >= 1 and y < 5 go to 0, on x >= 1 and y >= 5 go to 2"
    assert words[2] == "node 1: go; then go to 0"
    agent = dp.Agent("x", ("wait",), tuple(f"o{place}" for place in range(8)))
    words = controller_in_words(agent, dp.Controller.deterministic([0, 0], [[0] * 6 + [1] * 2, [0, 1] * 4], 1))
    assert words[1] == "node 0: wait; on o6 or o7 go to 1, otherwise go to 0"
    assert words[2].endswith("on o0 or o2 or o4 or o6 go to 0, on o1 or o3 or o5 or o7 go to 1")


def test_a_label_stays_on_its_line(tmp_path, capsys):
    from decpomdp.cli.main import code_of

    harm = "\x1b[2Jgo\nnode 9: \u202e\x9b"
    agents = tuple(dp.Agent(f"{n}{harm}", (harm, "b"), ("o", f"p{harm}")) for n in range(2))
    controller = dp.Controller.deterministic([0, 1], [[0, 1], [1, 0]], 2)
    team = dp.Team(agents, (controller, controller), 0.9, "x")
    lines = team.in_words().splitlines()
    assert len(lines) == 2 * (1 + 1 + 2)
    team.save(tmp_path / "t.json")
    assert code_of(["show", str(tmp_path / "t.json")]) == 0
    told = capsys.readouterr().out
    assert told.splitlines() == lines
    assert r"\x1b[2Jgo\nnode 9: \u202e\x9b" in told
    assert not set(told) & set("\x1b\x9b\u202e")


def test_many_equally_likely_choices_are_counted():
    agent = dp.Agent("x", tuple(f"u{a}" for a in range(201)), ("o",))
    words = controller_in_words(agent, dp.Controller.uniform(201, 1))
    few = " or ".join(f"u{a} (0.005)" for a in range(5))
    assert words == ["start in 0", f"node 0: {few} or 196 others; then go to 0"]
    table = np.zeros((2, 201, 1, 2))
    table[:, :100, :, 0] = table[:, 100:, :, 1] = 1.0
    words = controller_in_words(agent, dp.Controller([1.0, 0.0], np.full((2, 201), 1 / 201), table))
    assert words[1].startswith(f"node 0: {few} or 196 others; after u0 then go to 0; after u1 then go to 0;")
    rest = dp.Controller([1.0], [[0.996, 0.004]], [[[[1.0]] * 3] * 2])
    assert controller_in_words(AGENT, rest)[1] == "node 0: wait; then go to 0"  # as ever where something is likely
