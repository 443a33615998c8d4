"""Dec-Tiger: two agents before two doors, a tiger behind one of them and a treasure behind the other.

States: tiger-left, tiger-right; uniform at the start.
Actions: listen, open-left, open-right. Observations: hear-left, hear-right.

Dynamics: while both listen the state does not change, and each agent, independently of the other, hears the tiger on
its true side with probability 0.85. If any agent opens a door, the tiger is placed behind a random door, and the
observations of that step are uniform noise.

Rewards: listening costs 1. An agent that opens the treasure's door while no agent opens the tiger's gains 10. Meeting
the tiger costs the team 100, or only 50 when both open its door together, and a treasure opened in the same step is
then lost:

    listen, listen                   -2          both the treasure's door         20
    one treasure, one listens         9          both the tiger's door           -50
    one tiger, one listens         -101          different doors                -100

For n agents, our own generalisation: the state does not change while all listen; the tiger costs 50 only if all open
its door.
The skewed version starts with the tiger on the left with probability 0.8.

Source: R. Nair, M. Tambe, M. Yokoo, D. Pynadath, S. Marsella. Taming decentralized POMDPs: towards efficient policy
computation for multiagent settings. IJCAI 2003.
"""

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

STATES = ("tiger-left", "tiger-right")
ACTIONS = ("listen", "open-left", "open-right")
OBSERVATIONS = ("hear-left", "hear-right")

HEARING = 0.85  # chance that one agent hears the tiger on its true side
LISTEN_COST = -1.0
TREASURE = 10.0
TIGER_ALONE = -100.0
TIGER_TOGETHER = -50.0


def build(agents: int = 2, discount: float = 0.9, name: str = "dectiger", left: float = 0.5) -> DecPOMDP:
    """A tiger is behind one of two doors, a treasure behind the other. Agents listen or open a door.

    While all listen, each hears the tiger on its true side with probability 0.85. When an agent opens a door, the tiger
    is placed at random. Opening the treasure's door together pays most; the tiger costs least if all open its door.
    """

    def transition(state: str, actions: tuple[str, ...]) -> object:
        return state if _all_listen(actions) else set(STATES)

    def observation(agent: int, actions: tuple[str, ...], next_state: str) -> object:
        if not _all_listen(actions):
            return set(OBSERVATIONS)
        true, false = OBSERVATIONS if next_state == "tiger-left" else OBSERVATIONS[::-1]
        return {true: HEARING, false: 1 - HEARING}

    return from_rules(
        agents=agents,
        states=STATES,
        actions=ACTIONS,
        observations=OBSERVATIONS,
        start=dict(zip(STATES, (left, 1 - left), strict=True)),
        transition=transition,
        observation=observation,
        reward=_reward,
        discount=discount,
        name=name,
    )


def skewed(discount: float = 0.9) -> DecPOMDP:
    """Dec-Tiger that starts with the tiger on the left with probability 0.8."""
    return build(discount=discount, name="skewedtiger", left=0.8)


def _all_listen(actions: tuple[str, ...]) -> bool:
    return set(actions) == {"listen"}


def _reward(state: str, actions: tuple[str, ...]) -> float:
    listeners = actions.count("listen")
    at_tiger = actions.count("open-left" if state == "tiger-left" else "open-right")
    if at_tiger == len(actions):
        return TIGER_TOGETHER
    if at_tiger:
        return TIGER_ALONE + LISTEN_COST * listeners
    return TREASURE * (len(actions) - listeners) + LISTEN_COST * listeners
