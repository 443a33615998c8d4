"""Learning from episodes as a user does it: good data, beginnings, threads, agents, ends and the posterior."""

from dataclasses import replace

import numpy as np
import pytest
from learners.logged import alternating, fitted, logged, quiet

from decpomdp.core import Agent, Episodes
from decpomdp.learners import (
    Fixed,
    prior_named,
)


def test_the_unit_of_the_rewards_does_not_matter():
    data = alternating(count=200)
    plain, huge = (
        fitted(replace(data, rewards=unit * data.rewards), settings={"truncation": 5}) for unit in (1.0, 1e30)
    )
    assert len(plain.trace) == len(huge.trace)
    assert plain.posterior.sizes == huge.posterior.sizes


@quiet
@pytest.mark.parametrize("prior", ["stick-breaking", "dp", "fixed:4", "em:4"])
def test_the_same_for_any_number_of_threads(prior, monkeypatch):
    monkeypatch.setattr("decpomdp.filtering.filter.CHUNK_EPISODES", 64)
    _, episodes = logged(count=200, horizon=5)  # four chunks
    settings = {"truncation": 4 if prior_named(prior).nodes is None else None, "sweeps": 6, "starts": 2}
    fits = [
        fitted(episodes, prior_named(prior), "random", settings=settings, seed=4, threads=threads)
        for threads in (1, 2, 5)
    ]
    assert fits[0].team == fits[1].team == fits[2].team
    assert [row["bound"] for row in fits[0].trace] == [row["bound"] for row in fits[1].trace]


@quiet
def test_first_observations_choose_the_first_node():
    """The right action is shown before it must be taken: only a start that depends on what is seen can use that."""
    rng = np.random.default_rng(0)
    count = 600
    seen, did = rng.integers(0, 2, (count, 1)), rng.integers(0, 2, (count, 1))
    episodes = Episodes(
        (Agent("x", ("a", "b"), ("o", "p")),),
        np.arange(count + 1),
        seen,
        did,
        np.full((count, 1), 0.5),
        (seen == did).astype(float).ravel(),
        0.9,
    )
    fit = fitted(episodes, settings={"truncation": 4})
    controller = fit.team.controllers[0]
    for o in (0, 1):
        assert controller.action[controller.initial_given[o].argmax(), o] == 1


@quiet
def test_the_posterior_can_be_sampled_and_narrows_with_evidence():
    _, episodes = logged(count=300, horizon=5)
    spreads = []
    for evidence in (30.0, 30_000.0):
        settings = {"evidence": evidence, "sweeps": 20}
        fit = fitted(episodes, Fixed(3), "random", settings=settings, seed=2)
        rng = np.random.default_rng(0)
        draws = [fit.posterior.sample(rng) for _ in range(50)]
        assert all(draw.agents == episodes.agents for draw in draws)
        spreads.append(np.mean([np.std([d.controllers[n].action for d in draws], axis=0).mean() for n in (0, 1)]))
    assert spreads[1] < 0.5 * spreads[0]
