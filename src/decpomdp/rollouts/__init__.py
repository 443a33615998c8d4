"""Simulator + team -> episodes."""

from decpomdp.rollouts.collection import simulate, stream
from decpomdp.rollouts.dense import DenseSimulator, as_simulator

collect = simulate  # the name that other rooms still know it by

__all__ = ["DenseSimulator", "as_simulator", "collect", "simulate", "stream"]
