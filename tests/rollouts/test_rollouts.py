"""Played episodes: right frequencies, right behaviour probabilities, the same whatever the threads."""

import numpy as np
import pytest
from oracles import making, values

import decpomdp as dp
from decpomdp.core import NO_OBSERVATION, InputError, Step, Team
from decpomdp.core.agent import joint_numbers
from decpomdp.rollouts import DenseSimulator, record, simulate, stream
from decpomdp.rollouts.play import play_batch, players_of, step_batch
from simulators import Corridor


@pytest.mark.parametrize("actions", [(3,), (2, 3), (2, 2, 3), (2, 1, 2, 2)])
def test_the_same_for_any_number_of_threads(actions):
    rng = np.random.default_rng(0)
    model = making.model(rng, 3, actions, actions)
    team = making.team(rng, model, 3)
    one = simulate(model, team, 3000, 7, seed=5, threads=1)
    assert one == simulate(model, team, 3000, 7, seed=5, threads=2)
    assert one == simulate(model, team, 3000, 7, seed=5, threads=7)
    assert one != simulate(model, team, 3000, 7, seed=6, threads=1)


def test_a_stream_is_the_collection_in_pieces(monkeypatch):
    rng = np.random.default_rng(1)
    model = making.model(rng)
    team = making.team(rng, model)
    whole = simulate(model, team, 500, 9, seed=2)
    monkeypatch.setattr("decpomdp.rollouts.collect.CHUNK", 1000)
    pieces = list(stream(model, team, 500, 9, seed=2))
    assert len(pieces) == 10
    assert max(piece.steps for piece in pieces) * 2 <= 1000
    assert dp.Episodes.concatenate(pieces) == whole


@pytest.mark.parametrize("nodes", [(1, 1), (3, 2)])
def test_any_simulator_and_the_fast_way_play_the_same(nodes):
    rng = np.random.default_rng(2)
    model = making.model(rng, 4, (2, 3), (3, 2), sparse=True)
    simulator, players = DenseSimulator(model), players_of(making.team(rng, model, nodes))
    fast = simulator.play(players, 200, 12, seed=9, behaviour=True)
    slow = play_batch(simulator, players, 200, 12, seed=9)
    for name in fast._fields:
        assert np.array_equal(getattr(fast, name), getattr(slow.paths, name)), name
    assert not slow.terminated.any()


def test_recorded_probabilities_are_the_marginals_given_the_history():
    rng = np.random.default_rng(3)
    model = making.model(rng, 2, (2, 3), (2, 2))
    team = making.team(rng, model, (3, 2), sparse=True).exploring([np.array([0.5, 0.1, 0.0]), 0.3])
    episodes = simulate(model, team, 20, 6, seed=1)
    for k in range(20):
        rows = slice(episodes.offsets[k], episodes.offsets[k + 1])
        for n, tables in enumerate(making.tables(team)):
            wanted = values.action_probabilities(*tables, episodes.actions[rows, n], episodes.observations[rows, n])
            assert episodes.behaviour[rows, n] == pytest.approx(wanted, rel=1e-6)  # kept in single precision


def test_frequencies_are_those_of_model_and_team():
    rng = np.random.default_rng(4)
    model = making.model(rng, 3, (2, 2), (2, 2))
    team = making.team(rng, model, 2)
    paths = DenseSimulator(model).play(players_of(team), 100_000, 2, seed=3)
    nodes, actions = paths.nodes.reshape(-1, 2, 2), paths.actions.reshape(-1, 2, 2)
    seen = paths.observations.reshape(-1, 2, 2)
    assert (seen[:, 0] == NO_OBSERVATION).all()
    error = 4 / np.sqrt(len(nodes) / 32)
    for n, controller in enumerate(team.controllers):
        assert np.bincount(nodes[:, 0, n]) / len(nodes) == pytest.approx(controller.initial, abs=error)
        for i in range(2):
            there = nodes[:, 0, n] == i
            assert np.bincount(actions[there, 0, n]) / there.sum() == pytest.approx(controller.action[i], abs=error)
            for a in range(2):
                for o in range(2):
                    case = there & (actions[:, 0, n] == a) & (seen[:, 1, n] == o)
                    found = np.bincount(nodes[case, 1, n], minlength=2) / case.sum()
                    assert found == pytest.approx(controller.transition[i, a, o], abs=error)
    joint = actions[:, 0, 0] * 2 + actions[:, 0, 1]
    joint_seen = seen[:, 1, 0] * 2 + seen[:, 1, 1]
    for u in range(4):
        wanted = model.start @ model.transition[u] @ model.observation[u]
        found = np.bincount(joint_seen[joint == u], minlength=4) / (joint == u).sum()
        assert found == pytest.approx(wanted, abs=error)


def test_a_simulator_that_shows_first_observations_and_ends():
    simulator = Corridor()
    episodes = simulate(simulator, Team.uniform(simulator), 2500, 30, seed=4)
    assert episodes.count == 2500
    assert episodes == simulate(simulator, Team.uniform(simulator), 2500, 30, seed=4)
    first = episodes.observations[episodes.offsets[:-1]]
    assert first.min() == 0
    assert first.max() == 2
    last = episodes.rewards[episodes.offsets[1:] - 1]
    assert np.array_equal(last == 10, episodes.terminated)
    assert 0 < episodes.terminated.mean() < 1
    assert (episodes.lengths[~episodes.terminated] == 30).all()
    inner = np.delete(episodes.rewards, episodes.offsets[1:] - 1)
    assert (inner == -1).all()


def test_a_first_observation_chooses_the_first_node():
    simulator = Corridor()
    rng = np.random.default_rng(0)
    team = making.team(rng, simulator, 3, first=True)
    episodes = simulate(simulator, team, 300, 4, seed=4)
    for k in range(30):
        rows = slice(episodes.offsets[k], episodes.offsets[k + 1])
        for n, (_, action, transition) in enumerate(making.tables(team)):
            initial = team.controllers[n].initial_given[episodes.observations[rows.start, n]]
            wanted = values.action_probabilities(
                initial, action, transition, episodes.actions[rows, n], episodes.observations[rows, n]
            )
            assert episodes.behaviour[rows, n] == pytest.approx(wanted, rel=1e-6)


class Wrong(Corridor):
    def step(self, actions):
        return Step(np.full((len(actions), 2), 4), np.zeros(len(actions)), np.zeros(len(actions), bool))


def test_a_simulator_outside_its_alphabet_is_named():
    simulator = Wrong()
    with pytest.raises(InputError, match="corridor: episode 0, agent agent0: expected an observation from 0 to 3"):
        simulate(simulator, Team.uniform(simulator), 10, 5)


class Half(Corridor):
    reset = repeatable = None

    def __init__(self):
        super().__init__()
        del self.repeatable


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Half(), "^simulator Half: expected the members repeatable, reset$"),
        (Corridor, "or a Simulator, got the class Corridor itself$"),
        (dp.parallel_env("dectiger"), "got an environment; dp.from_pettingzoo makes it a simulator$"),
        (Team.uniform(Corridor()), "or a Simulator, got Team$"),
    ],
)
def test_what_is_no_simulator_is_named(problem, message):
    for call in (dp.learn, dp.simulate):
        with pytest.raises(InputError, match=message):
            call(problem)


class Signature(Corridor):
    def step(self):
        pass


def test_an_error_of_a_simulator_names_its_line_and_keeps_its_cause():
    simulator = Corridor()
    simulator.noise = "much"
    with pytest.raises(InputError, match=r"simulators.py:\d+: simulator corridor: step failed: \w+: ") as told:
        dp.learn(simulator, steps=1000)
    assert isinstance(told.value.__cause__, TypeError)
    line = Signature.step.__code__.co_firstlineno
    with pytest.raises(InputError, match=rf"test_rollouts.py:{line}: .* step failed: TypeError: .* takes 1 positional"):
        simulate(Signature(), None, 10, 5)


def test_an_error_of_our_own_simulators_is_not_the_users(monkeypatch):
    monkeypatch.setattr(DenseSimulator, "step", lambda self, actions: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        step_batch(DenseSimulator("dectiger"), np.zeros((1, 2), np.int16), np.ones(1, bool))


def test_wrong_actions_are_named():
    simulator = DenseSimulator(dp.load("dectiger"))
    simulator.reset(3, seed=0)
    with pytest.raises(InputError, match="episode 1, agent agent2: expected an action from 0 to 2, got 3"):
        simulator.step(np.array([[0, 0], [0, 3], [0, 0]]))
    with pytest.raises(InputError, match=r"expected shape \(3, 2\), got \(2, 2\)"):
        simulator.step(np.zeros((2, 2), int))


def test_a_recording_of_a_model_explains_its_rewards():
    rng = np.random.default_rng(0)
    model = making.model(rng, 4, (2, 3), (3, 2))
    team = making.team(rng, model, (3, 2))
    episodes, nodes, states, scenes = record(model, team, 30, 12, seed=5)
    assert episodes == simulate(model, team, 30, 12, seed=5)
    assert nodes.shape == (30, 12, 2)
    assert states.shape == (30, 12)
    assert scenes == ()
    joint = joint_numbers(episodes.actions.T.astype(np.int64), (2, 3))
    assert np.array_equal(model.reward[joint, states.ravel()], episodes.rewards)
    for n, controller in enumerate(team.controllers):
        rows = nodes.reshape(-1, 2)[:, n]
        assert (controller.action[rows, episodes.actions[:, n]] > 0).all()
        assert rows.max() == controller.nodes - 1


def test_a_recording_of_any_simulator():
    simulator = Corridor()
    team = making.team(np.random.default_rng(1), simulator, 3, first=True)
    episodes, nodes, states, scenes = record(simulator, team, 2500, 30, seed=4)
    assert episodes == simulate(simulator, team, 2500, 30, seed=4)
    assert nodes.shape == (2500, episodes.lengths.max(), 2)
    inside = np.arange(nodes.shape[1]) < episodes.lengths[:, None]
    assert (nodes[~inside] == 0).all()
    assert (nodes[inside] > 0).any()
    assert states is None
    assert scenes == ()
