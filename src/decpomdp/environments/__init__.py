"""PettingZoo in and out: problems as environments, environments as simulators, teams that play in them."""

from decpomdp.environments.as_environment import parallel_env
from decpomdp.environments.discretiser import Discretiser
from decpomdp.environments.pettingzoo_simulator import PettingZooSimulator, from_pettingzoo
from decpomdp.environments.playing import play

__all__ = ["Discretiser", "PettingZooSimulator", "from_pettingzoo", "parallel_env", "play"]
