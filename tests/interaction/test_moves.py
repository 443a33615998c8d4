"""Hops of every kind give plans that can be played and fit the cap; races find the best; folding loses little."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.interaction.search import moves
from decpomdp.interaction.search.machines import Machine, clock, constant, pack, product, sizes, team_of, window
from decpomdp.interaction.search.moves import (
    exploration_window,
    fold,
    fold_machine,
    mutate_entry,
    race,
    shrink,
    with_side_paths,
    without,
)
from decpomdp.interaction.search.players import DensePlayer
from decpomdp.interaction.search.settings import Search
from decpomdp.interaction.search.sizes import sizes_for
from decpomdp.interaction.search.starts import skeletons
from decpomdp.kernels.machines import PlayedBatch, RandomWindow
from decpomdp.rollouts import DenseSimulator

SMALL = sizes_for(Search(max_nodes=4), 0.9, 1e6)


def setting(actions):
    model = making.model(np.random.default_rng(1), 3, actions, actions[::-1])
    plan = {found.name: found.plan for found in skeletons([len(agent.observations) for agent in model.agents], 20)}[
        "window 1"
    ]
    return model, DensePlayer(DenseSimulator(model)), plan


@pytest.mark.parametrize("actions", [(3,), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize("kind", list(moves.KINDS))
def test_every_kind_gives_a_team(actions, kind):
    model, player, plan = setting(actions)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        result = moves.settle(player, moves.KINDS[kind].hop(player, plan, SMALL, rng), SMALL, rng)
        assert max(sizes(result)) <= 4
        assert team_of(result, model, False).nodes == sizes(result)
        assert pack(result, model).move.max() <= 4


def test_a_race_is_won_by_the_best():
    model = dp.load("dectiger")
    player = DensePlayer(DenseSimulator(model))
    plans = [constant(player, [a, b]) for a in range(3) for b in range(3)]  # listen, listen is by far the best
    assert race(player, plans[::-1], SMALL, 1) is plans[0]


def test_a_moment_that_pays_only_together_is_found():
    """Broadcast: always sending is worth 9.1; letting the other send once every ten steps is worth more than that."""
    model = dp.load("broadcast")
    player = DensePlayer(DenseSimulator(model))
    both = {found.name: found.plan for found in skeletons([2, 2], 20)}["clock 10"]
    send, wait = (next(a for a in range(2) if label in model.agents[0].actions[a]) for label in ("send", "wait"))
    plan = tuple(
        machine._replace(action=np.full_like(machine.action, action))
        for machine, action in zip(both, (send, wait), strict=True)
    )
    found = moves.rescheduled(player, plan, 10, SMALL, np.random.default_rng(0))
    values = [dp.evaluate(team_of(each, model, False), model).value for each in (plan, found)]
    assert values[0] == pytest.approx(9.1)
    assert values[1] > 9.15


def test_mutants_differ_in_one_entry_and_stay_closed():
    rng = np.random.default_rng(3)
    machine = Machine(rng.integers(3, size=5), rng.integers(1, 5, (5, 4)))
    kinds = set()
    for _ in range(300):
        mutant = mutate_entry(machine, 3, rng)
        assert mutant.move.min() >= 1
        assert mutant.move.max() <= mutant.nodes
        grown = mutant.nodes - machine.nodes
        differing = (mutant.action[:5] != machine.action).sum(), (mutant.move[:5] != machine.move).sum()
        assert sum(differing) <= 1
        kinds.add((grown, *(int(d) for d in differing)))
    assert kinds >= {(0, 1, 0), (0, 0, 1), (1, 0, 1)}


def one_episode(seen, actions, nodes):
    as_played = [np.array(field, np.int16)[None, :, None] for field in (seen, actions, nodes)]
    return PlayedBatch(*as_played, np.zeros((1, len(seen))), np.array([len(seen)]))


MACHINE = Machine(np.array([0, 0, 1]), np.array([[1, 1, 1], [2, 1, 1], [1, 2, 1]]))


def test_a_side_path_follows_the_episode_while_observations_agree():
    # the machine would do 0 1 0 0; the episode did 0 2 2 0
    played = one_episode([-1, 0, 0, 1], [0, 2, 2, 0], [1, 2, 1, 1])
    (grown,) = with_side_paths((MACHINE,), played, 0, RandomWindow(1, 3, np.ones(1)))
    assert grown.action.tolist() == [0, 0, 1, 2, 2]
    assert grown.move[1].tolist()[:2] == [3, 1]  # entered where the episode left the machine's way
    assert grown.move[3].tolist()[:2] == [4, 2]  # on 0 along the episode, on 1 as node 2 would
    assert grown.move[4].tolist()[:2] == [2, 1]  # at its end as node 1 would
    assert np.array_equal(grown.move[2], MACHINE.move[2])


def test_a_side_path_may_begin_at_the_start():
    played = one_episode([-1, 0], [2, 1], [1, 2])
    (grown,) = with_side_paths((MACHINE,), played, 0, RandomWindow(0, 2, np.ones(1)))
    assert grown.move[0].tolist() == [1, 1, 3]
    assert grown.action.tolist() == [0, 0, 1, 2]


def test_a_side_path_for_once_begins_at_the_start_and_is_never_entered_again():
    played = one_episode([-1, 0, 0, 1], [0, 2, 1, 0], [1, 2, 1, 1])
    (grown,) = with_side_paths((MACHINE,), played, 0, RandomWindow(1, 3, np.ones(1)), once=True)
    assert grown.action.tolist() == [0, 0, 1, 0, 2, 1]
    assert grown.move[0].tolist() == [1, 1, 3]
    assert grown.move[3:, 0].tolist() == [4, 5, 2]
    assert grown.move[:3].tolist() == [[1, 1, 3], *MACHINE.move[1:].tolist()]


@pytest.mark.parametrize("agents", [1, 2, 4])
def test_stretches_are_short_and_somebody_explores(agents):
    rng = np.random.default_rng(agents)
    stretches = [exploration_window(rng, agents, 6, 0.9, 44) for _ in range(300)]
    assert all(0 <= s.begin < s.end <= s.begin + 6 and s.begin < 22 for s in stretches)
    assert all((s.rates > 0).any() for s in stretches)
    assert any((s.rates == 0).any() for s in stretches) == (agents > 1)
    assert exploration_window(rng, agents, 6, 0.0, 1).end == 1


TIGER = Machine(  # listen, listen, open if both sounds agreed, start again: six nodes, root first
    np.array([0, 0, 0, 0, 0, 2, 1]),
    np.array([[1, 1, 1], [2, 3, 1], [5, 4, 1], [4, 6, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]),
)


def tiger_player():
    return DensePlayer(DenseSimulator(dp.load("dectiger")))


def value(plan):
    model = dp.load("dectiger")
    return dp.exact_value(model, team_of(plan, model, False)).value


def test_folding_takes_back_useless_memory():
    player = tiger_player()
    large = (product(TIGER, window(2), 100), product(TIGER, clock(2, 0), 100))
    assert min(sizes(large)) > 10
    small = fold(large, player.visits(large, 2000, 30, 1))
    assert sizes(small) == (6, 6)
    assert abs(value(small) - value((TIGER, TIGER))) < 1e-9


def test_what_is_never_entered_goes():
    visits = np.zeros((3, 3), np.int64)
    visits[0, 2] = visits[1, 0] = visits[1, 1] = 5
    machine = Machine(np.array([0, 1, 2]), np.array([[2, 2, 1], [1, 1, 2], [2, 2, 2]]))
    folded = fold_machine(machine, visits)
    assert folded.action.tolist() == [0, 1]
    assert folded.move.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_shrinking_stops_at_the_cap_and_loses_little():
    player = tiger_player()
    large = (product(TIGER, window(2), 100), TIGER)
    small = shrink(player, large, 6, 200, 30, 1)
    assert max(sizes(small)) <= 6
    assert value(small) > value((without(TIGER, 1, 2), TIGER))
