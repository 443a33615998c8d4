"""Shared by the planners: checks, the first team, exact values of teams, and a toy model for warm-up."""

import math
from dataclasses import dataclass

import numpy as np

from decpomdp.core import Agent, Controller, DecPOMDP, InputError, Team
from decpomdp.evaluation import exact_value


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
    """Reject a model whose discounted sum of rewards is not finite."""
    if horizon is None and model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}")
    largest = max(abs(float(model.reward.max())), abs(float(model.reward.min())))
    if not math.isfinite(largest / max(1e-12, 1 - model.discount) * len(model.states)):
        raise InputError("value: the rewards are too large to be added up in floating point")


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
