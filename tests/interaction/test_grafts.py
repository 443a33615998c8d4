"""Chains and grafts do what their episode did, and otherwise what was done before."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.engines.clock import Clock
from decpomdp.interaction.arena_dense import DenseArena
from decpomdp.interaction.search import grafts
from decpomdp.interaction.search.machines import Machine, constant
from decpomdp.kernels.machines import Played, Window
from decpomdp.rollouts import DenseSimulator


def one_episode(seen, actions, nodes):
    as_played = [np.array(field, np.int16)[None, :, None] for field in (seen, actions, nodes)]
    return Played(*as_played, np.zeros((1, len(seen))), np.array([len(seen)]))


MACHINE = Machine(np.array([0, 0, 1]), np.array([[1, 1, 1], [2, 1, 1], [1, 2, 1]]))


def test_a_side_path_follows_the_episode_while_observations_agree():
    # the machine would do 0 1 0 0; the episode did 0 2 2 0
    played = one_episode([-1, 0, 0, 1], [0, 2, 2, 0], [1, 2, 1, 1])
    (grown,) = grafts.graft((MACHINE,), played, 0, Window(1, 3, np.ones(1)))
    assert grown.action.tolist() == [0, 0, 1, 2, 2]
    assert grown.move[1].tolist()[:2] == [3, 1]  # entered where the episode left the machine's way
    assert grown.move[3].tolist()[:2] == [4, 2]  # on 0 along the episode, on 1 as node 2 would
    assert grown.move[4].tolist()[:2] == [2, 1]  # at its end as node 1 would
    assert np.array_equal(grown.move[2], MACHINE.move[2])


def test_a_side_path_may_begin_at_the_start():
    played = one_episode([-1, 0], [2, 1], [1, 2])
    (grown,) = grafts.graft((MACHINE,), played, 0, Window(0, 2, np.ones(1)))
    assert grown.move[0].tolist() == [1, 1, 3]
    assert grown.action.tolist() == [0, 0, 1, 2]


def test_a_side_path_for_once_begins_at_the_start_and_is_never_entered_again():
    played = one_episode([-1, 0, 0, 1], [0, 2, 1, 0], [1, 2, 1, 1])
    (grown,) = grafts.graft((MACHINE,), played, 0, Window(1, 3, np.ones(1)), once=True)
    assert grown.action.tolist() == [0, 0, 1, 0, 2, 1]
    assert grown.move[0].tolist() == [1, 1, 3]
    assert grown.move[3:, 0].tolist() == [4, 5, 2]
    assert grown.move[:3].tolist() == [[1, 1, 3], *MACHINE.move[1:].tolist()]


def test_a_first_observation_chooses_the_side_path():
    played = one_episode([1, 0], [2, 1], [1, 2])
    (grown,) = grafts.graft((MACHINE,), played, 0, Window(0, 2, np.ones(1)))
    assert grown.move[0].tolist() == [1, 3, 1]


def test_who_did_as_before_is_left_alone():
    played = one_episode([-1, 0], [0, 1], [1, 2])
    assert grafts.graft((MACHINE,), played, 0, Window(0, 2, np.ones(1)))[0] is MACHINE


def test_a_chain_repeats_the_best_episode():
    arena = DenseArena(DenseSimulator(dp.load("boxpushing")), Clock(None))
    plan = grafts.chain(arena, 3, 20_000, seed=1)
    for machine in plan:
        assert machine.nodes == 3
        assert machine.move[:, 0].tolist() == [1, 2, 3, 1]
    best = arena.elites(constant(arena), Window(0, 3, np.ones(2)), 20_000, 3, 1, 1)
    assert [machine.action[1:].tolist() for machine in plan] == best.actions[0].T.tolist()
    everything = arena.returns(constant(arena), 20_000, 3, 1, window=Window(0, 3, np.ones(2)))
    assert best.rewards[0] @ 0.9 ** np.arange(3) == pytest.approx(everything.max())


@pytest.mark.parametrize("agents", [1, 2, 4])
def test_stretches_are_short_and_somebody_explores(agents):
    rng = np.random.default_rng(agents)
    stretches = [grafts.stretch(rng, agents, 6, 0.9, 44) for _ in range(300)]
    assert all(0 <= s.begin < s.end <= s.begin + 6 and s.begin < 22 for s in stretches)
    assert all((s.rates > 0).any() for s in stretches)
    assert any((s.rates == 0).any() for s in stretches) == (agents > 1)
    assert grafts.stretch(rng, agents, 6, 0.0, 1).end == 1
