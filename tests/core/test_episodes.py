"""Episodes: what they may hold, and sums and times against plain loops."""

import numpy as np
import pytest

from decpomdp.core import NO_OBSERVATION, Agent, Episodes, InputError, concatenate

LENGTHS = (3, 1, 4)


def episodes(size=2, lengths=LENGTHS, seed=0, **changes):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    observations = rng.integers(0, 3, (offsets[-1], size))
    observations[offsets[:-1]] = NO_OBSERVATION
    behaviour = rng.uniform(0.1, 1, (offsets[-1], size))
    behaviour[-1] = np.nan
    given = {
        "agents": [Agent(f"agent{n}", ["x", "y"], ["p", "q", "r"]) for n in range(size)],
        "offsets": offsets,
        "observations": observations,
        "actions": rng.integers(0, 2, (offsets[-1], size)),
        "behaviour": behaviour,
        "rewards": rng.normal(size=offsets[-1]),
        "discount": 0.9,
        "terminated": rng.random(len(lengths)) < 0.5,
        "name": "test",
        "facts": {"seed": str(seed)},
    }
    return Episodes(**(given | changes))


def test_times_and_returns_against_plain_loops():
    for agents in [1, 2, 3, 5]:
        held = episodes(agents)
        assert (held.count, held.steps) == (3, 8)
        assert held.lengths.tolist() == list(LENGTHS)
        assert held.times().tolist() == [t for length in LENGTHS for t in range(length)]
        row = 0
        for k, length in enumerate(LENGTHS):
            total = sum(0.9**t * held.rewards[row + t] for t in range(length))
            assert held.returns()[k] == pytest.approx(total, rel=1e-14)
            row += length


def test_joined_episodes_are_the_parts_in_order():
    for agents in [1, 2, 3, 5]:
        parts = [episodes(agents, lengths, seed) for seed, lengths in enumerate([(2, 1), (3,), (1, 1, 4)])]
        joined = concatenate(parts)
        assert joined.lengths.tolist() == [2, 1, 3, 1, 1, 4]
        assert joined.returns() == pytest.approx(np.concatenate([part.returns() for part in parts]), rel=1e-15)
        for name in ("observations", "actions", "behaviour", "rewards", "terminated"):
            expected = np.concatenate([getattr(part, name) for part in parts])
            assert np.array_equal(getattr(joined, name), expected, equal_nan=name == "behaviour")
        assert (joined.name, joined.facts) == (parts[0].name, parts[0].facts)


def test_parts_that_do_not_match_are_refused():
    for parts, expected in [
        ([], "episodes: expected at least one collection to join, got none"),
        ([{}, {"discount": 0.5}], "episodes: expected collections with the same agents and discount, got different"),
        ([{}, {"size": 3}], "episodes: expected collections with the same agents and discount, got different"),
    ]:
        with pytest.raises(InputError, match=f"^{expected}"):
            concatenate([episodes(**part) for part in parts])
