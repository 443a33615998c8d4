"""Behaviour probabilities: the denominators of the importance ratios.

The ratio at step t divides by the probability that the behaviour took *all* actions up to t. For one behaviour that
is the product of the recorded marginals. For several batches collected by different teams it is the mixture of the
teams, weighted by their shares of the episodes: few action sequences are unlikely under all of them.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from decpomdp.core import Episodes, InputError, Team, checks, concatenate
from decpomdp.core.errors import LearningWarning
from decpomdp.filtering.filter import cumulated, log_likelihood
from decpomdp.learners.rows import Floats

Kind = TypeVar("Kind")


def with_denominators(
    given: Episodes | Sequence[Episodes], teams: Sequence[Team] | None, estimate: bool
) -> tuple[Episodes, Floats]:
    """All episodes, and [r] the log probability of the behaviours' actions so far."""
    batches = batches_of(given)
    if teams is not None:
        if estimate:
            raise InputError("estimate_behaviour: expected False with behaviours, got True")
        return log_mixture(batches, _listed("behaviours", teams, Team))
    together = concatenate(batches)
    unknown = int(np.isnan(together.behaviour).sum())
    if estimate and unknown:
        together = estimated(together)
        warnings.warn(
            f"{unknown} of {together.behaviour.size} action probabilities were unknown; they are estimated from "
            "the actions taken after the same previous action and observation",
            LearningWarning,
            stacklevel=4,
        )
    return together, log_behaviour(together)


def batches_of(given: Episodes | Sequence[Episodes]) -> list[Episodes]:
    """The episodes as a checked list."""
    return _listed("episodes", given if isinstance(given, Sequence) else [given], Episodes)


def log_behaviour(episodes: Episodes) -> Floats:
    """[r]: log probability of all agents' actions so far in the episode, from the recorded probabilities."""
    unknown = np.isnan(episodes.behaviour)
    if unknown.any():
        row, n = (int(i) for i in np.argwhere(unknown)[0])
        raise InputError(
            f"{episodes.place(row)}, agent {episodes.agents[n].name}: the behaviour's action probability is unknown; "
            f"record it, or use estimate_behaviour"
        )
    return cumulated(np.log(episodes.behaviour, dtype=np.float64), episodes)


def estimated(episodes: Episodes) -> Episodes:
    """The same episodes with unknown probabilities replaced by frequencies.

    The estimate is p(action | previous action, last observation) of each agent, from all its steps, with half a count
    added to every action. It assumes a behaviour without longer memory.
    """
    behaviour = np.array(episodes.behaviour)
    starts = np.zeros(episodes.steps, bool)
    starts[episodes.offsets[:-1]] = True
    for n, agent in enumerate(episodes.agents):
        actions, seen = episodes.actions[:, n].astype(np.int64), episodes.observations[:, n].astype(np.int64)
        last = np.where(starts, len(agent.actions), np.roll(actions, 1))
        situation = last * (1 + len(agent.observations)) + seen + 1
        table = np.full(((1 + len(agent.actions)) * (1 + len(agent.observations)), len(agent.actions)), 0.5)
        np.add.at(table, (situation, actions), 1.0)
        guess = (table / table.sum(axis=1, keepdims=True))[situation, actions]
        unknown = np.isnan(behaviour[:, n])
        behaviour[unknown, n] = guess[unknown]
    facts = {**episodes.facts, "behaviour": "estimated from (previous action, last observation)"}
    return replace(episodes, behaviour=behaviour, facts=facts)


def log_mixture(batches: Sequence[Episodes], behaviours: Sequence[Team]) -> tuple[Episodes, Floats]:
    """All episodes, and [r] the log probability of the actions so far under the mixture of the behaviours."""
    # DEPARTS: the paper divides by the probability of the one behaviour that acted
    if len(batches) != len(behaviours):
        raise InputError(f"behaviours: expected one team for each of {len(batches)} batches, got {len(behaviours)}")
    together = concatenate(list(batches))
    shares = np.array([batch.count for batch in batches]) / together.count
    total = np.full(together.steps, -np.inf)
    for share, team in zip(shares, behaviours, strict=True):
        team.check_fits(together)
        total = np.logaddexp(total, np.log(share) + log_likelihood(together, team))
    if np.isneginf(total).any():
        row = int(np.isneginf(total).argmax())
        raise InputError(
            f"{together.place(row)}: expected actions with a positive probability under one of the behaviours, got none"
        )
    return together, total


def _listed(name: str, given: Sequence[Kind], kind: type[Kind]) -> list[Kind]:
    """`given` as a checked list."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError(f"{name}: expected a list of {kind.__name__} objects, got {checks.kind_of(given)}")
    return [checks.of_kind(f"{name}[{place}]", each, kind) for place, each in enumerate(given)]
