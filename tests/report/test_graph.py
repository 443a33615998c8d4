"""Graphs: every node is there, words are right, nothing lies on anything else."""

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.report.graph import MOST_NODES, THICKEST, boxes_of, graph_of, links_of
from decpomdp.report.layout import APART, GraphLayout, Wire, crossings, depths
from decpomdp.report.performance import Use, unknown_use, use_in, watch
from decpomdp.rollouts import DenseSimulator

AGENT = dp.Agent("x", ("wait", "go"), ("dark", "light", "fog"))
PAIR = dp.Agent("x", ("wait", "go"), ("dark", "light"))
CROSSINGS = (2, 9, 57)  # of four random controllers each, with 8, 12 and 24 nodes and two observations


def graph(agent, made, use=None):
    return graph_of(agent, made, use or unknown_use(made), "g")


def use_on(model, team):
    played = watch(DenseSimulator(model), team, 500, 60, 0)
    return use_in(played.episodes, team, played.nodes)


def random_controller(seed, nodes, observations=3):
    rng = np.random.default_rng(seed)
    return dp.Controller.deterministic(rng.integers(2, size=nodes), rng.integers(nodes, size=(nodes, observations)), 2)


def links(made, agent=AGENT, use=None):
    return {(link.source, link.goal): link for link in links_of(agent, made, use or unknown_use(made))}


def test_moves_to_one_node_are_one_link():
    made = dp.Controller.deterministic([0, 1], [[1, 0, 1], [0, 0, 0]], 2)
    found = links(made)
    assert found[0, 1].words == ("dark", "fog")
    assert found[0, 0].words == ("light",)
    assert found[1, 0].words == ("any",)
    assert found[0, 1].share == pytest.approx(2 / 3)
    assert set(found) == {(0, 1), (0, 0), (1, 0)}


def test_chances_are_said_and_rare_moves_are_marked():
    rows = [[[0.3, 0.7], [1.0, 0.0], [0.99, 0.01]]] * 2
    found = links(dp.Controller([1.0, 0.0], [[1.0, 0.0]] * 2, [rows, rows]))
    assert found[0, 1].words == ("dark 70%", "fog 1.0%")
    assert found[0, 0].words == ("dark 30%", "light", "fog 99%")
    table = np.zeros((2, 2, 3, 2))
    table[..., 0], table[..., 1] = 0.99, 0.01
    rare = links(dp.Controller([1.0, 0.0], [[1.0, 0.0]] * 2, table))
    assert rare[0, 1].rare
    assert not rare[0, 0].rare


def test_observations_that_never_come_are_left_out_of_the_words():
    model = dp.load("boxpushing")
    forward = dp.Controller.deterministic([3, 3], [[1, 0, 0, 0, 0], [0, 1, 1, 1, 1]], 4)  # stays: always the same view
    team = dp.Team.of(model, [forward] * 2)
    found = links(forward, team.agents[0], use_on(model, team)[0])
    assert found[0, 1].words == ("emptyField",)
    assert found[0, 1].share == 1
    assert found[0, 0].rare  # on wall, otherAgent ...: none of them is ever seen


def test_starts():
    sure = boxes_of(AGENT, random_controller(0, 3), unknown_use(random_controller(0, 3)))
    assert [box.start for box in sure] == ["start", None, None]
    given = dp.Controller([1.0, 0.0], [[1.0, 0.0]] * 2, np.full((2, 2, 3, 2), 0.5), [[1, 0], [1, 0], [0, 1]])
    assert [box.start for box in boxes_of(AGENT, given, unknown_use(given))] == [
        "start on dark, light",
        "start on fog",
    ]
    drawn = dp.Controller([0.25, 0.75], [[1.0, 0.0]] * 2, np.full((2, 2, 3, 2), 0.5))
    assert [box.start for box in boxes_of(AGENT, drawn, unknown_use(drawn))] == ["start 25%", "start 75%"]


def nodes_in(found):
    groups = ElementTree.fromstring(found.drawn).iter("g")
    return sorted(int(group.get("data-node")) for group in groups if group.get("data-node"))


def test_every_node_is_drawn_in_well_formed_svg():
    for nodes in [1, 2, 7, 30, MOST_NODES]:
        found = graph(AGENT, random_controller(nodes, nodes))
        assert sorted([*nodes_in(found), *found.idle]) == list(range(nodes))
        assert "nan" not in found.drawn


def drawing_of(made):
    return graph(AGENT if made.observations == 3 else PAIR, made)


def test_nodes_and_labels_do_not_overlap():
    for seed in range(12):
        items = [item for item in drawing_of(random_controller(seed, 3 + 2 * seed)).layout.items if item.height]
        boxes = [(i.x - i.left, i.y - i.height / 2, i.x + i.right, i.y + i.height / 2) for i in items]
        for (a, b, c, d), (e, f, g, h) in combinations(boxes, 2):
            assert c <= e + 1e-6 or g <= a + 1e-6 or d <= f + 1e-6 or h <= b + 1e-6


def test_wires_keep_clear_of_nodes_and_labels():
    """Every wire crosses a row vertically, beside all nodes and labels of that row but its own."""
    crossed = 0
    for seed in range(6):
        layout = drawing_of(random_controller(seed, 12)).layout
        bends = [item for item in layout.items if not item.height]
        crossed += len(bends)
        for own in bends:
            for other in layout.items:
                if other.row == own.row and other.height:
                    assert own.x <= other.x - other.left - APART / 2 or own.x >= other.x + other.right + APART / 2
        for one, other in combinations([item for item in layout.items if item.height and item.row % 2], 2):
            if one.row == other.row:
                assert not other.x - other.left < one.x < other.x + other.right
    assert crossed > 10


def crossed(layout):
    return crossings(layout.rows, [item.near for item in layout.items])


def test_few_crossings():
    """A graph that can be drawn without crossings is; of fixed larger ones few remain."""
    box = (40.0, 40.0, 40.0)
    wires = [Wire(0, i, 20.0, 14.0) for i in (3, 1, 2)] + [Wire(i, 7 - i, 20.0, 14.0) for i in (1, 2, 3)]
    assert crossed(GraphLayout([box] * 7, [0, 1, 1, 1, 2, 2, 2], wires)) == 0
    found = [
        sum(crossed(drawing_of(random_controller(seed, nodes, 2)).layout) for seed in range(5, 9))
        for nodes in (8, 12, 24)
    ]
    assert all(now <= most for now, most in zip(found, CROSSINGS, strict=True)), found


def test_the_usual_way_leads_downwards():
    """Rows follow the most used links, not the fewest; a long chain grows in breadth when it is deep enough."""
    assert depths(4, [0], [(0, 1), (1, 2), (2, 3), (0, 3)]) == [0, 1, 2, 1]
    assert depths(3, [0], [(0, 1), (1, 2), (0, 2)]) == [0, 1, 2]
    assert depths(3, [0], [(0, 2), (0, 1), (2, 1)]) == [0, 1, 1]
    assert depths(2, [1], []) == [0, 0]


def test_wires_are_as_thick_as_they_are_used():
    model = dp.load("dectiger")
    use = use_on(model, dp.Team.of(model, [controller()] * 2))[0]
    tree = ElementTree.fromstring(graph_of(model.agents[0], controller(), use, "g").drawn)
    wires = {(int(g.get("data-from")), int(g.get("data-to"))): g for g in tree.iter("g") if g.get("class") == "link"}
    flows = {pair: use.moves[pair[0], :, pair[1]].sum() for pair in wires}
    by_use = sorted(wires, key=flows.get)
    thick = [float(wires[pair].find("path[@class='wire']").get("stroke-width")) for pair in by_use]
    assert thick == sorted(thick)
    assert thick[-1] == THICKEST


def test_the_small_drawing_has_numbers_only():
    made = random_controller(3, 24)
    found = graph_of(AGENT, made, unknown_use(made), "g", small=True)
    tree = ElementTree.fromstring(found.drawn)
    assert sorted(int("".join(text.itertext())) for text in tree.iter("text")) == nodes_in(found)
    assert float(tree.get("width")) < 600


def test_unused_nodes_are_left_out():
    made = random_controller(4, 6)
    use = Use(np.array([0.9, 0.1, 0, 0, 0, 0]), np.zeros((6, 3, 6)))
    found = graph_of(AGENT, made, use, "g")
    assert found.idle == [2, 3, 4, 5]
    assert nodes_in(found) == [0, 1]
    reachable = dp.Controller.deterministic([0, 1, 0], [[1, 1, 1], [0, 0, 0], [0, 0, 0]], 2)
    assert graph(AGENT, reachable).idle == [2]
