"""Broadcast channel: two nodes with a one-message buffer each share a channel that carries one message at a time.

States: Sab, where a = 1 when agent 1 has a message and b = 1 when agent 2 has one. Both buffers are full at the start.
Actions: send, wait. Observations: Collision, No-Collision.

Dynamics, independent for the two nodes: a node that waits keeps its message; an empty buffer receives a new message
with probability 0.9 at agent 1 and 0.1 at agent 2. A node that sends empties its buffer, which may be refilled at once
with the same probability. That holds after a collision too: when both send, both messages are gone, though neither
got through.

Observations: each node, independently, notices whether both have sent with accuracy 0.9: it sees Collision with
probability 0.9 after (send, send) and with probability 0.1 after anything else.

Rewards: 1 when exactly one node sends and that node has a message, otherwise 0.

Source: E. Hansen, D. Bernstein, S. Zilberstein. Dynamic programming for partially observable stochastic games.
AAAI 2004; after J. Ooi, G. Wornell. Decentralized control of a multiple access broadcast channel:
performance bounds. CDC 1996.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Agent, DecPOMDP
from decpomdp.domains.independent import side_by_side

STATES = ("S00", "S01", "S10", "S11")
ACTIONS = ("send", "wait")
OBSERVATIONS = ("Collision", "No-Collision")

ARRIVAL = (0.9, 0.1)  # chance that the empty buffer of agent 1, of agent 2 receives a message
ACCURACY = 0.9  # chance that one agent sees correctly whether both have sent


def build(discount: float = 0.9) -> DecPOMDP:
    """The broadcast channel problem."""
    agents = tuple(Agent(name, ACTIONS, OBSERVATIONS) for name in ("agent1", "agent2"))
    transition = side_by_side(_buffer(ARRIVAL[0]), _buffer(ARRIVAL[1]))  # [u, s, s1]
    pairs = list(product(ACTIONS, ACTIONS))
    observation = np.empty((4, 4, 4))  # [u, s1, y]
    for u, pair in enumerate(pairs):
        observation[u] = _seen(collision=pair == ("send", "send"))
    reward = [[_reward(pair, state) for state in STATES] for pair in pairs]
    start = np.array([state == "S11" for state in STATES], dtype=float)
    return DecPOMDP(agents, STATES, start, transition, observation, np.array(reward), discount, "broadcast")


def _buffer(arrival: float) -> NDArray[np.float64]:
    """[action, messages, messages after]: the buffer of one node."""
    refilled = [1 - arrival, arrival]
    return np.array([[refilled, refilled], [refilled, [0.0, 1.0]]])


def _seen(collision: bool) -> NDArray[np.float64]:
    """[y]: what the two nodes see, which depends on the actions alone."""
    chance = ACCURACY if collision else 1 - ACCURACY
    return side_by_side([chance, 1 - chance], [chance, 1 - chance])


def _reward(pair: tuple[str, str], state: str) -> float:
    if pair.count("send") != 1:
        return 0.0
    return float(state[1 + pair.index("send")])  # the sender's digit in "Sab"
