"""Hops of every kind give plans that can be played and fit the cap; races find the best."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.engines.clock import Clock
from decpomdp.interaction.arena_dense import DenseArena
from decpomdp.interaction.search import moves as hops
from decpomdp.interaction.search.machines import constant, pack, sizes, team_of
from decpomdp.interaction.search.memories import skeletons
from decpomdp.interaction.search.race import race
from decpomdp.interaction.search.settings import SearchSettings
from decpomdp.interaction.search.sizes import sizes_for
from decpomdp.rollouts import DenseSimulator

SMALL = sizes_for(SearchSettings(max_nodes=4), 0.9, None, 1e6)


def setting(actions):
    model = making.model(np.random.default_rng(1), 3, actions, actions[::-1])
    plan = {found.name: found.plan for found in skeletons([len(agent.observations) for agent in model.agents], 20)}[
        "window 1"
    ]
    return model, DenseArena(DenseSimulator(model), Clock(None)), plan


@pytest.mark.parametrize("actions", [(3,), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize("kind", list(hops.KINDS))
def test_every_kind_gives_a_team(actions, kind):
    model, arena, plan = setting(actions)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        result = hops.settle(arena, hops.KINDS[kind].hop(arena, plan, SMALL, rng), SMALL, rng)
        assert max(sizes(result)) <= 4
        assert team_of(result, model, False).nodes == sizes(result)
        assert pack(result, model).move.max() <= 4


def test_kinds_are_a_distribution():
    assert sum(kind.early for kind in hops.KINDS.values()) == pytest.approx(1.0)
    assert sum(kind.late for kind in hops.KINDS.values()) == pytest.approx(1.0)


def test_dropping_takes_one_node_away():
    _, arena, plan = setting((2, 3))
    smaller = hops.drop(arena, plan, SMALL, np.random.default_rng(0))
    assert sum(sizes(smaller)) == sum(sizes(plan)) - 1


def test_a_race_is_won_by_the_best():
    model = dp.load("dectiger")
    arena = DenseArena(DenseSimulator(model), Clock(None))
    plans = [constant(arena, [a, b]) for a in range(3) for b in range(3)]  # listen, listen is by far the best
    assert race(arena, plans[::-1], SMALL, 1) is plans[0]


def test_a_moment_that_pays_only_together_is_found():
    """Broadcast: always sending is worth 9.1; letting the other send once every ten steps is worth more than that."""
    model = dp.load("broadcast")
    arena = DenseArena(DenseSimulator(model), Clock(None))
    both = {found.name: found.plan for found in skeletons([2, 2], 20)}["clock 10"]
    send, wait = (next(a for a in range(2) if label in model.agents[0].actions[a]) for label in ("send", "wait"))
    plan = tuple(
        machine._replace(action=np.full_like(machine.action, action))
        for machine, action in zip(both, (send, wait), strict=True)
    )
    found = hops.rescheduled(arena, plan, 10, SMALL, np.random.default_rng(0))
    values = [dp.evaluate(team_of(each, model, False), model).value for each in (plan, found)]
    assert values[0] == pytest.approx(9.1)
    assert values[1] > 9.15
