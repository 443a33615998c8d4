"""Machines become controllers that do the same, with and without a first observation."""

import numpy as np
from oracles import making

from decpomdp.interaction.search.machines import Machine, pack, sizes, team_of

ONE = Machine(np.array([0, 1, 0]), np.array([[2, 1, 1, 2], [1, 2, 2, 1], [2, 2, 1, 1]]))
OTHER = Machine(np.array([0, 2]), np.array([[1, 1, 1], [1, 1, 1]]))


def problem():
    return making.model(np.random.default_rng(0), 2, (2, 3), (3, 2))


def test_a_controller_does_what_its_machine_does():
    team = team_of((ONE, OTHER), problem(), False)
    first, second = team.controllers
    assert team.nodes == sizes((ONE, OTHER)) == (2, 1)
    assert first.initial.tolist() == [0, 1]
    assert first.initial_given is None
    assert first.action.argmax(axis=1).tolist() == [1, 0]
    assert (first.transition.argmax(axis=-1) == np.array([[0, 1, 1], [1, 1, 0]])[:, None]).all()
    assert second.action.tolist() == [[0, 0, 1]]


def test_what_is_shown_first_chooses_the_first_node():
    first = team_of((ONE, OTHER), problem(), True).controllers[0]
    assert first.initial_given.argmax(axis=1).tolist() == [1, 0, 0]


def test_padding_keeps_the_last_column_for_nothing():
    packed = pack((ONE, OTHER), problem())
    assert packed.action.tolist() == [[0, 1, 0], [0, 2, 0]]
    assert packed.move[0].tolist() == ONE.move.tolist()
    assert packed.move[1, :2, [0, 1, -1]].T.tolist() == OTHER.move.tolist()
    assert packed.actions.tolist() == [2, 3]
