"""The centralised problem: one agent that sees all joint observations and takes the joint actions.

Its value is an upper bound for every team, because each agent of a team has only a part of these observations.
"""

from collections.abc import Iterable
from itertools import product

from decpomdp.core import Agent, DecPOMDP, Team
from decpomdp.core.agent import numbered

NAME = "all"  # of the one agent
PREFIX = "centralised "  # of the problem's name


def centralised(model: DecPOMDP) -> DecPOMDP:
    """The same dynamics and rewards with one agent; its labels are the agents' labels joined by "+".

    >>> from decpomdp.domains.load import load
    >>> centralised(load("dectiger")).agents[0].actions[:3]
    ('listen+listen', 'listen+open-left', 'listen+open-right')
    """
    actions = _joined(agent.actions for agent in model.agents)
    observations = _joined(agent.observations for agent in model.agents)
    return DecPOMDP(
        agents=(Agent(NAME, actions, observations),),
        states=model.states,
        start=model.start,
        transition=model.transition,
        observation=model.observation,
        reward=model.reward,
        discount=model.discount,
        name=PREFIX + model.name,
    )


def played_by(model: DecPOMDP, team: Team) -> DecPOMDP:
    """The problem of `team`: the model, or the centralised one for a one-agent team on a model of several agents."""
    return centralised(model) if len(team.agents) == 1 < len(model.agents) else model


def _joined(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Labels of all combinations, the last part fastest; numbers where joined labels would not be unique."""
    joint = tuple("+".join(labels) for labels in product(*parts))
    return joint if len(set(joint)) == len(joint) else numbered(len(joint))
