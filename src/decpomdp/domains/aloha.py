"""Slotted Aloha: islands in a line send packets by radio; packets that neighbours send at the same time are lost.

States: the backlog of every island, 0 to `backlog` packets; empty at the start. Actions: send, idle.
Observations: success, idle or collision, if one, none or several of the island and its neighbours have sent; correct
with probability 0.9, otherwise one of the two others.

Dynamics: an island that sends while its neighbours are idle loses one packet, if it has any. With probability 0.6 every
island receives a new packet; a full backlog stays full. An empty island that sends alone receives none in that step, as
in the toolbox. Rewards: minus the sum of all backlogs after the step.

Source: F. Oliehoek. Value-based planning for teams of agents in stochastic partially observable environments. PhD
thesis, Amsterdam 2010. Rules as in the MADP toolbox (islands in a line, variant without the new-packet observation).
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

ARRIVAL = 0.6  # chance of a new packet
ACCURACY = 0.9  # of observations of the channel
OBSERVATIONS = ("success", "idle", "collision")


def build(agents: int = 3, backlog: int = 2, discount: float = 0.9, name: str = "aloha") -> DecPOMDP:
    """Islands in a line receive packets and send them by radio; packets that neighbours send at once are lost.

    Each island hears, correctly with probability 0.9, whether none, one or several of it and its neighbours have sent.
    The team loses the number of waiting packets in every step.
    """

    def senders(agent: int, actions: tuple[str, ...]) -> int:
        return actions[max(agent - 1, 0) : agent + 2].count("send")

    def transition(agent: int, state: tuple[int, ...], actions: tuple[str, ...]) -> dict[int, float]:
        waiting = state[agent]
        if actions[agent] == "send" and senders(agent, actions) == 1:
            return {waiting: ARRIVAL, waiting - 1: 1 - ARRIVAL} if waiting else {0: 1.0}
        return {waiting: 1.0} if waiting == backlog else {waiting + 1: ARRIVAL, waiting: 1 - ARRIVAL}

    def observation(agent: int, actions: tuple[str, ...]) -> dict[str, float]:
        true = ("idle", "success", "collision")[min(senders(agent, actions), 2)]
        return {heard: ACCURACY if heard == true else (1 - ACCURACY) / 2 for heard in OBSERVATIONS}

    return from_rules(
        agents=agents,
        states=product(range(backlog + 1), repeat=agents),
        actions=("send", "idle"),
        observations=OBSERVATIONS,
        start=(0,) * agents,
        transition=transition,
        observation=observation,
        reward=lambda next_state: -sum(next_state),
        discount=discount,
        name=name,
    )
