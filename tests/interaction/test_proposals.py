"""Joint moves of the Dec-SBPR loop: prior of a plan, comparison by the bound, held memories, inferred sizes."""

import itertools

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core.minimal import members_of, simplified
from decpomdp.core.run import Inputs, unlimited
from decpomdp.interaction.sbpr.iteration import Start
from decpomdp.interaction.sbpr.method import SbprLoopMethod
from decpomdp.interaction.sbpr.proposals import compared, log_prior, proposed
from decpomdp.interaction.sbpr.settings import SbprLoop, SbprTuning
from decpomdp.interaction.sbpr.starts import HELD, memories
from decpomdp.interaction.search.machines import Machine, constant, plan_of, sizes, split, team_of
from decpomdp.interaction.search.players import player_of
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.sizes import sizes_for
from decpomdp.learners import StickBreaking, prior_named
from decpomdp.learners.posterior import Counts
from decpomdp.rollouts import as_simulator

BRIEF = SbprTuning(random_episodes=1000, lengths=(3,), elites=4, generations=0, replays=1, pool=2, race=6, round=4)


@pytest.fixture
def player():
    return player_of(as_simulator(dp.load("dectiger")))


@pytest.mark.parametrize("prior", ["stick-breaking", "dp", "fixed:2"])
def test_the_prior_of_all_plans_sums_to_one(prior):
    agent = dp.Agent("x", ("a", "b"), ("o", "p"))
    total = 0.0
    for a, b, *moves in itertools.product((0, 1), (0, 1), *[(1, 2)] * 4):
        machine = Machine(np.array([0, a, b]), np.array([[1, 1, 1], [*moves[:2], 1], [*moves[2:], 1]]))
        total += np.exp(log_prior((machine,), (agent,), prior_named(prior)))
    assert total == pytest.approx(1)


def test_a_plan_and_its_team_are_the_same(player):
    rng = np.random.default_rng(0)
    plan = tuple(split(machine, {1}, 9) for machine in constant(player, (2, 0)))
    plan = proposed(player, plan, sizes_for(Search(), player.discount, 1e6), rng)
    for shown in (True, False):
        team = team_of(plan, player.simulator, shown)
        assert team_of(plan_of(team), player.simulator, shown) == team


def test_a_proposal_needs_a_higher_bound(player):
    few, listen = sizes_for(Search(), player.discount, 1e6), constant(player, (0, 0))
    larger = (Machine(np.array([0, 0, 0]), np.array([[1, 1, 1], [2, 2, 2], [1, 1, 1]])), listen[1])
    prior, opened = StickBreaking(), constant(player, (1, 1))
    assert compared(player, opened, listen, prior, few, 1e4, 1).accepted  # much better
    assert not compared(player, listen, opened, prior, few, 1e4, 1).accepted
    assert not compared(player, listen, larger, prior, few, 1e4, 1).accepted  # the same with more nodes
    smaller = compared(player, larger, listen, prior, few, 1e4, 1)
    assert smaller.accepted
    assert sizes(smaller.plan) == (1, 1)
    small_evidence = compared(player, opened, (larger[0], listen[1]), prior, few, 1e-6, 1)
    assert not small_evidence.accepted  # the prior decides


def test_the_moves_of_a_held_memory_stay():
    method = SbprLoopMethod(dp.load("dectiger"), SbprLoop(), Inputs(1, 1))
    method.player.begin(np.random.default_rng(1), 0, unlimited())
    team = next(iter(memories(method.player.simulator, 15, HELD)))
    for held in (True, False):
        begun = method.learner.begin(Start(team, 0.0, 1.0, held))
        after, _ = method.learner.iterate(begun, 50, drop=False)
        assert np.array_equal(after.counts[0].moves, begun.counts[0].moves) == held
        assert not np.array_equal(after.counts[0].visits, begun.counts[0].visits)


def test_inferred_sizes_are_those_of_the_team():
    fit = dp.learn("recycling", SbprLoop(tests=200, tuning=BRIEF), iterations=40, seed=1)
    assert fit.posterior.sizes == fit.team.nodes


def test_counts_of_equivalent_nodes_are_added():
    twice = dp.Controller.deterministic(actions=[0, 0, 1], moves=[[1, 1], [0, 0], [2, 2]], action_count=3)
    members = members_of(twice)
    np.testing.assert_array_equal(members, [[1.0], [1.0], [0.0]])
    counts = Counts(np.ones((2, 3)), np.ones((3, 3)), np.ones((3, 3, 2, 3))).grouped(members)
    assert counts.visits.tolist() == [[2.0] * 3]
    assert counts.moves.shape == (1, 3, 2, 1)
    assert (counts.moves == 4).all()
    assert simplified(dp.Team.of(dp.load("dectiger"), [twice, twice])).nodes == (1, 1)
