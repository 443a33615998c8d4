"""Proposals of other sizes: what they keep, and that the start node stays first."""

import numpy as np
import pytest
from learners import data

from decpomdp.learners import Fixed, StickBreaking
from decpomdp.learners.posterior import Counts, occupied_nodes, updated
from decpomdp.learners.sizing import SPARE, larger, merged, next_size, smaller

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
    assert next_size(posterior, counts, 0.01) is None


def test_the_next_size_counts_nodes_in_use():
    posterior, counts = setting([10.0, 30.0, 0.0])
    assert next_size(posterior, counts, 0.01) == 3
