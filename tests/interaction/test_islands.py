"""Whose turn it is: challengers come, are given a chance, and make way."""

import numpy as np
import pytest

from decpomdp.interaction.search.islands import LAST, PATIENCE, STUCK, Island, Islands, chosen
from decpomdp.interaction.search.machines import Machine
from decpomdp.interaction.search.trial import ReturnSums, TrialResult


def island(score, nodes=1, idle=0):
    return Island((Machine(np.zeros(nodes + 1, int), np.ones((nodes + 1, 2), int)),), score, ReturnSums(), idle)


def test_islands_are_the_best_of_every_size():
    found = [island(5.0, 8), island(9.0, 12), island(8.0, 10), island(7.0, 5), island(1.0, 2), island(9.0, 11)]
    assert [(i.score, i.plan[0].nodes) for i in chosen(found, 3)] == [(9.0, 11), (7.0, 5), (1.0, 2)]
    assert [i.score for i in chosen(found, 5)] == [9.0, 7.0, 1.0, 8.0, 5.0]


def young(*islands, count=3):
    group = Islands(islands[:1], 0, count, 0.4)
    group.all = list(islands)
    return group


def test_all_take_turns_at_first_and_fresh_starts_fill_the_gaps():
    group = young(island(3.0), island(2.0), island(1.0))
    assert group.turns(4, 0.1) == [0, 1, 2, 0]
    assert group.turns(4, 0.1) == [1, 2, 0, 1]
    lonely = young(island(3.0))
    assert lonely.turns(4, 0.1) == [0, None, None, 0]


def test_who_is_behind_and_idle_makes_way_but_never_the_best():
    group = young(island(3.0, idle=PATIENCE), island(2.0, idle=PATIENCE), island(1.0, idle=PATIENCE - 1))
    group.turns(4, 0.1)
    assert [each.score for each in group.all] == [3.0, 1.0]


def test_later_the_challenger_gets_one_turn_in_four_or_two_when_the_best_is_stuck():
    assert young(island(3.0), island(2.0), island(1.0)).turns(8, 0.5) == [0, 0, 0, 1] * 2
    assert young(island(3.0, idle=STUCK), island(2.0)).turns(8, 0.5) == [0, 0, 1, 1] * 2
    assert young(island(3.0, idle=STUCK)).turns(4, 0.5) == [0, 0, None, None]
    assert young(island(3.0, idle=STUCK), island(2.0)).turns(4, LAST + 0.01) == [0] * 4


def met(accepted, gain):
    """A group of which the second seems better than the first, and what became of it when they had met."""
    group = young(island(1.0))
    group.add(island(0.5))
    group.add(island(2.0))
    group.add(island(2.0, nodes=3))  # a copy
    assert group.rival is group.all[1]
    old, new = ReturnSums.of(np.array([1.0, 3.0])), ReturnSums.of(np.array([2.0, 6.0]))
    group.resolve(TrialResult(accepted, gain, 0.1, old, new))
    return group


def test_a_rival_that_wins_comes_first():
    group = met(True, 0.3)
    assert [each.score for each in group.all] == [2.0, 1.0, 0.5]
    assert [each.tally.mean for each in group.all[:2]] == [4.0, 2.0]


@pytest.mark.parametrize(("gain", "score"), [(-0.3, 0.7), (0.05, 1.0)])
def test_a_rival_that_does_not_win_loses_its_luck(gain, score):
    group = met(False, gain)
    assert [each.score for each in group.all] == pytest.approx([1.0, score, 0.5])
    assert group.rival is None
