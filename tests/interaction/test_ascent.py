"""The core step climbs, for any number of agents; a given memory stays as it is."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.evaluation import exact_value
from decpomdp.interaction.search.ascent import AscentSize, ascend
from decpomdp.interaction.search.machines import sizes, team_of
from decpomdp.interaction.search.players import DensePlayer
from decpomdp.interaction.search.starts import skeletons
from decpomdp.rollouts import DenseSimulator


@pytest.mark.parametrize("actions", [(3,), (2, 3), (2, 2, 3), (2, 1, 2, 2)])
@pytest.mark.parametrize("free", [False, True])
def test_it_gets_better(actions, free):
    model = making.model(np.random.default_rng(len(actions)), 3, actions, actions[::-1])
    player = DensePlayer(DenseSimulator(model))
    start = {found.name: found.plan for found in skeletons([len(agent.observations) for agent in model.agents], 20)}[
        "window 1"
    ]
    after = ascend(player, start, AscentSize(40, 200, 20, 0.1, 0.0), 1, free=free)
    before, reached = (exact_value(model, team_of(plan, model, False)).value for plan in (start, after))
    random = exact_value(model, dp.Team.uniform(model)).value
    assert reached > max(before, random) + 1e-3
    assert sizes(after) == sizes(start)
    if not free:
        assert all(np.array_equal(a.move, b.move) for a, b in zip(start, after, strict=True))


def test_a_given_memory_makes_dectiger_easy():
    model = dp.load("dectiger")
    player = DensePlayer(DenseSimulator(model))
    tree = {found.name: found.plan for found in skeletons([2, 2], 45)}["tree 3"]
    plan = ascend(player, tree, AscentSize(120, 400, 44, 0.1, 0.0), 1, free=False)
    assert exact_value(model, team_of(plan, model, False)).value == pytest.approx(13.4486, abs=1e-3)
