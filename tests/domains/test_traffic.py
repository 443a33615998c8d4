"""The traffic grid: its rules against a plain Python grid, the simulator protocol, and the policies that come along."""

import numpy as np
import pytest
from oracles.traffic import Grid

import decpomdp as dp
from decpomdp.core import InputError, Team
from decpomdp.domains import registry
from decpomdp.domains.traffic import ACTIONS, OBSERVATIONS, Traffic, busier, named
from decpomdp.rollouts import simulate
from decpomdp.rollouts.play import play_batch, players_of


def random_team(grid, seed, nodes=3):
    rng = np.random.default_rng(seed)

    def rows(*shape):
        return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])

    def controller(size):
        return dp.Controller(rows(size), rows(size, 2), rows(size, 2, 3, size), rows(3, size))

    return Team.of(grid, [controller(1 + n % nodes) for n in range(len(grid.agents))])


@pytest.mark.parametrize("side", [1, 2, 3, 10])
def test_every_step_is_that_of_the_plain_rules(side):
    grid, episodes, seed = Traffic(side), 4, 2**63 + 7
    plain = [Grid(side, seed, k) for k in range(episodes)]
    rng = np.random.default_rng(side)
    shown = grid.reset(episodes, seed)
    np.testing.assert_array_equal(shown, [one.seen() for one in plain])
    for _ in range(40):
        actions = rng.random((episodes, side * side)) < rng.random()  # from all rows to all columns
        step = grid.step(actions.astype(np.int64))
        assert step.rewards.tolist() == [one.step(chosen) for one, chosen in zip(plain, actions * 1, strict=True)]
        np.testing.assert_array_equal(step.observations, [one.seen() for one in plain])
        np.testing.assert_array_equal(grid.loads, [one.rows + one.columns for one in plain])
        assert not step.ended.any()


def test_the_comparison_can_fail():
    grid, plain = Traffic(3), Grid(3, 1, 0)
    grid.reset(1, 0)
    assert grid.loads[0].tolist() != plain.rows + plain.columns


def test_whole_episodes_are_those_of_single_steps():
    grid = Traffic(3)
    team = random_team(grid, 0)
    fast = grid.play(players_of(team), 6, 9, 4, behaviour=True)
    slow, lengths, terminated = play_batch(grid, players_of(team), 6, 9, 4)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)
    assert lengths.tolist() == [9] * 6
    assert not terminated.any()


def test_pieces_and_threads_change_nothing():
    grid = Traffic(10)
    team = random_team(grid, 1)
    one = grid.play(players_of(team), 40, 30, 2, threads=1)
    two = grid.play(players_of(team), 40, 30, 2, threads=2)
    later = grid.play(players_of(team), 15, 30, 2, first=25)
    for field, (a, b, c) in zip(one._fields, zip(one, two, later, strict=True), strict=True):
        np.testing.assert_array_equal(a, b, err_msg=field)
        np.testing.assert_array_equal(a[25 * 30 :] if len(a) else a, c, err_msg=field)


def test_recorded_probabilities_are_the_marginals():
    grid = Traffic(2)
    team = random_team(grid, 3)
    data = simulate(grid, team, 30, 12, seed=1)
    logs = np.log(data.behaviour.astype(np.float64)).sum(axis=1)
    from decpomdp.filtering.filter import log_likelihood

    running = np.concatenate([np.cumsum(part) for part in np.split(logs, data.offsets[1:-1])])
    np.testing.assert_allclose(log_likelihood(data, team), running, atol=1e-4)


def test_the_policies_rank_as_they_should():
    grid = Traffic(10)
    value = {name: simulate(grid, team, 100, 60, 1).returns().mean() for name, team in grid.policies().items()}
    assert value["heuristic"] > 250 > 160 > value["random"] > 140 > 110 > value["all-row"] > 90
    assert value["all-column"] == pytest.approx(value["all-row"], abs=4)


def test_the_hand_coded_rule_serves_the_busier_street():
    grid = Traffic(4)
    data = simulate(grid, grid.policies()["heuristic"], 20, 15, 0)
    seen, done = data.observations, data.actions
    assert np.all(done[seen == OBSERVATIONS.index("row-longer")] == ACTIONS.index("row"))
    assert np.all(done[seen == OBSERVATIONS.index("row-shorter")] == ACTIONS.index("column"))
    rows = np.flatnonzero(data.times() > 0)
    kept = (seen[rows] == OBSERVATIONS.index("equal")) & (done[rows] != done[rows - 1])
    assert not kept.any()
    assert busier().nodes == 2


def test_names_and_sizes():
    assert dp.load("traffic").name == "traffic"
    small = dp.load("traffic:4", 0.8)
    assert (small.name, len(small.agents), small.discount) == ("traffic:4", 16, 0.8)
    assert dp.load("traffic:10").name == "traffic"
    for wrong in ("traffic:", "traffic:x", "traffic:0", "traffic:101", "traffic:-1", "traffic:²"):
        with pytest.raises(InputError, match="traffic"):
            dp.load(wrong)
    with pytest.raises(InputError, match="did you mean traffic"):
        dp.load("trafic")
    assert registry.simulators() == ("traffic", "sumo")
    assert "10^20 states" in registry.family("traffic").summary
    with pytest.raises(InputError, match="can only be played"):
        dp.plan("traffic:2")
    with pytest.raises(InputError, match="discount"):
        named("traffic", 1.5)
