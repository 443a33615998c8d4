"""Wireless network with delay: two senders with bursty traffic share a channel.

States, per sender: 0 to 3 packets in its buffer, and whether its source is on or off (64 states). Buffers are empty at
the start, sources on or off with equal probability. Actions: transmit, listen. Observations (6): whether the own buffer
is empty, and how many have transmitted: none, one or both, correct with probability 0.9.

Dynamics: a packet is delivered if its sender transmits and the other listens. If both transmit, none is delivered, even
if one has no packet. Then a source that is on adds a packet, which is lost if the buffer is full. Sources turn on with
probability 0.01 and off with 0.02. Rewards: minus the packets that wait in both buffers, so that delay costs.

Source: J. Pajarinen, J. Peltonen. Efficient planning for factored infinite-horizon DEC-POMDPs. IJCAI 2011. Numbers and
order of states, actions and observations follow the public file wirelessDelay.dpomdp, of which about half was compared.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

BUFFER = 3  # packets
TURNS_ON, TURNS_OFF = 0.01, 0.02
ACCURACY = 0.9
CHANNEL = ("silence", "packet", "collision")
Sender = tuple[int, str]  # packets, source


def build(discount: float = 0.9) -> DecPOMDP:
    """Two senders with bursty traffic share a channel; a packet gets through if only one transmits.

    Each sees whether its own buffer is empty and hears, with noise, how many transmitted. The team loses the number of
    waiting packets in every step.
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

    sources, buffers = ("off", "on"), range(BUFFER + 1)
    return from_rules(
        states=[((a, x), (b, y)) for y, x, b, a in product(sources, sources, buffers, buffers)],
        actions=("transmit", "listen"),
        observations=product(("empty", "waiting"), CHANNEL),
        start=({(0, source) for source in sources},) * 2,
        transition=transition,
        observation=observation,
        reward=lambda state: -sum(packets for packets, _ in state),
        discount=discount,
        name="wireless",
    )
