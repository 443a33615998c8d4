"""Playing on simulators with everything on record."""

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core import NO_OBSERVATION
from decpomdp.domains.traffic import Traffic
from decpomdp.report.replay import replay_on_simulator
from decpomdp.report.use import use_in
from decpomdp.report.watching import play_quickly, watch
from report.making import Countdown


def test_what_is_watched_is_what_was_played():
    grid = Traffic(3)
    team = grid.policies()["heuristic"]
    watched = watch(grid, team, 3, 12, seed=5)
    played = watched.played
    assert played.lengths.tolist() == [12, 12, 12]
    for k in range(3):
        assert len(watched.scenes[k]) == 12
        for t, scene in enumerate(watched.scenes[k]):
            assert scene.green == tuple(played.actions[k, t].tolist())
            loads = np.array(scene.waiting)
            compared = np.sign(loads[:3, None] - loads[None, 3:]).ravel() + 1  # shorter, equal, longer
            assert played.observations[k, t].tolist() == compared.tolist()
            assert played.nodes[k, t].tolist() == played.actions[k, t].tolist()  # the rule's nodes are its actions
    again = watch(grid, team, 3, 12, seed=5)
    assert again.scenes == watched.scenes
    assert watch(grid, team, 1, 12, seed=5).scenes == watched.scenes[:1]


def test_episodes_may_end_and_nothing_need_be_drawn():
    team = dp.Team.uniform(Countdown())
    watched = watch(Countdown(), team, 8, 4, seed=1)
    assert watched.streets is None
    lengths = watched.played.lengths
    assert len(set(lengths.tolist())) > 1
    assert lengths.max() <= 4
    assert all(watched.played.rewards[k].sum() == length for k, length in enumerate(lengths))
    replay = replay_on_simulator(Countdown(), watched.first(2, 3), team)
    assert replay.film is None
    assert [len(one["rewards"]) for one in replay.told["episodes"]] == np.minimum(lengths[:2], 3).tolist()
    assert all(seen >= 0 for one in replay.told["episodes"] for row in one["seen"] for seen in row)


@pytest.mark.parametrize("quickly", [True, False])
def test_shares_are_shares(quickly):
    grid = Traffic(2)
    team = grid.policies()["heuristic"]
    played = play_quickly(grid, team, 50, 30, 1) if quickly else watch(grid, team, 50, 30, 1).played
    assert not np.any(played.observations == NO_OBSERVATION)
    for n, use in enumerate(use_in(played, team, grid.discount)):
        assert use.nodes.sum() == pytest.approx(1)
        assert use.moves.sum() == pytest.approx(1)
        weights = np.tile(grid.discount ** np.arange(29), (50, 1))
        share = weights[played.nodes[:, :-1, n] == 0].sum() / weights.sum()
        assert use.nodes[0] == pytest.approx(share)


def test_one_step_says_nothing_about_moves():
    class Short(Countdown):
        def reset(self, episodes, seed):
            return super().reset(episodes, 3)  # five steps; cut after one

    team = dp.Team.uniform(Short())
    uses = use_in(watch(Short(), team, 2, 1, 0).played, team, 0.5)
    assert all(use.nodes is None for use in uses)
