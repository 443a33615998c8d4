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
    told = json.loads(json.dumps(replay_on_model(model, team, 3).told))
    assert told == json.loads(json.dumps(replay_on_model(model, team, 3).told))
    assert "moving" not in told
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
    replay = replay_on_model(model, dp.Team.uniform(model))
    told = replay.told["moving"]
    assert "states" not in replay.told
    assert [len(frames) for frames in told["frames"]] == [STEPS] * EPISODES
    for frame, words in zip(told["frames"][0], told["captions"][0], strict=True):
        state = int(words.removeprefix("state "))
        moved = [choices[frame[c]] for c, (_, what, choices) in enumerate(told["changes"]) if what == "move"]
        cells = [divmod(cell, 2) for cell in divmod(state, 4)]  # row, column of both robots
        beside = 19 if cells[0] == cells[1] else 0
        wanted = [(90 * c + 45 + s, 90 * r + 53) for (r, c), s in zip(cells, (-beside, beside), strict=True)]
        assert [tuple(place) for place in moved] == wanted


def test_recorded_episodes_the_best_first():
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller()] * 2)
    episodes = dp.simulate(model, team, 50, 9, seed=2)
    told = replay_of_episodes(episodes, team).told
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
