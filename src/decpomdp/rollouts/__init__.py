"""Simulator + team -> episodes."""

from decpomdp.rollouts.collection import collect, stream
from decpomdp.rollouts.dense import DenseSimulator, as_simulator

__all__ = ["DenseSimulator", "as_simulator", "collect", "stream"]
