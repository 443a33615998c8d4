"""Simulator + team -> episodes."""

from decpomdp.rollouts.collect import Recording, record, simulate, stream
from decpomdp.rollouts.play import DenseSimulator, as_simulator

__all__ = ["DenseSimulator", "Recording", "as_simulator", "record", "simulate", "stream"]
