"""Both players show the same of a problem, count steps and keep the limits; a pool gives the same on any threads."""

import numpy as np
import pytest
from oracles import making

from decpomdp.core import InputError
from decpomdp.core.run import Cut, unlimited
from decpomdp.interaction.episode_player import OutOfSteps
from decpomdp.interaction.search.ascent import slope_from, soften
from decpomdp.interaction.search.machines import Machine, constant
from decpomdp.interaction.search.players import BatchPlayer, DensePlayer, Pool, player_of
from decpomdp.kernels.machines import RandomWindow
from decpomdp.rollouts import DenseSimulator

RIGHT = [1, 1]


def test_both_players_estimate_the_same_value():
    rng = np.random.default_rng(0)
    model = making.model(rng, 3, (2, 3), (3, 2))
    plan = tuple(
        Machine(rng.integers(2, size=4), rng.integers(1, 4, (4, len(agent.observations) + 1))) for agent in model.agents
    )
    simulator = DenseSimulator(model)
    fast, slow = (kind(simulator).returns(plan, 20_000, 10, 1) for kind in (DensePlayer, BatchPlayer))
    assert abs(fast.mean() - slow.mean()) < 4 * np.hypot(fast.std(), slow.std()) / np.sqrt(20_000)
    assert isinstance(player_of(simulator), DensePlayer)


def test_softened_episodes_have_the_same_frequencies_with_both_players():
    model = making.model(np.random.default_rng(1), 3, (2, 3), (3, 2))
    simulator = DenseSimulator(model)
    found = []
    for kind in (DensePlayer, BatchPlayer):
        player = kind(simulator)
        start = tuple(
            Machine(np.array([0, 1, 0]), np.ones((3, len(agent.observations) + 1), int)) for agent in model.agents
        )
        slope = slope_from(start, player, True, 0.8)
        soften(slope, 0.0)
        played = player.sample(slope.soft, 8000, 4, seed=2)
        assert (played.observations[:, 0] == -1).all()
        found.append([(played.nodes == 1).mean(axis=0), (played.actions == 0).mean(axis=0)])
    assert np.array(found[0]) == pytest.approx(np.array(found[1]), abs=4 * np.sqrt(0.5 / 8000))
    assert found[0][0] == pytest.approx(np.full((4, 2), 0.8), abs=4 * np.sqrt(0.25 / 8000))


def test_episodes_that_end_are_cut_there(corridor):
    player = player_of(corridor())
    plan = constant(player, RIGHT)
    played = player.record(plan, 300, 20, 1)
    assert set(played.lengths) == {1, 2, 3}
    assert (played.observations[:, 0] >= 0).all()
    wanted = [10 * 0.9 ** (k - 1) - sum(0.9**t for t in range(k - 1)) for k in played.lengths]
    assert player.returns(plan, 300, 20, 1) == pytest.approx(wanted)
    assert player.steps == 2 * played.lengths.sum()


@pytest.mark.parametrize("repeatable", [True, False])
def test_chance_comes_back_only_when_it_can(corridor, repeatable):
    player = player_of(corridor(repeatable=repeatable))
    plan = constant(player, RIGHT)
    twice = [player.returns(plan, 100, 20, 1) for _ in range(2)]
    assert np.array_equal(*twice) == repeatable


def test_elites_are_the_best_of_all(corridor):
    player = player_of(corridor())
    window = RandomWindow(0, 6, np.ones(2))
    played = player.elites(constant(player), window, 2500, 6, 3, 10)
    returns = player.returns(constant(player), 2500, 6, 3, window=window)
    assert player._discounted(played, 0) == pytest.approx(np.sort(returns)[::-1][:10])


@pytest.mark.parametrize("kind", [DensePlayer, BatchPlayer])
def test_limits_are_kept(kind):
    simulator = DenseSimulator(making.model(np.random.default_rng(2)))
    player = kind(simulator, limit=1000)
    with pytest.raises(OutOfSteps):
        player.returns(constant(player), 5000, 10, 1)
    assert player.steps <= 1000
    now = unlimited()
    now.stop[0] = 1
    with pytest.raises(Cut):
        kind(simulator, now).returns(constant(player), 1, 1, 1)


@pytest.mark.parametrize(
    ("part", "changed", "words"),
    [
        ("rewards", lambda rewards: rewards[:, None], "simulator rewards"),
        ("ended", lambda ended: np.zeros((len(ended), 2), bool), "simulator ended"),
        ("observations", lambda seen: seen[:, 0], "simulator observations"),
        ("observations", lambda seen: seen + 0.7, "whole numbers"),
    ],
)
def test_what_a_simulator_gives_is_looked_at(corridor, part, changed, words):
    class Odd(corridor):
        def step(self, actions):
            step = super().step(actions)
            return step._replace(**{part: changed(getattr(step, part))})

    with pytest.raises(InputError, match=words):
        player_of(Odd()).record(constant(Odd()), 5, 5, 1)


def test_what_is_over_may_pay_anything(corridor):
    """Rows of finished episodes are ignored, whatever is in them."""

    class Over(corridor):
        def reset(self, episodes, seed):
            self.over = np.zeros(episodes, bool)
            return super().reset(episodes, seed)

        def step(self, actions):
            step = super().step(actions)
            rewards = np.where(self.over, np.nan, step.rewards)
            self.over |= np.arange(len(actions)) % 2 == 0
            return step._replace(rewards=rewards, ended=step.ended | self.over)

    played = player_of(Over()).record(constant(Over()), 4, 3, 1)
    assert played.lengths.tolist() == [1, 3, 1, 3]
    assert np.isfinite(played.rewards).all()


def pool(steps=np.inf, threads=2, stopped=0):
    now = unlimited()._replace(steps=steps)
    now.stop[0] = stopped
    return Pool(player_of(DenseSimulator(making.model(np.random.default_rng(0)))), now, threads)


def playing(episodes):
    def work(k, player, rng):
        return player.returns(constant(player), episodes, 10, int(rng.integers(1 << 62))).sum()

    return work


def test_threads_change_nothing():
    results = [[pool(threads=threads).round(5, playing(50), 7, number) for number in (1, 2)] for threads in (1, 3)]
    assert results[0] == results[1]
    assert len({value for part in results[0] for value in part}) == 10


def test_steps_are_shared_out_and_counted():
    workers = pool(steps=4000)
    assert None not in workers.round(4, playing(100), 7, 1)
    assert workers.steps == 4000
    assert workers.round(2, playing(1), 7, 2) == [None, None]
    with pytest.raises(OutOfSteps):
        workers.alone(lambda player: player.returns(constant(player), 1, 1, 0))
    with pytest.raises(OutOfSteps):
        workers.end()


def test_pieces_of_a_run_that_is_ending_come_back_empty():
    workers = pool(stopped=1)
    assert workers.round(3, playing(10), 7, 1) == [None] * 3
    with pytest.raises(Cut):
        workers.end()
