"""Simulator + team -> episodes."""

from decpomdp.rollouts.collect import simulate, stream
from decpomdp.rollouts.dense import DenseSimulator, as_simulator
from decpomdp.rollouts.recording import Recording, record

__all__ = ["DenseSimulator", "Recording", "as_simulator", "record", "simulate", "stream"]
