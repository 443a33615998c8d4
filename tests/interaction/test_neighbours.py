"""Neighbours are all single changes, no more; the contest finds one that is better, and none at an optimum."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.interaction.search.machines import NONE, Machine, constant, sizes, team_of
from decpomdp.interaction.search.neighbours import (
    Change,
    Runner,
    action_changes,
    changed,
    contest,
    move_changes,
    polish,
)
from decpomdp.interaction.search.players import DensePlayer
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.sizes import sizes_for
from decpomdp.interaction.search.trial import ReturnSums
from decpomdp.rollouts import DenseSimulator

SIZES = replace(sizes_for(Search(max_nodes=6), 0.9, 2e9), contest=1e6)  # short searches have none


def setting(seed=3):
    """A small problem, and a plan in which each agent alternates."""
    model = making.model(np.random.default_rng(seed), 3, (2, 3), (2, 2))
    move = np.array([[1, 1, 1], [2, 2, 2], [1, 1, 1]])
    plan = (Machine(np.array([0, 0, 1]), move), Machine(np.array([0, 2, 1]), move))
    return model, DensePlayer(DenseSimulator(model)), plan


def everywhere(machine):
    return np.ones_like(machine.move)


def around(plan, model):
    parts = [(n, machine, everywhere(machine), len(model.agents[n].actions)) for n, machine in enumerate(plan)]
    return [change for part in parts for change in (*action_changes(*part), *move_changes(*part))]


def value(model, plan):
    return dp.evaluate(team_of(plan, model, False), model).value


def test_every_single_change_is_there_once():
    model, _, plan = setting()
    found = [
        tuple((machine.action.tobytes(), machine.move.tobytes()) for machine in changed(plan, c))
        for c in around(plan, model)
    ]
    edges = [machine.move.size for machine in plan]
    nodes, others = [2, 2], [1, 2]  # other actions of a node
    wanted = sum(n * a + e * (n - 1) + e * n * a for n, a, e in zip(nodes, others, edges, strict=True))
    assert len(found) == len(set(found)) == wanted


def test_a_change_is_what_it_says():
    _, _, plan = setting()
    acts = changed(plan, Change(1, 2, NONE, NONE, 0))
    assert acts[0] is plan[0]
    assert acts[1].action.tolist() == [0, 2, 0]
    leads = changed(plan, Change(0, 1, 1, 1, NONE))
    assert leads[0].move.tolist() == [[1, 1, 1], [2, 1, 2], [1, 1, 1]]
    grows = changed(plan, Change(0, 1, 0, 2, 0))
    assert grows[0].action.tolist() == [0, 0, 1, 0]
    assert grows[0].move.tolist() == [[1, 1, 1], [3, 2, 2], [1, 1, 1], [1, 1, 1]]
    assert plan[0].move.tolist() == [[1, 1, 1], [2, 2, 2], [1, 1, 1]]


def test_what_is_never_met_has_no_neighbours():
    _, _, plan = setting()
    visits = everywhere(plan[0])
    visits[2] = 0
    assert {change.node for change in action_changes(0, plan[0], visits, 2)} == {1}
    assert {change.node for change in move_changes(0, plan[0], visits, 2)} == {0, 1}


def test_polishing_climbs_to_an_optimum_and_then_finds_nothing():
    """By exact values, which polishing does not see, every step is better, and the end has no better neighbour."""
    model, player, plan = setting()
    best, rng = value(model, plan), np.random.default_rng(0)
    while (
        any(value(model, changed(plan, change)) > best + 1e-3 for change in around(plan, model))
        and max(sizes(plan)) < 6
    ):
        found = polish(player, plan, SIZES, rng, (0, 1))
        assert value(model, found) > best - 1e-3
        plan, best = (found, value(model, found)) if value(model, found) > best else (plan, best)
    assert best > value(model, setting()[2]) + 0.05


def test_where_nothing_is_better_the_plan_stays():
    model = dp.load("broadcast")
    player = DensePlayer(DenseSimulator(model))
    plan = constant(player, [0, 1])
    worse = [
        change for change in around(plan, model) if value(model, changed(plan, change)) < value(model, plan) - 1e-6
    ]
    assert worse
    assert contest(player, plan, worse, SIZES, np.random.default_rng(1)) is plan
    assert contest(player, plan, [], SIZES, np.random.default_rng(1)) is plan


@pytest.mark.parametrize(("gains", "certain"), [([1.0, 1.0], np.inf), ([0.0, 0.0], -np.inf), ([-1.0, -1.0], -np.inf)])
def test_a_gain_that_never_varies_is_certain(gains, certain):
    assert Runner((), ReturnSums.of(np.array(gains))).certainty == certain


def test_pieces_of_a_round_share_the_neighbours_out():
    """Two pieces that could each take all find the same best change; with half each, one of them must do without it."""
    model, player, plan = setting()
    halves = [polish(player, plan, SIZES, np.random.default_rng(5), (k, 2)) for k in range(2)]
    assert team_of(halves[0], model, False) != team_of(halves[1], model, False)
