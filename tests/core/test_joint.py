"""Joint numbers of any number of agents, against numpy where numpy has an answer."""

import numpy as np
import pytest

from decpomdp.core import InputError
from decpomdp.core.agent import joint_numbers, joint_parts, strides_of


def test_the_last_agent_changes_fastest():
    sizes = (2, 3, 4)
    parts = np.unravel_index(np.arange(24), sizes)
    assert joint_numbers(parts, sizes).tolist() == list(range(24))
    assert strides_of(sizes).tolist() == [12, 4, 1]
    assert [part.tolist() for part in joint_parts(np.arange(24), sizes)] == [part.tolist() for part in parts]


def test_as_many_agents_and_as_large_numbers_as_64_bits_hold():
    for sizes in ((1,) * 100, (2,) * 62, (200,) * 8):
        top = [size - 1 for size in sizes]
        joint = joint_numbers([np.array([part]) for part in top], sizes)
        assert joint.tolist() == [int(np.prod(sizes, dtype=object)) - 1]
        assert [int(part[0]) for part in joint_parts(joint, sizes)] == top


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match=r"joint indices: expected at most 9\.22e"):
        joint_numbers([0] * 10, (200,) * 10)
