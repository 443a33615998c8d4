"""The parts that need no SUMO: streets, vehicles, readings, programs."""

import gzip
import pickle
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from decpomdp.core import InputError
from decpomdp.domains.registry import build as simulator
from decpomdp.environments.sumo import network
from decpomdp.environments.sumo.grid import Played, SumoGrid, pooled
from decpomdp.environments.sumo.network import BLOCK, LEFT, RIGHT, STRAIGHT, Demand, actuated
from decpomdp.environments.sumo.process import ATTEMPTS, SimulationProcess
from decpomdp.environments.sumo.simulation import KEEP, QUEUES, READINGS, SIGNS, SWITCH, Measures, Simulation
from decpomdp.io.runs import source_digest
from decpomdp.kernels.rollout import Paths


def net(side):
    with gzip.open(network.network_file(side)) as file:
        return ElementTree.parse(file).getroot()


@pytest.mark.parametrize("side", network.SIDES)
def test_the_shipped_network_is_the_one_that_is_described(side):
    root = net(side)
    streets = {edge.get("id"): edge for edge in root.iter("edge") if edge.get("function") != "internal"}
    assert set(network.approaches(side)) <= set(streets)
    assert len(streets) == 4 * side * (side + 1)
    logics = {logic.get("id"): [phase.get("state") for phase in logic] for logic in root.iter("tlLogic")}
    assert sorted(logics) == sorted(network.lights(side))
    (column, row), (yellow_column, yellow_row) = network.GREEN, network.YELLOW
    assert all(states == [column, yellow_column, row, yellow_row] for states in logics.values())
    names = network.approaches(side)
    for link in root.iter("connection"):  # link i of a light comes from approach i // 3
        if link.get("tl") is not None:
            n, a = network.lights(side).index(link.get("tl")), int(link.get("linkIndex")) // 3
            assert names[4 * n + a] == link.get("from")


@pytest.mark.parametrize("side", network.SIDES)
def test_every_route_is_a_way_through_the_network(side):
    ways = {(link.get("from"), link.get("to"), link.get("dir")) for link in net(side).iter("connection")}
    for gate in range(4 * side):
        for turn_at in range(side):
            for turn, sign in ((STRAIGHT, "s"), (RIGHT, "r"), (LEFT, "l")):
                streets = network.route(side, gate, turn_at, turn)
                signs = ["s"] * (len(streets) - 1)
                signs[turn_at] = sign
                assert {*zip(streets, streets[1:], signs, strict=False)} <= ways


def test_demand_is_fixed_by_its_seed_and_as_dense_as_asked():
    def first(seed, rate=360.0, blocks=360):
        demand = Demand(4, rate, seed)
        return [demand.block() for _ in range(blocks)]

    assert first(3) == first(3) != first(4)
    counts = [sum(map(len, first(seed))) for seed in range(6)]
    assert abs(np.mean(counts) / (16 * 360) - 1) < 0.15  # gates weigh 0.5 to 1.5: 16 of them, 6 times
    blocks = first(5)
    for number, trips in enumerate(blocks):
        assert trips == sorted(trips)
        assert all(number * BLOCK <= trip.depart <= (number + 1) * BLOCK for trip in trips)
    turns = np.array([trip.turn for trips in blocks for trip in trips])
    assert abs(np.mean(turns == RIGHT) - 0.15) < 0.02
    assert abs(np.mean(turns == LEFT) - 0.10) < 0.02
    spans = [[trip.gate < 8 for trips in blocks[i : i + 30] for trip in trips] for i in range(0, 360, 30)]
    columns = np.array([np.mean(span) for span in spans])
    assert columns.max() - columns.min() > 0.2  # it swings between columns and rows


def test_readings():
    views = np.array([[g, r, m, 9, 7, 0] for g in range(4) for r in range(14) for m in range(5)], np.int16)
    for reading in READINGS.values():
        seen = reading.read(views)
        assert seen.dtype == np.int16
        assert np.array_equal(np.isin(seen, reading.longer), views[:, 1] > views[:, 0])
    told = {
        (2, 2, 0): "red-not-longer,idle",
        (0, 1, 2): "red+1,few",
        (1, 6, 3): "red+3,many",
        (0, 99, 1): "red+10,few",
    }
    symbols = QUEUES.read(np.array([[*view, 9, 7, 0] for view in told], np.int16))
    assert [QUEUES.symbols[symbol] for symbol in symbols] == list(told.values())
    assert SIGNS.read(np.array([[2, red, 0, 0, 0, 0] for red in (1, 2, 3)], np.int16)).tolist() == [0, 1, 2]


def test_longest_queue_switches_when_red_is_longer():
    grid = SumoGrid(4, reading="signs")
    controller = grid.policies()["longest-queue"].controllers[0]
    for symbol, action in ((0, KEEP), (1, KEEP), (2, SWITCH)):
        assert controller.action[controller.initial_given[symbol].argmax()].argmax() == action
        for node in (0, 1):
            assert controller.action[controller.transition[node, node, symbol].argmax()].argmax() == action


def test_the_actuated_programs_name_every_light():
    root = ElementTree.fromstring(actuated(4))
    assert [logic.get("id") for logic in root] == list(network.lights(4))
    assert all(logic.get("type") == "actuated" for logic in root)


def test_names():
    assert simulator("sumo").name == "sumo:4"
    assert simulator("sumo:10").name == "sumo:10"
    assert simulator("sumo:4:signs", 0.9).reading is SIGNS
    assert simulator("sumo:4", 0.9).discount == 0.9
    for text, words in (
        ("sumo:7", "expected a grid of 4 or 10 lights a side, got 7"),
        ("sumo:x", "expected a grid of 4 or 10 lights a side, got 'x'"),
        ("sumo:", "expected sumo:4, sumo:10 or sumo:SIDE:READING:RATE, got 'sumo:'"),
        ("sumo:4:queues:400:1", "expected sumo:4, sumo:10 or sumo:SIDE:READING:RATE, got"),
        ("sumo:4:queues:x", "rate: expected vehicles an hour above 0 and up to 3600, got 'x'"),
        ("sumo:4:mine", "reading: expected one of queues, signs, got 'mine'"),
    ):
        with pytest.raises(InputError, match=words):
            simulator(text)


def test_another_demand_is_another_problem():
    """By its name and so by the digest of what a run was made from; the name opens the same problem again."""
    usual, light, odd = SumoGrid(4), SumoGrid(4.0, rate=400), SumoGrid(4, reading="signs", rate=400.5)
    assert [grid.name for grid in (usual, light, odd)] == ["sumo:4", "sumo:4:queues:400", "sumo:4:signs:400.5"]
    assert len({source_digest(grid) for grid in (usual, light, odd)}) == 3
    for grid in (usual, light, odd):
        again = simulator(grid.name)
        assert (again.name, again.rate, again.reading) == (grid.name, grid.rate, grid.reading)
    assert light.facts["vehicles_an_hour_and_gate"] == "400"


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("exec sleep 1000", -9)])
def test_a_worker_that_always_dies_or_hangs_is_an_error(monkeypatch, command, code):
    monkeypatch.setattr("decpomdp.environments.sumo.process.COMMAND", ("/bin/sh", "-c", command))
    monkeypatch.setattr("decpomdp.environments.sumo.process.SILENCE", 0.3)
    alone = SimulationProcess(4, 100.0)
    with pytest.raises(
        InputError, match=rf"expected a running worker process, got {ATTEMPTS} that died \(exit code {code}\)"
    ):
        alone.reset(0)
    assert alone.starts == ATTEMPTS
    assert alone.pid is None


def test_mistakes_are_named():
    with pytest.raises(InputError, match="rate: expected vehicles an hour above 0"):
        Demand(4, 0.0, 1)
    for wrong, words in (
        ({"rate": -1}, "rate: expected vehicles an hour above 0 and up to 3600, got -1"),
        ({"side": 5}, "sumo: expected a grid of 4 or 10 lights a side, got 5"),
        ({"reading": 3}, "reading: expected one of queues, signs, got 3"),
        ({"workers": 1.5}, "workers: expected a whole number from 1 to 1000, got 1.5"),
    ):
        with pytest.raises(InputError, match=f"^{words}"):
            SumoGrid(**wrong)
    with pytest.raises(InputError, match="at most 16 in a batch \\(one SUMO process each\\), got 17"):
        SumoGrid(4).reset(17, 0)


def test_without_libsumo_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "libsumo", None)
    with pytest.raises(InputError, match=r"pip install decpomdp\[sumo\]"):
        Simulation(4, 100.0)


def test_the_drawing_has_a_street_for_every_approach():
    grid = SumoGrid(4)
    drawn = grid.street_map()
    assert [street.name for street in drawn.streets] == network.approaches(4)
    assert drawn.lights[0] == (0.0, 3.0)  # A0 is the south-west corner: at the bottom of the drawing
    assert drawn.streets[0].start == (0.0, 2.0)  # from the north


def test_a_copy_is_the_same_grid():
    grid = SumoGrid(10, 0.9, "signs", 400.0, 2)
    again = pickle.loads(pickle.dumps(grid))
    assert (again.name, again.discount, again.agents, again.workers) == (grid.name, 0.9, grid.agents, 2)
    assert again.facts == grid.facts


def test_every_light_becomes_an_episode_of_its_own():
    grid = SumoGrid(4)
    rng = np.random.default_rng(0)
    seen, acted = rng.integers(15, size=(6, 16)).astype(np.int16), rng.integers(2, size=(6, 16)).astype(np.int16)
    chance, present = rng.random((6, 16)).astype(np.float32), rng.random((6, 16))
    paths = Paths(seen, acted, np.zeros_like(acted), chance, np.zeros(6))
    episodes = pooled(grid.agents, Played(paths, 0 * present, present, [Measures(0.0, 0.0, 0, 0)] * 2), 0.9)
    assert episodes.count == 32
    assert episodes.discount == 0.9
    for k in range(2):
        for n in range(16):
            rows = slice((16 * k + n) * 3, (16 * k + n + 1) * 3)
            own = slice(3 * k, 3 * k + 3)
            assert np.array_equal(episodes.observations[rows, 0], seen[own, n])
            assert np.array_equal(episodes.actions[rows, 0], acted[own, n])
            assert np.array_equal(episodes.behaviour[rows, 0], chance[own, n])
            assert np.array_equal(episodes.rewards[rows], -present[own, n])
