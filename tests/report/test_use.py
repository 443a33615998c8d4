"""Shares of time and of moves, beside the exact ones."""

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.report.use import SHORTEST, moves_of, played_steps, use_in_episodes, use_on_model, use_unknown


def exact_shares(model, team):
    """[n][i]: discounted shares of time, by walking the chain over (state, node, node)."""
    one, other = team.controllers
    here = np.einsum("s,i,j->sij", model.start, one.initial, other.initial)
    shares, weight, total = [np.zeros(one.nodes), np.zeros(other.nodes)], 1.0, 0.0
    actions, observations = model.action_table(), model.observation_table()
    for _ in range(played_steps(model.discount)):
        shares[0] += weight * here.sum(axis=(0, 2))
        shares[1] += weight * here.sum(axis=(0, 1))
        total += weight
        weight *= model.discount
        after = np.zeros_like(here)
        for u, (a, b) in enumerate(actions):
            acted = np.einsum("sij,i,j->sij", here, one.action[:, a], other.action[:, b])
            moved = np.einsum("sij,st->tij", acted, model.transition[u])
            for y, (o, p) in enumerate(observations):
                seen = moved * model.observation[u, :, y][:, None, None]
                after += np.einsum("tij,ik,jl->tkl", seen, one.transition[:, a, o], other.transition[:, b, p])
        here = after
    return [share / total for share in shares]


def test_shares_on_a_model_are_about_the_exact_ones():
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller()] * 2)
    for use, exact in zip(use_on_model(model, team, seed=5, episodes=4000), exact_shares(model, team), strict=True):
        assert use.nodes.sum() == pytest.approx(1)
        assert use.nodes == pytest.approx(exact, abs=0.01)  # a share of time over 4000 episodes: errors below 0.003
        assert use.moves.sum(axis=(1, 2)) == pytest.approx(use.nodes)


def test_only_moves_that_can_happen_are_counted():
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller()] * 2)
    for use in use_on_model(model, team):
        assert not np.any(use.moves[moves_of(controller()) == 0])


def test_recorded_episodes_of_the_team_itself_say_the_same():
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller()] * 2)
    episodes = dp.simulate(model, team, 1000, played_steps(0.9), seed=4)
    for use, exact in zip(use_in_episodes(episodes, team), exact_shares(model, team), strict=True):
        assert use.nodes == pytest.approx(exact, abs=0.02)
        assert not np.any(use.moves[moves_of(controller()) == 0])


def test_without_episodes_shares_are_not_known():
    use = use_unknown(dp.Team.uniform(dp.load("dectiger")))[0]
    assert use.nodes is None
    assert use.moves.sum() == pytest.approx(1)


@pytest.mark.parametrize(("discount", "steps"), [(0.0, SHORTEST), (0.5, SHORTEST), (0.9, 66), (0.99, 200), (1.0, 200)])
def test_horizons(discount, steps):
    assert played_steps(discount) == steps
