"""Checks of a model and of settings that depend on it, shared by the planners."""

import math

from decpomdp.core import DecPOMDP, InputError


def check_infinite_horizon(model: DecPOMDP) -> None:
    """Reject a model whose rewards have no finite discounted sum."""
    if model.discount >= 1:
        raise InputError(f"an infinite horizon needs a discount below 1, got {model.discount}")
    check_rewards(model)


def check_rewards(model: DecPOMDP) -> None:
    """Reject rewards whose sums are not finite."""
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
