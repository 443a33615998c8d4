"""Statistics of logged episodes, and over how many steps they can support an off-policy evaluation.

An episode is evidence for another team only as long as the team takes the same actions. A deterministic team agrees
with an action with the probability of that action under the behaviour, so after t steps about
K exp(mean over episodes of ln of the product of those probabilities) of K episodes still agree.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import NO_OBSERVATION, Episodes
from decpomdp.evaluation.sampled import mean_return, unit_of
from decpomdp.kernels.weighing import running_sums

ENOUGH = 10.0  # episodes that must agree with a team


def facts_of(episodes: Episodes) -> dict[str, Any]:
    """Counts, lengths, rewards, returns and probabilities of episodes."""
    returns, ended = episodes.returns(), np.asarray(episodes.terminated)
    _, error = mean_return([returns])
    return {
        "name": episodes.name,
        "episodes": episodes.count,
        "steps": episodes.steps,
        "lengths": _spread(episodes.lengths),
        "terminated": int(ended.sum()),
        "truncated": int((~ended).sum()),
        "discount": episodes.discount,
        "returns": {**_spread(returns), "standard_error": error if len(returns) > 1 else None},
        "rewards": _spread(episodes.rewards),
        "agents": [_agent(episodes, n) for n in range(len(episodes.agents))],
        "joint_actions": {
            "seen": len(np.unique(episodes.actions, axis=0)),
            "possible": int(np.prod([len(agent.actions) for agent in episodes.agents], dtype=object)),
        },
        "behaviour": _behaviour(episodes),
        "facts": dict(episodes.facts),
    }


def _spread(values: NDArray) -> dict[str, float]:
    kind = int if values.dtype.kind in "iu" else float
    unit = unit_of(values)
    mean = unit * float((values / unit).mean()) if unit > 1 else float(values.mean())
    return {"mean": mean, "min": kind(values.min()), "max": kind(values.max())}


def _agent(episodes: Episodes, n: int) -> dict[str, Any]:
    """Name and alphabets of one agent with the counts of all labels."""
    agent, seen = episodes.agents[n], episodes.observations[:, n]
    actions = np.bincount(episodes.actions[:, n], minlength=len(agent.actions))
    observations = np.bincount(seen[seen != NO_OBSERVATION], minlength=len(agent.observations))
    return {
        "name": agent.name,
        "actions": dict(zip(agent.actions, actions.tolist(), strict=True)),
        "observations": dict(zip(agent.observations, observations.tolist(), strict=True)),
        "nothing_seen": int((seen == NO_OBSERVATION).sum()),  # before the first action
    }


def _behaviour(episodes: Episodes) -> dict[str, Any]:
    """How many of the behaviour's probabilities are known, and their range."""
    known = ~np.isnan(episodes.behaviour)
    values = episodes.behaviour[known]
    return {
        "known": int(known.sum()),
        "of": int(known.size),
        "min": float(values.min()) if values.size else None,
        "max": float(values.max()) if values.size else None,
        "supported_steps": _supported(episodes) if known.all() else None,
    }


def _supported(episodes: Episodes) -> int:
    """Steps over which at least ENOUGH episodes are expected to agree with a deterministic team."""
    logs = np.empty(episodes.steps)
    running_sums(np.log(episodes.behaviour, dtype=np.float64), episodes.offsets, logs)
    steps = np.arange(int(episodes.lengths.max()))
    last = np.minimum(steps, episodes.lengths[:, None] - 1)  # [k, t] an episode that has ended keeps its last value
    agreeing = episodes.count * np.exp(logs[episodes.offsets[:-1, None] + last].mean(axis=0))  # [t]
    return int(np.argmax(np.append(agreeing, 0.0) < ENOUGH))
