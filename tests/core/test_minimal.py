"""The smallest controller with the same behaviour: nodes gone, value unchanged."""

import numpy as np
import pytest
from oracles import making

import decpomdp as dp
from decpomdp.core import Controller, Team
from decpomdp.core.minimal import minimal_controller, minimised, simplified


def blown_up(rng, controller, copies):
    """Every node several times over, visited at random; and a node that nobody reaches."""
    z = controller.nodes
    share = rng.dirichlet(np.ones(copies), size=(z * copies, controller.actions, controller.observations, z))
    origin = np.repeat(np.arange(z), copies)
    moves = controller.transition[origin][..., None] * share  # [i, a, o, j, copy]
    nodes = z * copies
    moves = moves.reshape(nodes, controller.actions, controller.observations, nodes)
    initial = (controller.initial[:, None] * rng.dirichlet(np.ones(copies), size=z)).ravel()
    padded = np.pad(moves, ((0, 1), (0, 0), (0, 0), (0, 1)))
    padded[-1, :, :, 0] = 1.0
    action = np.vstack([controller.action[origin], np.full(controller.actions, 1 / controller.actions)])
    return Controller(np.append(initial, 0.0), action, padded)


def test_copies_are_merged_and_the_value_stays():
    for sparse in [False, True]:
        for problem in ["dectiger", "broadcast", "recycling"]:
            rng = np.random.default_rng(1)
            model = dp.load(problem)
            small = making.team(rng, model, (2, 3), sparse)
            large = Team.of(model, [blown_up(rng, controller, 3) for controller in small.controllers])
            assert large.nodes == (7, 10)
            found = minimised(large)
            assert all(n <= m for n, m in zip(found.nodes, small.nodes, strict=True))
            assert dp.evaluate(found, model).value == pytest.approx(dp.evaluate(large, model).value, abs=1e-8)
            assert dp.evaluate(found, model).value == pytest.approx(dp.evaluate(small, model).value, abs=1e-8)


def test_different_nodes_are_not_merged():
    clock = Controller.deterministic([0, 0, 1], [[1], [2], [0]], 2)  # twice a, then b: all three differ
    assert minimal_controller(clock).nodes == 3
    idle = Controller.deterministic([0, 0, 0], [[1], [2], [0]], 2)
    assert minimal_controller(idle).nodes == 1


def test_what_never_happens_keeps_no_nodes():
    """Node 1 is reached only after action b, which node 0 never takes."""
    moves = np.zeros((2, 2, 1, 2))
    moves[:, 0, :, 0] = moves[:, 1, :, 1] = 1.0
    controller = Controller([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], moves)
    assert minimal_controller(controller).nodes == 1


def test_starts_given_an_observation_stay_reachable():
    controller = Controller(
        [1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], np.eye(2)[[0, 1]][:, None, None].repeat(2, 1), [[0.0, 1.0]]
    )
    found = minimal_controller(controller)
    assert found.nodes == 2
    assert found.initial_given.tolist() == [[0.0, 1.0]]


def test_a_rare_move_is_a_difference():
    """Node 0 may move on to the node that earns; node 2, which does the same, may not."""
    for rare in [4e-13, 1e-200]:
        for start in [[0.5, 0, 0.5], [0.4, 0, 0.6]]:
            moves = np.zeros((3, 2, 1, 3))
            moves[0, :, 0] = [1 - rare, rare, 0]
            moves[1, :, 0, 0] = moves[2, :, 0, 2] = 1.0
            controller = Controller(start, [[1, 0], [0, 1], [1, 0]], moves)
            assert minimal_controller(controller).nodes == 3


def test_rare_actions_and_rare_moves_of_other_sizes_differ():
    moves = np.ones((2, 2, 1, 2)) / 2
    assert minimal_controller(Controller([0.5, 0.5], [[1, 4e-13], [1, 0]], moves)).nodes == 2
    assert minimal_controller(Controller([0.5, 0.5], [[1, 1e-100], [1, 2e-100]], moves)).nodes == 2
    assert minimal_controller(Controller([0.5, 0.5], [[1, 1e-100], [1, 1e-100 * (1 + 1e-15)]], moves)).nodes == 1
    assert minimal_controller(Controller([0.5, 0.5], [[0.3, 0.7], [0.3 + 5e-17, 0.7]], moves)).nodes == 1


def test_what_learners_leave_over_does_not_keep_learned_nodes_apart():
    moves = np.zeros((2, 3, 2, 2))
    moves[0, ..., 0], moves[1, ..., 1] = 1.0, 1.0
    learned = Team.of(dp.load("dectiger"), [Controller([0.5, 0.5], [[1, 1e-50, 0], [1, 1e-20, 0]], moves)] * 2)
    assert simplified(learned).nodes == (1, 1)
    assert minimised(learned).nodes == (2, 2)
