"""One controller for interchangeable agents, and sizes that a slow simulator can afford; without SUMO."""

from time import sleep

import numpy as np
import pytest

from decpomdp.api import learn
from decpomdp.core import Agent, Episodes, Step, Team
from decpomdp.core.run import Inputs, unlimited
from decpomdp.environments.sumo.grid import PACE, SumoGrid
from decpomdp.interaction.afford import LEAST, LOOPS, MANY_BATCH, TEAMS, affordable, many_sizes
from decpomdp.interaction.episode_player import EpisodePlayer, OutOfSteps
from decpomdp.interaction.sbpr.many_agents import OwnRatios, play_own, shares
from decpomdp.interaction.sbpr.settings import SbprLoop
from decpomdp.interaction.sbpr.starts import by_action
from decpomdp.rollouts import simulate
from decpomdp.rollouts.play import play_batch

MANY = 12
NOISE = 30.0  # of the team's reward: what one agent earns, 0 or 1, drowns in it
FULL = SbprLoop()


class Echo:
    """Every agent sees a coin and is to name it; the team's reward is how many did, and noise."""

    repeatable, discount, name = True, 0.9, "echo"
    agents = tuple(Agent(f"e{n}", ("heads", "tails"), ("heads", "tails")) for n in range(MANY))

    def __init__(self, pause=0.0):
        self.pause = pause

    def reset(self, episodes, seed):
        self.random = np.random.default_rng(seed)
        self.coins = self.random.integers(2, size=(episodes, MANY))
        return self.coins

    def step(self, actions):
        sleep(self.pause * len(actions))
        named = (np.asarray(actions) == self.coins).sum(axis=1)
        self.coins = self.random.integers(2, size=self.coins.shape)
        return Step(self.coins, named + NOISE * self.random.normal(size=len(named)), np.zeros(len(named), bool))


class AlikeEcho(Echo):
    """The same, and it says what is every agent's own."""

    def play_own(self, players, episodes, horizon, seed, first=0, threads=None):
        paths = play_batch(self, players, episodes, horizon, seed).paths

        def own(table):
            return table.reshape(episodes, horizon, MANY).swapaxes(1, 2).reshape(-1)

        seen, acted = own(paths.observations), own(paths.actions)
        offsets = np.arange(episodes * MANY + 1) * horizon
        chance = np.minimum(own(paths.behaviour), np.float32(1))[:, None]
        return Episodes(
            self.agents[:1], offsets, seen[:, None], acted[:, None], chance, (seen == acted).astype(float), 0.9
        )


def named(fit):
    """Share of the coins that the team names, without the noise."""
    played = simulate(Echo(), fit.team, 200, 10, seed=5)
    return float((played.observations == played.actions).mean())


def player_of(problem, **left):
    """With these limits."""
    player = EpisodePlayer(problem, Inputs())
    player.begin(player.random, 0, unlimited()._replace(**left))
    return player


def test_interchangeable_agents_learn_from_each_other():
    """The same steps teach them nothing when everyone looks for its own part in the team's reward."""
    shared, alone = (learn(kind(), FULL, steps=6000, seed=0) for kind in (AlikeEcho, Echo))
    assert named(shared) > 0.9
    assert named(alone) < 0.75
    assert all(controller == shared.team.controllers[0] for controller in shared.team.controllers)
    assert learn(AlikeEcho(), FULL, steps=6000, seed=0).team == shared.team
    assert shared.trace[-1]["steps"] <= 6000


def test_who_begins_unlike_learns_alone():
    echo = AlikeEcho()
    alike = by_action(echo, 0.8)
    other = Team.of(echo, [by_action(echo, 0.7).controllers[0], *alike.controllers[1:]])
    assert shares(echo, alike)
    assert not shares(echo, other)
    assert not shares(Echo(), alike)


@pytest.mark.slow  # needs libsumo
def test_lights_are_alike():
    grid = SumoGrid(4, workers=1)
    assert shares(grid, Team.uniform(grid))
    grid.close()


def test_own_episodes_count_as_joint_steps_and_tell_everybody_the_same():
    echo = AlikeEcho()
    player, team = player_of(echo, steps=100), by_action(echo, 0.8)
    learned = OwnRatios(20.0, 0.9, 1).learn_shared([play_own(player, team, 5, 10)], team)
    assert player.steps == 50
    assert len(learned.visits) == len(learned.gains) == MANY
    assert learned.episodes == 5 * MANY
    assert learned.sample_size == pytest.approx(5 * MANY, rel=1e-4)
    with pytest.raises(OutOfSteps):
        play_own(player, team, 6, 10)


def test_sizes_fit_what_can_be_afforded():
    assert many_sizes(FULL, np.inf, 59, 135) == (MANY_BATCH, FULL.tests)
    for steps in (20_000.0, 200_000.0, 2_000_000.0):
        small = many_sizes(FULL, steps, 59, 135)
        spent = LOOPS * (FULL.tuning.many.pause * small.batch * 59 + TEAMS * small.tests * 135)
        assert 0.7 * steps < spent < 1.3 * steps
        assert small.batch <= MANY_BATCH
        assert small.tests <= FULL.tests
    assert many_sizes(FULL, 10.0, 59, 135) == (LEAST, LEAST)
    assert many_sizes(SbprLoop(batch=1, tests=1), 10.0, 59, 135) == (1, 1)  # never more than the settings say


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"steps": 700}, 700),
        ({"steps": 700, "seconds": 5.0}, 700),  # a function of the settings: no clock
        ({"iterations": 3, "seconds": 5.0}, np.inf),
        ({}, np.inf),
    ],
)
def test_limits_say_what_can_be_afforded(given, found):
    player = player_of(Echo(), **given)
    assert affordable(player, 500, 10) == found
    assert player.steps == 0


def test_a_simulator_may_say_how_slow_it_is():
    grid = SumoGrid(4, workers=1)
    grid.reset = lambda episodes, seed: np.zeros((episodes, 16), np.int16)  # nothing is to be played here
    assert affordable(player_of(grid), 500, 59) == 600 * PACE
    assert affordable(player_of(grid, seconds=60.0, iterations=5), 500, 59) == 600 * PACE
