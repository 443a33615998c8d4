"""Episodes to step through."""

import json

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.report.replay import EPISODES, STEPS, replay_of_episodes, replay_on_model


def test_a_replay_on_a_model_is_what_the_team_may_do():
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller()] * 2)
    told = json.loads(json.dumps(replay_on_model(model, team, 3)))
    assert told == json.loads(json.dumps(replay_on_model(model, team, 3)))
    assert told["picture"] is None
    assert len(told["episodes"]) == EPISODES
    for episode in told["episodes"]:
        assert {len(column) for column in episode.values()} == {STEPS}
        for t, (state, actions) in enumerate(zip(episode["states"], episode["actions"], strict=True)):
            assert told["states"][str(state)] == model.states[state]
            assert episode["rewards"][t] == model.reward[3 * actions[0] + actions[1], state]
            assert all(controller().action[node, a] == 1 for node, a in zip(episode["nodes"][t], actions, strict=True))
        assert episode["seen"][0] == [-1, -1]


def test_a_drawn_problem_brings_its_drawings():
    model = dp.load("gridsmall")
    told = replay_on_model(model, dp.Team.uniform(model))
    assert set(told["picture"]["states"]) == set(told["states"])


def test_recorded_episodes_the_best_first():
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller()] * 2)
    episodes = dp.collect(model, team, 50, 9, seed=2)
    told = replay_of_episodes(episodes, team)
    returns = episodes.returns()
    assert [returns[e["number"]] for e in told["episodes"]] == pytest.approx(sorted(returns, reverse=True)[:EPISODES])
    first = told["episodes"][0]
    rows = slice(episodes.offsets[first["number"]], episodes.offsets[first["number"] + 1])
    assert np.array_equal(first["actions"], episodes.actions[rows])
    assert np.array_equal(first["seen"], episodes.observations[rows])
    assert all(
        controller().action[node, action] == 1  # it is this team's own record: the nodes found must have acted so
        for nodes, actions in zip(first["nodes"], first["actions"], strict=True)
        for node, action in zip(nodes, actions, strict=True)
    )
    assert "states" not in told
