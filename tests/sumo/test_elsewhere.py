"""The grid on the workers of a cluster: copies with processes of their own, and the same episodes."""

import pickle

import pytest

from decpomdp.core import Team
from decpomdp.core.run import Inputs
from decpomdp.engines.cluster import Cluster
from decpomdp.environments.sumo.grid import SumoGrid
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.many_agents import play_own
from decpomdp.rollouts import simulate


def test_a_copy_is_the_same_grid():
    grid = SumoGrid(10, 0.9, "signs", 400.0, 2)
    again = pickle.loads(pickle.dumps(grid))
    assert (again.name, again.discount, again.agents, again.workers) == (grid.name, 0.9, grid.agents, 2)
    assert again.facts == grid.facts


@pytest.mark.slow  # needs libsumo
def test_lights_play_elsewhere():
    grid = SumoGrid(4, workers=1)
    team = Team.uniform(grid)
    wanted = simulate(grid, team, 3, 5, seed=1), play_own(EpisodePlayer(grid, Inputs(1)), team, 3, 5)
    with Cluster(workers=2) as cluster:
        player = EpisodePlayer(grid, Inputs(1, engine=cluster))  # a process of its own is under way by now
        assert (simulate(grid, team, 3, 5, seed=1, engine=cluster), play_own(player, team, 3, 5)) == wanted
    grid.close()
