"""Buffers that are used again by several threads."""

import numpy as np

from decpomdp.filtering.filter import Buffers


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
