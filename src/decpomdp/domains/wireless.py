"""Wireless network with delay: two senders with bursty traffic share a channel. A reconstruction; the numbers are ours.

States, per sender: 0 to 3 packets in its buffer, and whether its source is on or off; empty and off at the start (64
states). Actions: listen, transmit. Observations (6): whether the own buffer is empty, and what the channel carried:
nothing, one packet or a collision, right with probability 0.9.

Dynamics: a packet is delivered if its sender transmits and the other listens; colliding packets stay in their buffers.
A source that is on adds a packet, which is lost if the buffer is full, and turns off with probability 0.3; one that is
off turns on with 0.2. Rewards: minus the packets that wait in both buffers, so that delay is what costs.

After: J. Pajarinen, J. Peltonen. Efficient planning for factored infinite-horizon DEC-POMDPs. IJCAI 2011, which gives
the sizes and the story; its file was not at hand.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

BUFFER = 3  # packets
TURNS_ON, TURNS_OFF = 0.2, 0.3
ACCURACY = 0.9
CHANNEL = ("silence", "packet", "collision")
Sender = tuple[int, str]  # packets, source


def build(discount: float = 0.9) -> DecPOMDP:
    """Two senders with bursty traffic share a channel; a packet gets through if only one transmits.

    Each sees whether its own buffer is empty and hears, with noise, what the channel carried. The team loses the number
    of waiting packets in every step. A reconstruction: the numbers are ours.
    """

    def transition(agent: int, state: tuple[Sender, Sender], actions: tuple[str, str]) -> dict[Sender, float]:
        packets, source = state[agent]
        if packets and actions[agent] == "transmit" and actions[1 - agent] == "listen":
            packets -= 1
        packets = min(packets + (source == "on"), BUFFER)
        changes = TURNS_OFF if source == "on" else TURNS_ON
        return {(packets, source): 1 - changes, (packets, "off" if source == "on" else "on"): changes}

    def observation(agent: int, actions: tuple[str, str], next_state: tuple[Sender, Sender]) -> tuple[object, ...]:
        true = CHANNEL[actions.count("transmit")]
        heard = {sound: ACCURACY if sound == true else (1 - ACCURACY) / 2 for sound in CHANNEL}
        return "waiting" if next_state[agent][0] else "empty", heard

    senders = tuple(product(range(BUFFER + 1), ("off", "on")))
    return from_rules(
        states=product(senders, senders),
        actions=("listen", "transmit"),
        observations=product(("empty", "waiting"), CHANNEL),
        start=((0, "off"), (0, "off")),
        transition=transition,
        observation=observation,
        reward=lambda state: -sum(packets for packets, _ in state),
        discount=discount,
        name="wireless",
    )
