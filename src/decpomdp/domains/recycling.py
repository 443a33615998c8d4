"""Recycling robots: two robots collect cans on limited batteries; a big can needs both of them.

States: 2 * battery of agent 1 + battery of agent 2, where a battery is 0 (high) or 1 (low). Both high at the start.
Actions: recharge, search for a small can, search for a big can, in this order. The published file calls them
"searchbig", "searchlittle" and "waitandrecharge", in an order that does not match its numbers (index 0 recharges,
index 2 searches big). The labels are kept as published; the numbers are what counts.
Observations: the robot's own battery after the step, without error.

Dynamics, independent for the two robots:
    recharge        the battery becomes high
    search small    high becomes low with probability 0.3; low runs empty with probability 0.2
    search big      high becomes low with probability 0.5; low runs empty with probability 0.3
A robot whose battery runs empty is carried back to the charger and continues with a high battery.

Rewards: every robot that ran empty costs 10, and the team brings nothing home in that step. When none did, each
search for a small can brings 2, and a search for a big can brings 5 if both robots do it and 0 if one does. The table
holds the expectation over which robots run empty.

Source: C. Amato, D. Bernstein, S. Zilberstein. Optimizing memory-bounded controllers for decentralized POMDPs.
UAI 2007.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, DecPOMDP
from decpomdp.core.agent import numbered
from decpomdp.domains.independent import DECIMALS, side_by_side

ACTIONS = ("searchbig", "searchlittle", "waitandrecharge")  # labels as published; see the docstring
RECHARGE, SMALL, BIG = range(3)  # what the actions do
HIGH, LOW = range(2)

WEAKENS = {RECHARGE: 0.0, SMALL: 0.3, BIG: 0.5}  # chance that a high battery becomes low
RUNS_EMPTY = {RECHARGE: 0.0, SMALL: 0.2, BIG: 0.3}  # chance that a low battery runs empty
SMALL_CAN = 2.0
BIG_CAN = 5.0
RESCUE = -10.0


def build(discount: float = 0.9) -> DecPOMDP:
    """The recycling robots problem."""
    agents = tuple(Agent(name, ACTIONS, numbered(2)) for name in ("agent1", "agent2"))
    transition = side_by_side(_battery(), _battery())  # [u, s, s1]
    observation = np.tile(np.eye(4), (9, 1, 1))  # [u, s1, y] both batteries, each seen by its owner
    batteries = list(product((HIGH, LOW), (HIGH, LOW)))
    pairs = list(product((RECHARGE, SMALL, BIG), (RECHARGE, SMALL, BIG)))
    reward = [[_reward(pair, state) for state in batteries] for pair in pairs]
    start = np.array([1.0, 0.0, 0.0, 0.0])
    return DecPOMDP(agents, numbered(4), start, transition, observation, np.array(reward), discount, "recycling")


def _battery() -> NDArray[np.float64]:
    """[action, battery, battery after]: one robot. An empty battery comes back high."""
    rows = [[[1 - WEAKENS[a], WEAKENS[a]], [RUNS_EMPTY[a], 1 - RUNS_EMPTY[a]]] for a in (SMALL, BIG)]
    return np.array([[[1.0, 0.0], [1.0, 0.0]], *rows])


def _reward(pair: tuple[int, int], batteries: tuple[int, int]) -> float:
    empty = [RUNS_EMPTY[a] if battery == LOW else 0.0 for a, battery in zip(pair, batteries, strict=True)]
    cans = SMALL_CAN * pair.count(SMALL) + (BIG_CAN if pair == (BIG, BIG) else 0.0)
    nobody_empty = (1 - empty[0]) * (1 - empty[1])
    return round(nobody_empty * cans + RESCUE * (empty[0] + empty[1]), DECIMALS)
