"""Dec-Tiger: two agents before two doors, a tiger behind one of them and a treasure behind the other.

States: tiger-left, tiger-right; uniform at the start.
Actions: listen, open-left, open-right. Observations: hear-left, hear-right.

Dynamics: while both listen nothing moves, and each agent, independently of the other, hears the tiger on its true
side with probability 0.85. As soon as anyone opens a door the tiger is placed again behind a door chosen by a fair
coin, and what the agents hear in that step is uniform noise.

Rewards: listening costs 1. An agent that opens the treasure's door while no agent opens the tiger's gains 10. Meeting
the tiger costs the team 100, or only 50 when both open its door together, and a treasure opened in the same step is
then lost:

    listen, listen                   -2          both the treasure's door         20
    one treasure, one listens         9          both the tiger's door           -50
    one tiger, one listens         -101          different doors                -100

Source: R. Nair, M. Tambe, M. Yokoo, D. Pynadath, S. Marsella. Taming decentralized POMDPs: towards efficient policy
computation for multiagent settings. IJCAI 2003.
"""

from itertools import product

import numpy as np

from decpomdp.core import Agent, DecPOMDP
from decpomdp.domains.independent import side_by_side

STATES = ("tiger-left", "tiger-right")
ACTIONS = ("listen", "open-left", "open-right")
OBSERVATIONS = ("hear-left", "hear-right")

HEARING = 0.85  # chance that one agent hears the tiger on its true side
LISTEN_COST = -1.0
TREASURE = 10.0
TIGER_ALONE = -100.0
TIGER_TOGETHER = -50.0


def build(discount: float = 0.9) -> DecPOMDP:
    """The Dec-Tiger problem."""
    agents = tuple(Agent(name, ACTIONS, OBSERVATIONS) for name in ("agent1", "agent2"))
    pairs = list(product(ACTIONS, ACTIONS))
    transition = np.full((9, 2, 2), 0.5)  # [u, s, s1]
    observation = np.full((9, 2, 4), 0.25)  # [u, s1, y]
    both_listen = pairs.index(("listen", "listen"))
    transition[both_listen] = np.eye(2)
    hears = np.array([[HEARING, 1 - HEARING], [1 - HEARING, HEARING]])  # [s1, observation of one agent]
    for state in range(2):
        observation[both_listen, state] = side_by_side(hears[state], hears[state])
    reward = np.array([[_reward(pair, state) for state in STATES] for pair in pairs])
    start = np.array([0.5, 0.5])
    return DecPOMDP(agents, STATES, start, transition, observation, reward, discount, "dectiger")


def _reward(pair: tuple[str, str], state: str) -> float:
    listeners = pair.count("listen")
    at_tiger = pair.count("open-left" if state == "tiger-left" else "open-right")
    at_treasure = 2 - listeners - at_tiger
    if at_tiger == 2:
        return TIGER_TOGETHER
    if at_tiger == 1:
        return TIGER_ALONE + LISTEN_COST * listeners
    return TREASURE * at_treasure + LISTEN_COST * listeners
