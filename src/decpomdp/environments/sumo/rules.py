"""Lights that need no learning."""

from collections.abc import Sequence

import numpy as np

from decpomdp.core import Controller
from decpomdp.environments.sumo.simulation import KEEP, SWITCH

ACTIONS = ("keep", "switch")


def longest_queue(symbols: int, longer: Sequence[int]) -> Controller:
    """Switch when the queue before red is longer than the one before green."""
    moves = [SWITCH if symbol in longer else KEEP for symbol in range(symbols)]
    followed = Controller.deterministic([KEEP, SWITCH], [moves, moves], len(ACTIONS))
    return Controller(followed.initial, followed.action, followed.transition, np.eye(2)[moves])
