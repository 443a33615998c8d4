"""Merged and ordered nodes: what they keep, and that the start node stays first. Reopened choices."""

import numpy as np
import pytest
from learners import data

import decpomdp as dp
from decpomdp.core.run import Inputs, unlimited
from decpomdp.learners import Fixed, StickBreaking
from decpomdp.learners.method import REOPENED, STARTING, WHOLE, SbprMethod
from decpomdp.learners.posterior import Counts, updated

AGENT = data.AGENTS[0]


def posterior(use, prior=None, likeliest=None):
    """Nodes used so often, every entry of its own size."""
    rng, nodes = np.random.default_rng(3), len(use)
    visits = np.array(use, float)[:, None] * rng.dirichlet(np.ones(2), nodes)
    if likeliest is not None:
        visits = np.where(visits.argmax(axis=1)[:, None] == np.array(likeliest)[:, None], visits, visits[:, ::-1])
    moves = visits[:, :, None, None] * 0.5 * rng.dirichlet(0.1 + np.array(use, float), (nodes, 2, 2))
    return updated(AGENT, (prior or StickBreaking(d=1.0)).priors(AGENT), Counts(np.zeros((2, nodes)), visits, moves))


def test_a_merge_keeps_all_counts():
    counts = posterior([30, 20, 5, 9]).counts
    less = counts.merged(2, 1)
    assert less.nodes == 3
    assert less.visits == pytest.approx(
        np.array([counts.visits[0], counts.visits[1] + counts.visits[2], counts.visits[3]])
    )
    assert less.moves.sum() == pytest.approx(counts.moves.sum())
    assert less.moves[1, ..., 1] == pytest.approx(counts.moves[np.ix_([1, 2], [0, 1], [0, 1], [1, 2])].sum(axis=(0, 3)))
    assert less.moves[0, ..., 2] == pytest.approx(counts.moves[0, ..., 3])


def test_merges_are_of_like_nodes_the_likeliest_counts_first():
    agent = posterior([30, 20, 5, 9], likeliest=[0, 1, 1, 0])
    merges = agent.merges()
    assert len(merges) == 2  # 3 into 0, 2 into 1
    evidence = [one.log_evidence() for one in merges]
    assert evidence == sorted(evidence, reverse=True)
    assert all(one.nodes == 3 for one in merges)
    starts = [one.counts.visits[0] - agent.counts.visits[0] for one in merges]
    assert all((start >= 0).all() for start in starts)  # the start node is never merged away
    assert posterior([30], likeliest=[0]).merges() == []


def test_nodes_are_ordered_by_use_where_that_makes_the_counts_likelier():
    agent = posterior([2, 1, 40, 9])
    better = agent.ordered()
    assert better.log_evidence() > agent.log_evidence()
    assert better.counts.visits[0] == pytest.approx(agent.counts.visits[0])
    assert better.counts.visits.sum(axis=1)[1:] == pytest.approx([40, 9, 1])
    assert better.ordered() is better
    fixed = posterior([2, 1, 40, 9], Fixed(4))
    assert fixed.ordered() is fixed  # no order in its prior


def test_choices_are_opened_again_while_the_bound_of_an_agent_rises_and_the_best_start_wins():
    episodes = data.episodes(np.random.default_rng(5), 2, count=60, longest=8)
    method = SbprMethod(episodes, dp.Sbpr(judge=False, starts=3, truncation=5), Inputs(seed=1))
    state, bounds = method.init(unlimited()), {}
    while state.phase != WHOLE:
        if state.phase != STARTING:
            bounds.setdefault(state.rank, []).append([best.bound for best in state.chosen])
        state, _ = method.step(state, unlimited())
        assert state.rounds <= REOPENED
    assert len(bounds) == 3
    assert all(np.all(np.diff(trail, axis=0) >= 0) for trail in bounds.values())
    assert max(np.ptp(trail, axis=0).max() for trail in bounds.values()) > 1
    final = [best.bound for best in state.chosen]
    assert np.all(final >= np.max([trail[-1] for trail in bounds.values()], axis=0))
    first = [trail[0] for trail in bounds.values()]
    assert first == [
        list(each) for each in zip(*(sorted(one, reverse=True) for one in zip(*first, strict=True)), strict=True)
    ]
