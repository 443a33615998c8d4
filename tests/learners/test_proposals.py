"""Proposals of other sizes: what they keep, and that the start node stays first."""

import numpy as np
import pytest
from learners import data

from decpomdp.learners import Fixed, StickBreaking
from decpomdp.learners.posterior import Counts, occupied_nodes, updated
from decpomdp.learners.proposals import SPARE, TRIES, larger, merged, merged_singly, other_sizes, smaller

AGENT = data.AGENTS[0]


def setting(use, prior=None):
    """Counts of nodes used so often, every entry of its own size, and their posterior."""
    rng, nodes = np.random.default_rng(3), len(use)
    weight = np.array(use, float)
    visits = weight[:, None] * rng.dirichlet(np.ones(2), nodes)
    moves = visits[:, :, None, None] * 0.5 * rng.dirichlet(np.ones(nodes), (nodes, 2, 2))
    counts = Counts(np.zeros((2, nodes)), visits, moves)
    return (updated(AGENT, (prior or StickBreaking()).priors(AGENT), counts),), [counts]


def names(before, after):
    """Which node of `before` each node of `after` is, by its visits."""
    return [int(np.abs(before[0].visits - row).sum(axis=1).argmin()) for row in after[0].visits]


def test_empty_nodes_go_and_the_start_stays_first():
    posterior, counts = setting([0.001, 40, 0.2, 50, 0.1, 0.05, 9])
    fitting, bare, ordered = smaller(posterior, counts, 0.01)
    assert names(counts, fitting) == [0, 1, 2, 3, 4, 6]  # three in use, the start, and the two most used of the others
    assert len(fitting[0].visits) == 4 + SPARE
    assert names(counts, bare) == [0, 1, 3, 6]
    assert names(counts, ordered) == [0, 3, 1, 6, 2, 4]


@pytest.mark.parametrize(("threshold", "kept"), [(0.0, [0, 1, 2, 3]), (0.01, [0, 1, 3]), (0.3, [0, 1]), (0.6, [0])])
def test_the_threshold_decides_who_is_occupied(threshold, kept):
    assert occupied_nodes(np.array([0.001, 0.55, 0.009, 0.2]), threshold).tolist() == kept


def test_a_split_leaves_the_second_action_to_a_new_node():
    posterior, counts = setting([10.0, 30.0, 5.0])
    ((after,),) = larger(posterior, counts, 0.01)
    before = counts[0]
    node = int(np.sort(before.visits, axis=1)[:, 0].argmax())
    rarer = int(before.visits[node].argmin())
    assert after.nodes == 4
    assert after.visits[node, rarer] == 0
    assert after.visits[3].tolist() == [before.visits[node, a] if a == rarer else 0 for a in range(2)]
    assert after.visits.sum() == pytest.approx(before.visits.sum())
    assert after.moves.sum() == pytest.approx(before.moves.sum())
    into = after.moves[..., 3].sum() / after.moves[..., [node, 3]].sum()
    assert into == pytest.approx(before.visits[node, rarer] / before.visits[node].sum())


def test_a_merge_loses_no_counts_and_not_the_start():
    posterior, counts = setting([0.5, 30.0, 5.0])
    ((after,),) = merged(posterior, counts, 0.001)
    assert after.nodes == 2
    assert after.visits.sum() == pytest.approx(counts[0].visits.sum())
    assert after.moves.sum() == pytest.approx(counts[0].moves.sum())


def test_sizes_that_are_given_stay():
    posterior, counts = setting([10.0, 30.0, 0.0], Fixed(3))
    assert smaller(posterior, counts, 0.01) == larger(posterior, counts, 0.01) == merged(posterior, counts, 0.01) == []
    assert list(merged_singly(posterior, counts, 0.01)) == []
    assert other_sizes(posterior, counts, 0.01, True) == []


@pytest.mark.parametrize(
    ("use", "sizes"),
    [([10.0, 0.0], [1, 2, 3, 4, 5, 6]), ([5.0] * 12 + [0.0], [1, 2, 3, 4, 5, 6, 11, 13])],
)
def test_fresh_beginnings_are_of_few_nodes_and_of_one_less_and_more_than_are_in_use(use, sizes):
    posterior, counts = setting(use)
    assert other_sizes(posterior, counts, 0.01, True) == sizes


def test_only_a_single_node_makes_way_for_a_fresh_beginning_where_a_team_was_given():
    assert other_sizes(*setting([10.0, 0.0]), 0.01, False) == [2]
    assert other_sizes(*setting([10.0, 30.0]), 0.01, False) == []


def test_one_agent_may_shrink_while_another_stays():
    (first,), (some,) = setting([10.0, 30.0, 5.0, 0.0])
    (second,), (others,) = setting([20.0, 1.0])
    found = dict(merged_singly((first, second), [some, others], 0.01))
    assert list(found) == ["merge 1:1", "merge 0:2", "merge 0:1"]  # the rarest first, never the start
    assert [[c.nodes for c in proposal] for proposal in found.values()] == [[3, 1], [2, 2], [2, 2]]
    for proposal in found.values():
        for before, after in zip((some, others), proposal, strict=True):
            assert after.visits.sum() == pytest.approx(before.visits.sum())
            used = before.visits.sum(axis=1) > 0
            assert after.moves.sum() == pytest.approx(before.moves[used][..., used].sum())


def test_many_nodes_are_not_all_tried():
    posterior, counts = setting([5.0] * (TRIES + 5))
    assert len(list(merged_singly(posterior, counts, 0.001))) == TRIES
