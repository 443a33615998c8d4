"""Hotel: two porters look for guests on two floors each and share one lift. A reconstruction; rules and numbers are
ours.

States: the place of each porter: lobby, corridor, left wing, right wing (16 states); both start in the lobby.
Actions: left, right, wait. Observations: the own place.

Dynamics: from the lobby `left` and `right` lead to the corridor, which has room for one: if both want in, both stay.
From the corridor they lead to the wing of that name, with probability 0.9. From a wing any move leads back to the
lobby. Rewards: 5 for every porter who waits in a wing where the other is not; -2 for both in the same wing; a porter
who has waited goes back to the lobby with the guest.

After: M. Spaan, F. Melo. Interaction-driven Markov games for decentralized multiagent planning under uncertainty. AAMAS
2008. The literature uses a problem "Hotel 1" with these sizes and optima 10, 16.875 and 22.1875 for horizons 2 to 4;
its rules were not available, and this reconstruction has other optima.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

PLACES = ("lobby", "corridor", "left-wing", "right-wing")
SUCCESS = 0.9
GUEST, CROWDED = 5.0, -2.0


def build(discount: float = 0.9) -> DecPOMDP:
    """Two porters fetch guests from two wings behind a corridor that has room for one; each sees only where it is.

    A guest is worth 5 to a porter who waits alone in a wing and then returns to the lobby; two in the same wing cost 2.
    A reconstruction: rules and numbers are ours.
    """

    def transition(agent: int, state: tuple[str, str], actions: tuple[str, str]) -> object:
        here, action, other = state[agent], actions[agent], state[1 - agent]
        if here.endswith("wing"):
            return "lobby"
        if action == "wait":
            return here
        if here == "corridor":
            return {f"{action}-wing": SUCCESS, "corridor": 1 - SUCCESS}
        wanted = other == "corridor" or (other == "lobby" and actions[1 - agent] != "wait")
        return "lobby" if wanted else "corridor"

    def reward(state: tuple[str, str], actions: tuple[str, str]) -> float:
        if state[0] == state[1] and state[0].endswith("wing"):
            return CROWDED
        waiting = [place for place, action in zip(state, actions, strict=True) if action == "wait"]
        return GUEST * sum(place.endswith("wing") for place in waiting)

    return from_rules(
        states=product(PLACES, PLACES),
        actions=("left", "right", "wait"),
        observations=PLACES,
        start=("lobby", "lobby"),
        transition=transition,
        observation=lambda agent, next_state: next_state[agent],
        reward=reward,
        discount=discount,
        name="hotel",
    )
