"""The semi-random behaviour: episodes of a team that follows a policy with some probability.

At every step a policy on joint beliefs chooses a joint action. Each agent, independently, takes its part with the given
probability and otherwise a uniform action. The belief is updated with the actual joint action and observation.

This behaviour is not decentralised: an agent's action depends on the joint history. The recorded probability is
p(a_n | joint history). Given the joint history the agents choose independently, so the product of the recorded
probabilities is exactly the probability of the joint action, and ratios of a team's joint probability to it are
unbiased importance weights. Weights that use one agent's factors alone, or probabilities estimated from an agent's
own history, are biased: its action also depends on the others' observations.
"""

from collections.abc import Iterator

import numpy as np

from decpomdp.core import DecPOMDP, Episodes, InputError
from decpomdp.core.checks import freeze, whole
from decpomdp.core.sparse import alias_model, factored_model
from decpomdp.engines import threads as engine
from decpomdp.kernels.point_backup import Leader, wander
from decpomdp.kernels.rollout import Paths, cut_paths
from decpomdp.kernels.sampling import key_of
from decpomdp.planners.pbvi.method import AlphaPolicy
from decpomdp.rollouts.collect import LONGEST

CHUNK = 1_000_000  # agent-steps per batch
PIECE = 512  # joint steps per task of a thread, about


def semi_random(
    model: DecPOMDP,
    policy: AlphaPolicy,
    probability: float,
    *,
    episodes: int,
    steps: int,
    seed: int = 0,
    threads: int | None = None,
) -> Iterator[Episodes]:
    """Episodes in which every agent follows `policy` with `probability`, in batches of bounded size.

    They depend on the seed, not on `threads`.
    """
    count, length = whole("episodes", episodes, 1, 2**53), whole("steps", steps, 1, LONGEST)
    key = key_of(whole("seed", seed, 0, 2**64 - 1))
    world, dynamics, leader = alias_model(model), factored_model(model), _leader(model, policy, probability)
    facts = {"behaviour": f"semi-random: a joint policy followed with probability {leader.follow:g}, else uniform"}

    def chunk(first: int, size: int) -> Episodes:
        paths, parts = cut_paths(first, size, length, len(model.agents), True, PIECE // length)
        engine.run(lambda k: wander(world, dynamics, leader, key, *parts[k]), len(parts), threads)
        return _episodes(model, paths, length, facts)

    size = max(1, CHUNK // (length * len(model.agents)))
    return (chunk(first, min(size, count - first)) for first in range(0, count, size))


def _leader(model: DecPOMDP, policy: AlphaPolicy, probability: float) -> Leader:
    if not 0 <= probability <= 1:
        raise InputError(f"probability: expected a number from 0 to 1, got {probability}")
    states, least, most = policy.vectors.shape[1], int(policy.actions.min()), int(policy.actions.max())
    if states != len(model.states) or least < 0 or most >= model.joint_actions:
        raise InputError(
            f"policy: expected vectors over {len(model.states)} states and actions from 0 to "
            f"{model.joint_actions - 1}, got {states} states and an action {least if least < 0 else most}"
        )
    support = np.flatnonzero(model.start)
    return Leader(
        vectors=np.ascontiguousarray(policy.vectors.T),
        actions=policy.actions,
        parts=model.action_table(),
        sizes=np.array([len(agent.actions) for agent in model.agents]),
        start=support,
        chance=model.start[support],
        follow=float(probability),
    )


def _episodes(model: DecPOMDP, paths: Paths, length: int, facts: dict[str, str]) -> Episodes:
    return Episodes(
        agents=model.agents,
        offsets=np.arange(0, len(paths.rewards) + 1, length),
        observations=freeze(paths.observations),
        actions=freeze(paths.actions),
        behaviour=freeze(np.minimum(paths.behaviour, np.float32(1))),
        rewards=freeze(paths.rewards),
        discount=model.discount,
        name=model.name,
        facts=facts,
    )
