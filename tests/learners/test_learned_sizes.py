"""The size that is learned is the one that the data support, whatever the truncation, the prior and the beginning."""

import dataclasses
import functools

import numpy as np
import pytest
from learners.logged import alternating, fitted

import decpomdp as dp
from decpomdp.core import Controller, Team
from decpomdp.filtering.filter import lay_out
from decpomdp.learners import StickBreaking
from decpomdp.learners.posterior import updated
from decpomdp.learners.start import soft_counts, softened
from decpomdp.learners.sweep import Task, count, evaluate, update
from decpomdp.learners.weighing import by_utility


@pytest.mark.parametrize(
    ("prior", "truncation"), [("stick-breaking", 3), ("stick-breaking", 20), ("dp", 12), (StickBreaking(sigma=0.5), 12)]
)
def test_two_nodes_from_random_actions(prior, truncation):
    """Rewarded is a, b, a, b."""
    fit = fitted(alternating(), prior, settings={"truncation": truncation, "judge": False})
    assert fit.posterior.sizes == fit.team.nodes == (2,)
    assert fit.team.controllers[0].action.argmax(axis=1).tolist() == [0, 1]


def counting(nodes, actions):
    """One agent that counts 1s modulo `nodes` and acts by its count, with 5 % noise; rewarded for not failing."""
    model = dp.from_rules(
        states=range(2 * nodes),  # twice the count, and the bit that was seen last
        actions=tuple("abcdef"[:actions]),
        observations=("0", "1"),
        agents=1,
        start=0,
        transition=lambda state: {2 * (state // 2), 2 * ((state // 2 + 1) % nodes) + 1},
        observation=lambda agent, next_state: str(next_state % 2),
        reward=lambda state, action: action == "abcdef"[state // 2 % actions],
    )
    moves = [[node, (node + 1) % nodes] for node in range(nodes)]
    right = Team.of(model, [Controller.deterministic([node % actions for node in range(nodes)], moves, actions)])
    return right, dp.simulate(model, right.exploring(0.05), 300, 12, seed=1)


@pytest.mark.parametrize(("nodes", "actions"), [(1, 2), (3, 2), (5, 3)])
def test_the_size_of_the_behaviour_is_found(nodes, actions):
    right, data = counting(nodes, actions)
    fit = fitted(data)
    assert fit.posterior.sizes == fit.team.nodes == right.nodes
    assert fit.facts["verdict"] != "cloned behaviour"


def test_more_nodes_than_the_data_support_are_not_kept():
    """What is earned does not depend on memory."""
    did = np.random.default_rng(1).integers(0, 2, 2000)
    episodes = dataclasses.replace(alternating(), actions=did[:, None], rewards=(did == 0).astype(float))
    assert fitted(episodes).posterior.sizes == (1,)


def test_a_lost_move_comes_back_from_open_choices_only():
    """Sweeps cannot leave an optimum in which a move has no counts; hence the sweeps over all episodes begin open."""
    right, data = counting(3, 3)
    moves = right.controllers[0].transition.copy()
    moves[1, 1, 1] = [1, 0, 0]  # instead of node 2
    lost = soft_counts(dataclasses.replace(right.controllers[0], transition=moves), softness=0.0)
    task = Task(lay_out(data, 3), by_utility(data, None, np.ones(data.count)), data.count, 0.0, 1)
    (agent,), bounds, targets = data.agents, [], []
    for counts in (lost, softened(lost)):
        now = evaluate(task, (updated(agent, StickBreaking().priors(agent), counts),))
        for _ in range(30):
            now = evaluate(task, update(now, count(task, now)))
        bounds.append(now.bound)
        targets.append(int(now.posterior[0].counts.moves[1, 1, 1].argmax()))
    assert targets == [0, 2]
    assert bounds[1] > bounds[0] + 100


@functools.cache
def tiger():
    from dectiger_horizon3 import controller

    return Team.of(dp.load("dectiger"), [controller()] * 2)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_six_nodes_of_the_tiger_team_from_noisy_episodes(seed):
    """The optimal team of Dec-Tiger, with 10 % noise worth -67: recovered from 300 episodes."""
    episodes = dp.simulate("dectiger", tiger().exploring(0.1), 300, 20, seed=seed)
    fit = dp.learn(episodes, "sbpr", seed=seed)
    assert fit.team.nodes == (6, 6)
    assert dp.evaluate(fit.team, "dectiger").value == pytest.approx(13.4486, abs=1e-3)
    assert fit.facts["verdict"] == "better than the behaviour"
