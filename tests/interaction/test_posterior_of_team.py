"""The posterior of a searched team: its size, its certainty, and the team left as it was."""

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.core import Fit, InputError
from decpomdp.interaction.readout import read_out


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


def test_mistakes_are_said(tiger):
    model, team = tiger
    with pytest.raises(InputError, match="fit: expected the result of learning or planning, got Team"):
        read_out(model, team)
