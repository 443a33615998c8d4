"""Fire fighting: agents choose a house each; fires spread between neighbours, and two agents put one out.

States: the fire level of every house in a row, 0 (no fire) to levels - 1; all equally likely at the start.
Actions: the house to fight at. Observations: flames or none at that house.

Dynamics, for every house, given the levels before the step ("heated": a neighbouring house burns):
    no agent there  heated: one level up with probability 0.8; burning alone: up with 0.4; not burning alone: stays 0
    one agent       burning: one level down, with probability 0.6 if heated, else for certain
    two or more     the fire is out
Observations: each agent sees flames with probability 0.2, 0.5 or 0.8 if the level of its house after the step is 0, 1
or more. Rewards: minus the sum of all levels after the step.

In the graph version agent n stands between houses n and n + 1 and can fight at these two only.

Source: F. Oliehoek, M. Spaan, N. Vlassis. Optimal and approximate Q-value functions for decentralized POMDPs. JAIR 32,
2008; graph version: F. Oliehoek, M. Spaan, S. Whiteson, N. Vlassis. Exploiting locality of interaction in factored
Dec-POMDPs. AAMAS 2008. Rules as in the MADP toolbox.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

FLAMES = (0.2, 0.5, 0.8)  # chance to see flames at level 0, 1, higher
Levels = tuple[int, ...]


def build(
    agents: int = 2, houses: int = 3, levels: int = 3, discount: float = 0.9, name: str = "firefighting"
) -> DecPOMDP:
    """Agents fight fires in a row of houses; everyone chooses one house per step and sees, with noise, if it burns.

    Fires grow and spread to neighbours without an agent. One agent lowers a fire by one level, with probability 0.6
    next to another fire; two agents put it out. The team loses the sum of all levels in every step.
    """
    return _model(agents, levels, [tuple(range(houses))] * agents, discount, name)


def graph(agents: int = 3, levels: int = 3, discount: float = 0.9, name: str = "firegraph") -> DecPOMDP:
    """Fire fighting in which agent n reaches houses n and n + 1 only, so that neighbours share one house.

    Fires grow and spread to neighbours without an agent. One agent lowers a fire by one level, with probability 0.6
    next to another fire; two agents put it out. The team loses the sum of all levels in every step.
    """
    return _model(agents, levels, [(n, n + 1) for n in range(agents)], discount, name)


def _model(agents: int, levels: int, reach: list[tuple[int, ...]], discount: float, name: str) -> DecPOMDP:
    houses = 1 + max(max(own) for own in reach)

    names = [f"house{house + 1}" for house in range(houses)]

    def transition(state: Levels, actions: tuple[str, ...]) -> tuple[dict[int, float], ...]:
        return tuple(_after(state, house, actions.count(name), levels) for house, name in enumerate(names))

    def observation(agent: int, action: str, next_state: Levels) -> dict[str, float]:
        flames = FLAMES[min(next_state[names.index(action)], 2)]
        return {"flames": flames, "none": 1 - flames}

    return from_rules(
        agents=agents,
        states=product(range(levels), repeat=houses),
        actions={f"agent{n + 1}": [names[house] for house in own] for n, own in enumerate(reach)},
        observations=("flames", "none"),
        start=({*range(levels)},) * houses,
        transition=transition,
        observation=observation,
        reward=lambda next_state: -sum(next_state),
        discount=discount,
        name=name,
        scene=_scene,
    )


def _after(state: Levels, house: int, fighters: int, levels: int) -> dict[int, float]:
    """The level of one house after the step."""
    level = state[house]
    heated = any(state[near] > 0 for near in (house - 1, house + 1) if 0 <= near < len(state))
    if fighters >= 2 or (level == 0 and (fighters or not heated)):
        return {0: 1.0}
    if fighters == 1:
        return {level - 1: 0.6, level: 0.4} if heated else {level - 1: 1.0}
    grows = 0.8 if heated else 0.4
    return {level: 1.0} if level == levels - 1 else {level + 1: grows, level: 1 - grows}


def _scene(state: Levels) -> list[dict[str, object]]:
    return [{"kind": "box", "column": house, "row": 0, "label": f"fire {level}"} for house, level in enumerate(state)]
