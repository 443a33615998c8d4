"""Shared by the planners: checks, the first team, exact values of teams, and a toy model for warm-up.

Also the centralised problem: one agent that sees all joint observations and takes the joint actions. Its value is an
upper bound for every team, because each agent of a team sees only its own observations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from decpomdp.core import Agent, Controller, DecPOMDP, InputError, Team
from decpomdp.core.agent import numbered
from decpomdp.evaluation import exact_value

NAME = "all"  # of the one agent
PREFIX = "centralised "  # of the problem's name


@dataclass(frozen=True, slots=True, eq=False)
class ValuedTeam:
    """A team and its exact value; planners report no other lower bound."""

    team: Team
    value: float


def valued(model: DecPOMDP, team: Team, horizon: int | None = None) -> ValuedTeam:
    """A team with the value that the evaluator computes."""
    return ValuedTeam(team, exact_value(model, team, horizon).value)


def first_team(model: DecPOMDP) -> Team:
    """Every agent always takes its first action."""
    return Team.of(
        model,
        [Controller.deterministic([0], [[0] * len(agent.observations)], len(agent.actions)) for agent in model.agents],
    )


def trivial_upper_bound(model: DecPOMDP, horizon: int | None) -> float:
    """The value of the greatest reward at every step."""
    most, discount = float(model.reward.max()), model.discount
    if horizon is None:
        return most / (1 - discount)
    return most * (horizon if discount == 1 else (1 - discount**horizon) / (1 - discount))


def check_model(model: DecPOMDP, horizon: int | None = None) -> None:
    """Reject a model without a finite sum of discounted rewards."""
    if horizon is None and model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}")


def per_agent(model: DecPOMDP, name: str, sizes: int | tuple[int, ...]) -> tuple[int, ...]:
    """One size per agent."""
    if isinstance(sizes, int):
        return (sizes,) * len(model.agents)
    if len(sizes) != len(model.agents):
        raise InputError(f"{name}: expected one number for each of {len(model.agents)} agents, got {len(sizes)}")
    return sizes


def toy_model(agents: int) -> DecPOMDP:
    """A random model of two states, actions and observations, on which planners compile their kernels."""
    joint, rng = 2**agents, np.random.default_rng(0)
    return DecPOMDP(
        agents=tuple(Agent(f"agent{n}", ("0", "1"), ("0", "1")) for n in range(agents)),
        states=("0", "1"),
        start=np.array([0.5, 0.5]),
        transition=rng.dirichlet(np.ones(2), (joint, 2)),
        observation=rng.dirichlet(np.ones(joint), (joint, 2)),
        reward=rng.normal(size=(joint, 2)),
        discount=0.5,
    )


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
        scene=model.scene,
    )


def played_by(model: DecPOMDP, team: Team) -> DecPOMDP:
    """The problem of `team`: the model, or the centralised one for a one-agent team on a model of several agents."""
    return centralised(model) if len(team.agents) == 1 < len(model.agents) else model


def _joined(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Labels of all combinations, the last part fastest; numbers where joined labels would not be unique."""
    joint = tuple("+".join(labels) for labels in product(*parts))
    return joint if len(set(joint)) == len(joint) else numbered(len(joint))
