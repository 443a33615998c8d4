"""Episodes: sums and times against plain loops, and joined collections."""

from dataclasses import replace

import numpy as np
import pytest
from learners import data

from decpomdp.core import InputError, concatenate


def episodes(agents=2, count=3, seed=0):
    held = data.episodes(np.random.default_rng(seed), agents, count, ended=True)
    return replace(held, name="test", facts={"seed": str(seed)})


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_times_and_returns_against_plain_loops(agents):
    held, row = episodes(agents), 0
    assert (held.count, held.steps) == (3, sum(held.lengths))
    assert held.times().tolist() == [t for length in held.lengths for t in range(length)]
    for k, length in enumerate(held.lengths):
        total = sum(0.9**t * held.rewards[row + t] for t in range(length))
        assert held.returns()[k] == pytest.approx(total, rel=1e-14)
        row += length


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_joined_episodes_are_the_parts_in_order(agents):
    parts = [episodes(agents, count, seed) for seed, count in enumerate([2, 1, 3])]
    joined = concatenate(parts)
    assert joined.lengths.tolist() == [length for part in parts for length in part.lengths]
    assert joined.returns() == pytest.approx(np.concatenate([part.returns() for part in parts]), rel=1e-15)
    for name in ("observations", "actions", "behaviour", "rewards", "terminated"):
        assert np.array_equal(getattr(joined, name), np.concatenate([getattr(part, name) for part in parts]))
    assert (joined.name, joined.facts) == (parts[0].name, parts[0].facts)


def test_parts_that_do_not_match_are_refused():
    different = "episodes: expected collections with the same agents and discount, got different"
    for parts, expected in [
        ([], "episodes: expected at least one collection to join, got none"),
        ([episodes(), replace(episodes(), discount=0.5)], different),
        ([episodes(), episodes(3)], different),
    ]:
        with pytest.raises(InputError, match=f"^{expected}"):
            concatenate(parts)
