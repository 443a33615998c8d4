"""Smaller machines: the same play where nothing is lost, the least loss where something must go."""

import numpy as np

import decpomdp as dp
from decpomdp.engines.clock import Clock
from decpomdp.interaction.arena_dense import DenseArena
from decpomdp.interaction.search.changes import product
from decpomdp.interaction.search.machines import Machine, sizes, team_of
from decpomdp.interaction.search.memories import clock, window
from decpomdp.interaction.search.minimise import fold, fold_machine, shrink, without
from decpomdp.rollouts import DenseSimulator

TIGER = Machine(  # listen, listen, open if both sounds agreed, start again: six nodes, root first
    np.array([0, 0, 0, 0, 0, 2, 1]),
    np.array([[1, 1, 1], [2, 3, 1], [5, 4, 1], [4, 6, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]),
)


def tiger_arena():
    return DenseArena(DenseSimulator(dp.load("dectiger")), Clock(None))


def value(plan):
    model = dp.load("dectiger")
    return dp.exact_value(model, team_of(plan, model, False)).value


def test_the_example_is_what_it_says():
    assert round(value((TIGER, TIGER)), 3) == 13.449


def test_folding_takes_back_useless_memory():
    arena = tiger_arena()
    large = (product(TIGER, window(2), 100), product(TIGER, clock(2, 0), 100))
    assert min(sizes(large)) > 10
    small = fold(large, arena.visits(large, 2000, 30, 1))
    assert sizes(small) == (6, 6)
    assert abs(value(small) - value((TIGER, TIGER))) < 1e-9


def test_what_is_never_entered_goes():
    visits = np.zeros((3, 3), np.int64)
    visits[0, 2] = visits[1, 0] = visits[1, 1] = 5
    machine = Machine(np.array([0, 1, 2]), np.array([[2, 2, 1], [1, 1, 2], [2, 2, 2]]))
    folded = fold_machine(machine, visits)
    assert folded.action.tolist() == [0, 1]
    assert folded.move.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_edges_lead_to_the_replacement():
    shorter = without(TIGER, 4, 6)
    assert shorter.action.tolist() == [0, 0, 0, 0, 2, 1]
    assert shorter.move[2].tolist() == [4, 5, 1]
    assert shorter.move[3].tolist() == [5, 5, 1]


def test_shrinking_stops_at_the_cap_and_loses_little():
    arena = tiger_arena()
    large = (product(TIGER, window(2), 100), TIGER)
    small = shrink(arena, large, 6, 200, 30, 1)
    assert max(sizes(small)) <= 6
    assert value(small) > value((without(TIGER, 1, 2), TIGER))
