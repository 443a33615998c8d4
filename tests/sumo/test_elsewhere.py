"""The grid on the workers of a cluster: copies with processes of their own, and the same episodes."""

import pickle

import pytest

from decpomdp.core import Team
from decpomdp.engines.cluster import Cluster
from decpomdp.environments.sumo.grid import SumoGrid
from decpomdp.interaction.sbpr_crowd_alike import play_own
from decpomdp.interaction.sbpr_play import Ground
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
    wanted = simulate(grid, team, 3, 5, seed=1), play_own(Ground(grid, None, None, 1, None), team, 3, 5)
    with Cluster(workers=2) as cluster:
        ground = Ground(grid, None, None, 1, None, cluster)  # a process of its own is under way by now
        assert (simulate(grid, team, 3, 5, seed=1, engine=cluster), play_own(ground, team, 3, 5)) == wanted
    grid.close()
