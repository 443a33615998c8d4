"""Broadcast channel: two nodes with a one-message buffer each share a channel that carries one message at a time.

States: Sab, where a = 1 when agent 1 has a message and b = 1 when agent 2 has one. Both buffers are full at the start.
Actions: send, wait. Observations: Collision, No-Collision.

Dynamics, independent for the two nodes: a node that waits keeps its message; an empty buffer receives a new message
with probability 0.9 at agent 1 and 0.1 at agent 2. A node that sends empties its buffer, which may be refilled at once
with the same probability. This also holds after a collision: when both send, both messages are lost.

Observations: each node, independently, notices whether both have sent with accuracy 0.9: it sees Collision with
probability 0.9 after (send, send) and with probability 0.1 after anything else.

Rewards: 1 when exactly one node sends and that node has a message, otherwise 0.

The variant `broadcast:mabc` follows the description of the multiple access broadcast channel instead: messages that
collide stay in their buffers.

Source: E. Hansen, D. Bernstein, S. Zilberstein. Dynamic programming for partially observable stochastic games.
AAAI 2004; after J. Ooi, G. Wornell. Decentralized control of a multiple access broadcast channel:
performance bounds. CDC 1996.
"""

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

STATES = ("S00", "S01", "S10", "S11")
ACTIONS = ("send", "wait")
OBSERVATIONS = ("Collision", "No-Collision")

ARRIVAL = (0.9, 0.1)  # chance that the empty buffer of agent 1, of agent 2 receives a message
ACCURACY = 0.9  # chance that one agent sees correctly whether both have sent
BOTH = ("send", "send")


def build(variant: str = "file", discount: float = 0.9, name: str = "broadcast") -> DecPOMDP:
    """Two nodes share a channel that carries one message at a time; each has a buffer for one message.

    A node that sends empties its buffer; an empty buffer is refilled with probability 0.9 at agent 1 and 0.1 at agent
    2. Each node notices with accuracy 0.9 whether both have sent. The team earns 1 when exactly one node sends a
    message.
    """

    def transition(state: str, actions: tuple[str, ...]) -> dict[str, float]:
        stays = actions == BOTH and variant == "mabc"
        full = [
            1.0 if message == "1" and (action == "wait" or stays) else arrival
            for message, action, arrival in zip(state[1:], actions, ARRIVAL, strict=True)
        ]
        return {
            f"S{a}{b}": (full[0] if a else 1 - full[0]) * (full[1] if b else 1 - full[1])
            for a in (0, 1)
            for b in (0, 1)
        }

    def observation(agent: int, actions: tuple[str, ...]) -> dict[str, float]:
        collision = ACCURACY if actions == BOTH else 1 - ACCURACY
        return {"Collision": collision, "No-Collision": 1 - collision}

    def reward(state: str, actions: tuple[str, ...]) -> float:
        return float(state[1 + actions.index("send")]) if actions.count("send") == 1 else 0.0

    return from_rules(
        states=STATES,
        actions=ACTIONS,
        observations=OBSERVATIONS,
        start="S11",
        transition=transition,
        observation=observation,
        reward=reward,
        discount=discount,
        name=name,
    )
