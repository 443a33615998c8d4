"""Simulator + team -> episodes."""

from decpomdp.rollouts.collection import simulate, stream
from decpomdp.rollouts.dense import DenseSimulator, as_simulator

__all__ = ["DenseSimulator", "as_simulator", "simulate", "stream"]
