"""Recycling robots: two robots collect cans on limited batteries; a big can needs both of them.

States: 2 * battery of agent 1 + battery of agent 2, where a battery is 0 (high) or 1 (low). Both high at the start.
Actions: recharge, search for a small can, search for a big can, in this order. The published file calls them
"searchbig", "searchlittle" and "waitandrecharge", in an order that does not match its numbers (index 0 recharges,
index 2 searches big). The labels are kept as published; only the numbers matter.
Observations: the robot's own battery after the step, without error.

Dynamics, independent for the two robots:
    recharge        the battery becomes high
    search small    high becomes low with probability 0.3; low runs empty with probability 0.2
    search big      high becomes low with probability 0.5; low runs empty with probability 0.3
A robot whose battery runs empty is carried back to the charger and continues with a high battery.

Rewards: every robot that ran empty costs 10, and the team collects no can in that step. When none did, each search for
a small can pays 2, and a search for a big can pays 5 if both robots do it and 0 if one does. The table has the
expectation over which robots run empty.

Source: C. Amato, D. Bernstein, S. Zilberstein. Optimizing memory-bounded controllers for decentralized POMDPs.
UAI 2007.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

ACTIONS = ("searchbig", "searchlittle", "waitandrecharge")  # labels as published; see the docstring
RECHARGE, SMALL, BIG = ACTIONS  # what the actions do
HIGH, LOW = range(2)

WEAKENS = {RECHARGE: 0.0, SMALL: 0.3, BIG: 0.5}  # chance that a high battery becomes low
RUNS_EMPTY = {RECHARGE: 0.0, SMALL: 0.2, BIG: 0.3}  # chance that a low battery runs empty
SMALL_CAN = 2.0
BIG_CAN = 5.0
RESCUE = -10.0

BATTERIES = tuple(product((HIGH, LOW), repeat=2))  # by state


def build(discount: float = 0.9) -> DecPOMDP:
    """Two robots collect cans: small ones alone, big ones only together. Searching empties the battery, which each
    sees.

    A robot whose battery runs empty costs 10 and is carried back to the charger.
    """

    def transition(state: int, actions: tuple[str, ...]) -> dict[int, float]:
        low = [_low(battery, action) for battery, action in zip(BATTERIES[state], actions, strict=True)]
        return {s: (low[0] if a else 1 - low[0]) * (low[1] if b else 1 - low[1]) for s, (a, b) in enumerate(BATTERIES)}

    return from_rules(
        states=range(4),
        actions=ACTIONS,
        observations=(HIGH, LOW),
        start=0,
        transition=transition,
        observation=lambda agent, next_state: BATTERIES[next_state][agent],
        reward=_reward,
        discount=discount,
        name="recycling",
    )


def _low(battery: int, action: str) -> float:
    """The probability that one battery is low after the step. An empty battery is recharged to high."""
    if action == RECHARGE:
        return 0.0
    return WEAKENS[action] if battery == HIGH else 1 - RUNS_EMPTY[action]


def _reward(state: int, actions: tuple[str, ...]) -> float:
    empty = [RUNS_EMPTY[a] if battery == LOW else 0.0 for a, battery in zip(actions, BATTERIES[state], strict=True)]
    cans = SMALL_CAN * actions.count(SMALL) + (BIG_CAN if actions == (BIG, BIG) else 0.0)
    none_empty = (1 - empty[0]) * (1 - empty[1])
    return none_empty * cans + RESCUE * (empty[0] + empty[1])
