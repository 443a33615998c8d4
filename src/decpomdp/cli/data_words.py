"""Logged episodes in words."""

from collections.abc import Mapping
from typing import Any

from decpomdp.cli.words import decimal

SHOWN = 12  # labels of an alphabet, the most frequent ones


def data_in_words(told: Mapping[str, Any]) -> list[str]:
    """Lines about the facts of logged episodes."""
    lengths, returns, rewards = told["lengths"], told["returns"], told["rewards"]
    error = "" if returns["standard_error"] is None else f" +- {decimal(returns['standard_error'])} (standard error)"
    assumed = " (assumed: the file does not say)" if told["discount_assumed"] else ""
    joint = told["joint_actions"]
    return [
        f"{told['name'] or told['file']}: {told['episodes']} episodes, {told['steps']} steps, "
        f"{len(told['agents'])} agents, discount {told['discount']:g}{assumed}",
        f"lengths {lengths['min']} to {lengths['max']}, mean {lengths['mean']:.4g}; "
        f"{told['terminated']} ended by themselves, {told['truncated']} were cut off",
        f"returns {decimal(returns['min'])} to {decimal(returns['max'])}, mean {decimal(returns['mean'])}{error}",
        f"rewards {rewards['min']:g} to {rewards['max']:g}, mean {decimal(rewards['mean'])}",
        f"joint actions seen: {joint['seen']} of {joint['possible']}",
        *_behaviour(told["behaviour"], told["episodes"]),
        *(line for agent in told["agents"] for line in _agent(agent)),
        *(f"{key}: {value}" for key, value in told["facts"].items()),
    ]


def _behaviour(told: Mapping[str, Any], episodes: int) -> list[str]:
    if not told["known"]:
        return ["behaviour probabilities: unknown; learning has to estimate them, off-policy evaluation cannot"]
    if told["known"] < told["of"]:
        return [f"behaviour probabilities: known for {told['known']} of {told['of']} actions"]
    return [
        f"behaviour probabilities: known, {told['min']:.4g} to {told['max']:.4g}",
        f"a team that never varies is supported for about {told['supported_steps']} steps (10 of {episodes} episodes)",
    ]


def _agent(told: Mapping[str, Any]) -> list[str]:
    nothing = f"; nothing before the first action: {told['nothing_seen']}" if told["nothing_seen"] else ""
    return [
        f"{told['name']}",
        f"  actions      {_counts(told['actions'])}",
        f"  observations {_counts(told['observations'])}{nothing}",
    ]


def _counts(counts: Mapping[str, int]) -> str:
    """`listen 120, open-left 3, never: open-right`; the most frequent of many."""
    seen = [(label, count) for label, count in counts.items() if count]
    never = [label for label, count in counts.items() if not count]
    shown = seen if len(seen) <= SHOWN else sorted(seen, key=lambda pair: -pair[1])[:SHOWN]
    parts = [f"{label} {count}" for label, count in shown]
    parts += [f"and {len(seen) - len(shown)} more"] if len(shown) < len(seen) else []
    parts += [f"never: {' '.join(never[:SHOWN])}{' ...' if len(never) > SHOWN else ''}"] if never else []
    return ", ".join(parts)
