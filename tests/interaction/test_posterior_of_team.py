"""The posterior of a searched team: its size, its certainty, and the team left as it was."""

import time

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.core import Fit
from decpomdp.interaction.posterior_of_team import read_out
from simulators import Uncompiled


def found(team):
    return Fit(team, ({"steps": 1},), "steps", 0.0)


@pytest.fixture(scope="module")
def tiger():
    model = dp.load("dectiger")
    return model, dp.Team(model.agents, (controller(), controller()), model.discount)


def test_nodes_that_matter_are_seen(tiger):
    model, team = tiger
    fit = read_out(model, found(team), seed=3)
    assert fit.team is team
    assert fit.posterior.sizes == team.nodes
    assert dp.evaluate(fit.posterior.mean().decided(), model).value == pytest.approx(13.448, abs=1e-3)


def test_a_node_that_is_never_used_is_not_counted(tiger):
    model, team = tiger
    widened = []
    for each in team.controllers:  # one more node, which nothing leads to
        z, a, o = each.nodes, each.actions, each.observations
        moves = np.zeros((z + 1, a, o, z + 1))
        moves[:z, ..., :z] = each.transition
        moves[z, ..., 0] = 1
        action = np.vstack([each.action, np.eye(a)[:1]])
        widened.append(dp.Controller(np.append(each.initial, 0), action, moves))
    larger = dp.Team(team.agents, tuple(widened), team.discount)
    assert read_out(model, found(larger), seed=3).posterior.sizes == team.nodes


def test_the_seed_fixes_it_whatever_the_threads(tiger):
    model, team = tiger
    one, two = (read_out(model, found(team), seed=1, threads=threads).posterior.mean() for threads in (1, 2))
    assert one == two


def test_it_is_bounded_in_episodes_and_in_time(tiger):
    _, team = tiger
    few = Uncompiled()
    assert read_out(few, found(team), episodes=30).posterior.sizes
    assert few.played == 30
    slow, began = Uncompiled(0.001), time.monotonic()
    fit = read_out(slow, found(team), time_limit=1.0)
    assert time.monotonic() - began < 10
    assert 0 < slow.played < 2000
    assert fit.posterior is not None


def test_without_time_there_is_no_posterior(tiger):
    model, team = tiger
    fit = read_out(model, found(team), time_limit=0.0)
    assert fit.posterior is None
    assert fit.team is team
