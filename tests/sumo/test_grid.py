"""SUMO itself: the same episodes wherever they are played, whatever dies; PettingZoo; its own programs; the page."""

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import decpomdp as dp
from decpomdp.core import InputError, Team
from decpomdp.core.run import Inputs
from decpomdp.core.scene import COLUMN, NEITHER, ROW, OnStreets
from decpomdp.engines.cluster import Cluster
from decpomdp.environments.sumo.grid import SumoGrid
from decpomdp.environments.sumo.process import SimulationProcess
from decpomdp.environments.sumo.simulation import DECISION, SWITCH
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.many_agents import play_own
from decpomdp.rollouts import simulate
from decpomdp.rollouts.play import players_of

with warnings.catch_warnings():  # the tests of PettingZoo import games by a name that it deprecates itself
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import parallel_api_test, parallel_seed_test

pytestmark = pytest.mark.slow  # needs libsumo: run by make test-sumo
LIGHT = 100.0  # vehicles an hour: quick


@pytest.fixture
def grid():
    made = SumoGrid(4, rate=LIGHT, workers=2)
    yield made
    made.close()


@pytest.fixture
def alone():
    made = SimulationProcess(4, LIGHT)
    yield made
    made.close()


def team_of(grid):
    return grid.policies()["longest-queue"].exploring(0.2)


def test_episodes_are_the_same_for_any_number_of_processes(grid):
    played = dp.simulate(grid, team_of(grid), 3, 6, seed=3)
    other = SumoGrid(4, rate=LIGHT, workers=1)
    assert dp.simulate(other, team_of(grid), 3, 6, seed=3) == played
    other.close()
    assert dp.simulate(grid, team_of(grid), 3, 6, seed=4) != played
    assert played.rewards.max() <= 0
    assert played.rewards.min() < 0
    assert len(set(played.returns())) == 3


def test_a_killed_worker_changes_nothing(grid):
    players, seeds = players_of(team_of(grid)), [1, 2, 3, 4]
    expected = grid.play_seeds(players, seeds, 8, behaviour=True)
    victim = grid._idle[0]
    step, killed = victim.step, []

    def dying(actions):
        if len(killed) < 2:  # in the middle of two episodes
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)
        return step(actions)

    victim.step = dying
    found = grid.play_seeds(players, seeds, 8, behaviour=True)
    assert len(killed) == 2
    assert victim.starts == 3
    assert all(np.array_equal(a, b) for a, b in zip(expected.paths, found.paths, strict=True))
    assert np.array_equal(expected.waits, found.waits)
    assert expected.measures == found.measures


def test_a_worker_that_hangs_is_replaced(alone, monkeypatch):
    """Stopped in the middle of an episode; another one replays the episode and goes on."""
    expected = [alone.reset(5), alone.step(np.zeros(16, np.int16))]
    alone.reset(5)
    start = alone._start

    def patient():
        monkeypatch.setattr("decpomdp.environments.sumo.process.SILENCE", 600.0)
        return start()

    monkeypatch.setattr(alone, "_start", patient)
    monkeypatch.setattr("decpomdp.environments.sumo.process.SILENCE", 0.5)
    os.kill(alone.pid, signal.SIGSTOP)
    found = alone.step(np.zeros(16, np.int16))
    assert alone.starts == 2
    assert all(np.array_equal(one, other) for one, other in zip(expected[1], found, strict=True))


def test_what_a_worker_refuses_is_the_users_error(alone):
    alone.reset(1)
    with pytest.raises(
        InputError, match="control: expected one of agents, fixed-time, actuated, actuated-late, got 'mine'"
    ):
        alone.reset(1, "mine")
    assert alone.starts == 1
    alone.reset(1)
    with pytest.raises(InputError, match="rate"):
        SimulationProcess(4, -1.0).reset(1)


def test_a_worker_ends_with_its_owner(alone):
    alone.reset(1)
    pid = alone.pid
    alone.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert alone.reset(1).views.shape == (16, 6)  # and another begins


def test_a_script_without_a_main_guard(tmp_path):
    (tmp_path / "plain.py").write_text(
        "import decpomdp as dp\nprint(dp.simulate('sumo:4:queues:100', episodes=2, horizon=2).steps)\n"
    )
    done = subprocess.run([sys.executable, tmp_path / "plain.py"], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("4\n", 0), done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_does_not_wait_for_the_episodes_under_way(workers):
    made = SumoGrid(4, rate=LIGHT, workers=workers)
    players, seeds = players_of(team_of(made)), [1, 2, 3]
    expected = made.play_seeds(players, seeds, 6)
    pids = [player.pid for player in made._idle]
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        made.play_seeds(players, seeds, 10_000)  # minutes
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    again = made.play_seeds(players, seeds, 6)
    assert np.array_equal(expected.paths.observations, again.paths.observations)
    assert expected.measures == again.measures
    made.close()


def test_lights_keep_and_switch(alone):
    shown = alone.reset(7)
    assert np.all(shown.views[:, 4:] == 0)  # column green since now
    actions = np.zeros(16, np.int64)
    actions[3] = SWITCH
    shown = alone.step(actions)
    assert shown.views[:, 5].tolist() == [int(n == 3) for n in range(16)]
    assert shown.views[:, 4].tolist() == [7 if n == 3 else 10 for n in range(16)]
    assert alone.step(actions).views[3, 4:].tolist() == [7, 0]
    for shown in (alone.step(np.zeros(16)) for _ in range(3)):
        queues = shown.queues.reshape(-1, 2, 2).sum(axis=1)  # column, row
        assert np.array_equal(queues[np.arange(16), shown.views[:, 5]], shown.views[:, 0])
        assert np.array_equal(queues[np.arange(16), 1 - shown.views[:, 5]], shown.views[:, 1])


def test_who_never_has_green_waits(alone):
    """All lights keep to their columns: nobody who comes along a row gets through, everybody else does."""
    alone.reset(3)
    waits = [alone.step(np.zeros(16)).queues for _ in range(20)]
    assert waits[-1][:, 1::2].sum() > 10 * max(1, waits[-1][:, ::2].sum())


def test_measures_add_up(grid):
    players = players_of(grid.policies()["longest-queue"])
    told = grid.play_seeds(players, [11, 12], 30)
    for k, measures in enumerate(told.measures):
        rewards = told.paths.rewards[30 * k : 30 * (k + 1)]
        assert np.isclose(measures.waiting, -DECISION * rewards.sum())
        assert np.allclose(told.waits[30 * k : 30 * (k + 1)].sum(axis=1), -rewards)
        assert 0 < measures.arrived <= measures.vehicles
        assert 60 < measures.travel < 400  # a kilometre at 50 km/h takes 72 s


def test_sumos_own_programs_meet_the_same_vehicles(grid):
    controls = ("fixed-time", "actuated", "actuated-late")
    found = {control: grid.play_seeds(None, [5], 40, control=control) for control in controls}
    agents = grid.play_seeds(players_of(grid.policies()["longest-queue"]), [5], 40)
    vehicles = {name: told.measures[0].vehicles for name, told in found.items()}
    assert len({*vehicles.values(), agents.measures[0].vehicles}) == 1
    waiting = {control: found[control].measures[0].waiting for control in controls}
    assert waiting["actuated"] < waiting["actuated-late"] < waiting["fixed-time"]  # with so few vehicles
    assert agents.measures[0].waiting < found["fixed-time"].measures[0].waiting


@pytest.mark.parametrize("seed", [0, 42])
def test_pettingzoo_finds_nothing_wrong(seed, capsys):
    made = []

    def env():
        made.append(SumoGrid(4, rate=LIGHT, workers=1))
        return dp.parallel_env(made[-1], horizon=6, seed=seed)

    parallel_api_test(env(), num_cycles=12)
    assert "Passed" in capsys.readouterr().out
    parallel_seed_test(env, num_cycles=8)
    for one in made:
        one.close()


def test_a_batch_step_by_step_and_its_scene(grid):
    seen = grid.reset(2, seed=9)
    assert seen.shape == (2, 16)
    assert isinstance(grid, OnStreets)
    assert set(grid.street_scene(1).green) == {NEITHER}
    actions = np.zeros((2, 16), int)
    actions[1] = SWITCH
    step = grid.step(actions)
    assert step.rewards.shape == (2,)
    assert not step.ended.any()
    scenes = [grid.street_scene(k).fitting(grid.street_map()) for k in range(2)]
    assert [set(scene.green) for scene in scenes] == [{COLUMN}, {ROW}]
    assert sum(scenes[0].waiting) > 0
    assert np.array_equal(grid.reset(2, seed=9), seen)
    assert np.array_equal(grid.step(actions).observations, step.observations)


def test_lights_play_elsewhere():
    grid = SumoGrid(4, workers=1)
    team = Team.uniform(grid)
    wanted = simulate(grid, team, 3, 5, seed=1), play_own(EpisodePlayer(grid, Inputs(1)), team, 3, 5)
    with Cluster(workers=2) as cluster:
        player = EpisodePlayer(grid, Inputs(1, engine=cluster))  # a process of its own is under way by now
        assert (simulate(grid, team, 3, 5, seed=1, engine=cluster), play_own(player, team, 3, 5)) == wanted
    grid.close()
