"""A team's likelihood of what was done, against enumeration of all node paths."""

import numpy as np
import pytest
from learners import data
from oracles import making, sweeps

from decpomdp.filtering.filter import Buffers, log_likelihood


def test_log_likelihood_is_the_sum_over_paths():
    """With and without first observations, with controllers that heed them or not, and impossible actions."""
    for sparse in [False, True]:
        for shown, first in [(False, False), (True, True), (True, False)]:
            rng = np.random.default_rng(7)
            episodes = data.episodes(rng, 3, count=6, first=shown)
            team = making.team(rng, episodes, (3, 2, 1), sparse, first)
            got = log_likelihood(episodes, team)
            for k in range(episodes.count):
                part = slice(episodes.offsets[k], episodes.offsets[k + 1])
                wanted = np.ones(episodes.lengths[k])
                for n, c in enumerate(team.controllers):
                    parts = (c.initial, c.initial_given, c.action, c.transition)
                    wanted *= sweeps.prefix_likelihoods(
                        parts, episodes.actions[part, n], episodes.observations[part, n]
                    )
                assert np.exp(got[part]) == pytest.approx(wanted, rel=1e-10, abs=1e-14)


def test_the_list_of_buffers_is_used_by_one_thread_at_a_time():
    buffers = Buffers()

    class Watched(list):
        def __iter__(self):
            assert buffers._lock.locked()
            return super().__iter__()

        def append(self, item):
            assert buffers._lock.locked()
            super().append(item)

    buffers._unused = Watched()
    taken = buffers.take(3, 2, np.dtype(np.float64))
    buffers.give(taken)
    assert np.shares_memory(buffers.take(2, 2, np.dtype(np.float64)), taken)
    assert not np.shares_memory(buffers.take(2, 2, np.dtype(np.float64)), taken)
