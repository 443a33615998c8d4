"""Shares of time and of moves beside exact ones; episodes with states, scenes and nodes."""

import dataclasses
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from dectiger_horizon3 import controller

import decpomdp as dp
from decpomdp.core import NO_OBSERVATION
from decpomdp.domains.traffic import Traffic
from decpomdp.report.page import page
from decpomdp.report.performance import (
    ShownRun,
    best_recorded,
    filtered,
    moves_of,
    played_steps,
    stored,
    use_in,
    watch,
)
from decpomdp.report.replay import replay_from
from decpomdp.rollouts import DenseSimulator
from report.making import kept
from simulators import Uncompiled


def tigers():
    model = dp.load("dectiger")
    return model, dp.Team.of(model, [controller()] * 2)


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
    model, team = tigers()
    played = watch(DenseSimulator(model), team, 4000, played_steps(0.9), seed=5)
    for use, exact in zip(use_in(played.episodes, team, played.nodes), exact_shares(model, team), strict=True):
        assert use.nodes.sum() == pytest.approx(1)
        assert use.nodes == pytest.approx(exact, abs=0.01)  # a share of time over 4000 episodes: errors below 0.003
        assert use.moves.sum(axis=(1, 2)) == pytest.approx(use.nodes, abs=0.001)  # the last step is not left
        assert not np.any(use.moves[moves_of(controller()) == 0])


def test_recorded_episodes_of_the_team_itself_say_the_same():
    model, team = tigers()
    episodes = dp.simulate(model, team, 1000, played_steps(0.9), seed=4)
    for use, exact in zip(use_in(episodes, team), exact_shares(model, team), strict=True):
        assert use.nodes == pytest.approx(exact, abs=0.02)
        assert not np.any(use.moves[moves_of(controller()) == 0])


def test_states_fit_the_rewards_and_the_episodes_are_those_of_simulate():
    model, team = tigers()
    watched = watch(DenseSimulator(model), team, 5, 12, seed=1)
    joint = watched.episodes.actions.astype(int) @ [3, 1]
    states = np.array(watched.moments).ravel()
    assert np.array_equal(watched.episodes.rewards, model.reward[joint, states])
    assert np.array_equal(watched.episodes.actions, dp.simulate(model, team, 5, 12, seed=1).actions)


def test_streets_are_watched_as_they_were_played():
    grid = Traffic(3)
    team = grid.policies()["heuristic"]
    watched = watch(grid, team, 3, 12, seed=5, scenes=True)
    assert watched.episodes.lengths.tolist() == [12, 12, 12]
    actions, seen = watched.episodes.actions.reshape(3, 12, 9), watched.episodes.observations.reshape(3, 12, 9)
    for k, t in product(range(3), range(12)):
        scene = watched.moments[k][t]
        assert scene.green == tuple(actions[k, t].tolist())
        loads = np.array(scene.waiting)
        compared = np.sign(loads[:3, None] - loads[None, 3:]).ravel() + 1  # shorter, equal, longer
        assert seen[k, t].tolist() == compared.tolist()
    assert watch(grid, team, 1, 12, seed=5, scenes=True).moments == watched.moments[:1]


def test_the_shares_of_a_simulator_rest_on_what_it_can_play(tmp_path, monkeypatch):
    run = kept(tmp_path / "run", *tigers())
    fast = ShownRun(run, Uncompiled()).performance
    assert "from 1000 episodes" in fast.source
    assert fast.replay.episodes.count == 5
    monkeypatch.setattr("decpomdp.report.performance.SHARE_SECONDS", 0.01)
    slow = ShownRun(run, Uncompiled(pause=0.0005, piece=1)).performance
    assert "from 2 episodes" in slow.source
    assert slow.replay.episodes.count == 2


def test_filtering_by_enumeration():
    """Over episodes of different lengths; a record of the controller's own actions."""
    rng = np.random.default_rng(2)
    made = dp.Controller(
        rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), (3, 2, 2)), None
    )
    seen, done = [NO_OBSERVATION, 1, 0, 1, NO_OBSERVATION, 0], [0, 1, 1, 0, 1, 0]
    episodes = dp.Episodes(
        agents=(dp.Agent("x", ("a", "b"), ("o", "p")),), offsets=np.array([0, 4, 6]), discount=0.9,
        observations=np.array(seen)[:, None], actions=np.array(done)[:, None], rewards=np.zeros(6),
        behaviour=np.full((6, 1), 0.5),
    )  # fmt: skip
    found = filtered(made, episodes, 0)
    for first, t in [(0, 0), (0, 1), (0, 2), (0, 3), (4, 0), (4, 1)]:
        weights = np.zeros(3)
        for path in product(range(3), repeat=t + 1):
            weight = made.initial[path[0]] * made.action[path[0], done[first]]
            for s in range(1, t + 1):
                weight *= made.transition[path[s - 1], done[first + s - 1], seen[first + s], path[s]]
                weight *= made.action[path[s], done[first + s]]
            weights[path[-1]] += weight
        assert found[first + t] == pytest.approx(weights / weights.sum())


def test_a_plan_for_few_steps_is_played_for_these_steps(tmp_path):
    run = kept(tmp_path / "run", *tigers(), horizon=3)
    replayed = stored(ShownRun(run, tigers()[0]))
    assert replayed.replay.episodes.lengths.tolist() == [3] * 5
    assert sum(replayed.uses[0].nodes > 0) <= 6
    assert "best known" not in (tmp_path / "run/report.html").read_text()


def test_the_best_recorded_episodes_come_first():
    model, team = tigers()
    episodes = dp.simulate(model, team, 60, 8, seed=2)
    chosen = best_recorded(episodes, team)
    assert list(chosen.numbers) == np.argsort(-episodes.returns(), kind="stable")[:5].tolist()
    told = replay_from(chosen, team, episodes).content
    assert [one["number"] for one in told["episodes"]] == list(chosen.numbers)
    for one in told["episodes"]:
        for nodes, actions in zip(one["nodes"], one["actions"], strict=True):
            assert all(controller().action[i, a] == 1 for i, a in zip(nodes, actions, strict=True))
    assert "states" not in told


def test_a_page_is_made_again_without_playing(tmp_path, monkeypatch):
    model, team = tigers()
    run = kept(tmp_path / "run", model, team)
    made = (tmp_path / "run/report.html").read_text()
    assert stored(ShownRun(run, model)) is not None
    with monkeypatch.context() as patched:
        patched.setattr("decpomdp.rollouts.record", None)
        assert page([ShownRun(run, model)]) == made
    other = dataclasses.replace(run, team=dp.Team.uniform(model))
    assert stored(ShownRun(other, model)) is None
    assert stored(ShownRun(run, dataclasses.replace(model, reward=model.reward + 1))) is None
    (tmp_path / "run/performance.bin").write_bytes(b"damaged")
    assert page([ShownRun(run, model)]) == made


def test_a_page_of_a_run_on_a_model_loads_no_compiler(tmp_path):
    kept(tmp_path, *tigers())
    script = (
        "import sys; from decpomdp.cli.main import code_of; "
        "print(code_of(['report', sys.argv[1]]), 'numba' in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert made.stdout.splitlines()[-1] == "0 False"
