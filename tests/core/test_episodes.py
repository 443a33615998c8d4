"""Episodes: what they may hold, and sums and times against plain loops."""

from dataclasses import FrozenInstanceError, fields, replace

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


def message(**changes):
    with pytest.raises(InputError) as caught:
        episodes(**changes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


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


def test_returns_at_the_ends_of_the_discount():
    for discount in [0, 1]:
        held = episodes(discount=discount)
        first, total = held.rewards[held.offsets[:-1]], np.add.reduceat(held.rewards, held.offsets[:-1])
        assert np.array_equal(held.returns(), total if discount else first)


def test_arrays_are_read_only_and_nobody_elses():
    for name in ["offsets", "observations", "actions", "behaviour", "rewards", "terminated"]:
        given = getattr(episodes(), name).copy()
        held = episodes(**{name: given})
        assert getattr(held, name).dtype == given.dtype
        assert getattr(held, name).flags.c_contiguous
        assert not getattr(held, name).flags.writeable
        assert not np.shares_memory(getattr(held, name), given)
        with pytest.raises(FrozenInstanceError):
            setattr(held, name, given)


def test_arrays_are_contiguous_whatever_was_given():
    for name in ["observations", "actions", "behaviour"]:
        given = np.asfortranarray(getattr(episodes(), name))
        given.setflags(write=False)
        assert getattr(episodes(**{name: given}), name).flags.c_contiguous


def test_facts_are_a_read_only_copy():
    facts = {"a": "b"}
    held = episodes(facts=facts)
    facts["a"] = "c"
    assert held.facts == {"a": "b"}
    with pytest.raises(TypeError):
        held.facts["a"] = "d"


def test_without_a_word_all_were_cut_off():
    assert episodes(terminated=None).terminated.tolist() == [False] * 3


def test_bad_offsets_are_refused():
    for offsets, expected in [
        ([], "offsets[k]: expected shape (any), got (0,)"),
        ([0], "offsets: expected 0 followed by the end of every episode, got [0]"),
        ([1, 8], "offsets: expected 0 followed by the end of every episode, got [1 8]"),
        ([0, 3, 3, 8], "episode 1: expected at least one step, got 0"),
        ([0, 5, 3, 8], "episode 1: expected at least one step, got -2"),
        ([0, 3, 4, 7], "observations[r, n]: expected shape (7, 2), got (8, 2)"),
        ([0.5, 8], "offsets: expected whole numbers that fit int64, got other values"),
    ]:
        assert message(offsets=offsets) == expected


def test_bad_numbers_are_refused_with_their_place():
    for name, place, value, expected in [
        ("actions", (5, 1), 2, "episode 2, step 1, agent agent1: expected an action from 0 to 1, got 2"),
        ("actions", (0, 0), -1, "episode 0, step 0, agent agent0: expected an action from 0 to 1, got -1"),
        ("observations", (3, 0), 3, "episode 1, step 0, agent agent0: expected an observation from 0 to 2, got 3"),
        ("observations", (3, 0), -2, "episode 1, step 0, agent agent0: expected an observation from 0 to 2, got -2"),
        ("observations", (6, 1), -1, "episode 2, step 2, agent agent1: expected an observation from 0 to 2, got -1"),
        ("rewards", 4, np.nan, "rewards[r=4] is nan, expected a finite number"),
        ("rewards", 4, -np.inf, "rewards[r=4] is -inf, expected a finite number"),
    ]:
        given = getattr(episodes(), name).copy()
        given[place] = value
        assert message(**{name: given}) == expected


def test_certain_behaviour_is_known():
    assert np.array_equal(episodes(behaviour=np.ones((8, 2))).behaviour, np.ones((8, 2)))


def test_bad_behaviour_is_refused_with_its_place():
    for value in [0, -0.5, 1.5, np.inf, 1e300, 1e-300]:
        given = episodes().behaviour.astype(np.float64)
        given[2, 1] = value
        assert message(behaviour=given) == (
            "episode 0, step 2, agent agent1: expected a behaviour probability above 0 and up to 1 (or NaN: unknown), "
            f"got {'inf' if value == 1e300 else np.float32(value)}"
        )


def test_bad_fields_are_refused():
    for name, value, expected in [
        ("observations", np.zeros((8, 1)), "observations[r, n]: expected shape (8, 2), got (8, 1)"),
        ("actions", np.zeros((7, 2)), "actions[r, n]: expected shape (8, 2), got (7, 2)"),
        ("actions", np.full((8, 2), 0.5), "actions: expected whole numbers that fit int16, got other values"),
        ("actions", np.full((8, 2), 65536), "actions: expected whole numbers that fit int16, got other values"),
        ("behaviour", np.ones(8), "behaviour[r, n]: expected shape (8, 2), got (8,)"),
        ("behaviour", [["z", 1]] * 8, "behaviour: expected numbers in an array [r, n], got "),
        ("rewards", np.zeros((8, 1)), "rewards[r]: expected shape (8), got (8, 1)"),
        ("terminated", [True], "terminated[k]: expected shape (3), got (1,)"),
        ("terminated", [0, 1, 2], "terminated: expected truth values, got other values"),
        ("discount", 1.01, "discount: expected a number from 0 to 1, got 1.01"),
        ("name", 3, "name: expected a text, got 3"),
        ("facts", {"seed": 3}, "facts['seed']: expected a text, got 3"),
        ("facts", {3: "seed"}, "facts: expected a text, got 3"),
        ("facts", ["seed"], "facts: expected a mapping from text to text, got list"),
        ("agents", [], "agents: expected at least one label, got none"),
    ]:
        assert message(**{name: value}).startswith(expected)


def test_equality_sees_every_field_and_knows_nan():
    held = episodes(observations=np.zeros((8, 2)))
    assert held == episodes(observations=np.zeros((8, 2)))
    assert np.isnan(held.behaviour).any()
    assert held != 3
    changes = {
        "agents": [Agent(f"other{n}", ["x", "y"], ["p", "q", "r"]) for n in range(2)],
        "offsets": [0, 2, 4, 8],
        "observations": np.ones((8, 2)),
        "actions": 1 - held.actions,
        "behaviour": np.nan_to_num(held.behaviour, nan=0.5),
        "rewards": held.rewards + 1,
        "discount": 0.5,
        "terminated": ~held.terminated,
        "name": "other",
        "facts": {},
    }
    assert set(changes) == {field.name for field in fields(Episodes)}
    for name, value in changes.items():
        assert replace(held, **{name: value}) != held, name


def test_places_in_words():
    assert [episodes().place(row) for row in (0, 2, 3, 7)] == [
        "episode 0, step 0",
        "episode 0, step 2",
        "episode 1, step 0",
        "episode 2, step 3",
    ]


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


def test_one_part_is_itself():
    held = episodes()
    assert concatenate([held]) is held


def test_parts_that_do_not_match_are_refused():
    for parts, expected in [
        ([], "episodes: expected at least one collection to join, got none"),
        ([{}, {"discount": 0.5}], "episodes: expected collections with the same agents and discount, got different"),
        ([{}, {"size": 3}], "episodes: expected collections with the same agents and discount, got different"),
    ]:
        with pytest.raises(InputError, match=f"^{expected}"):
            concatenate([episodes(**part) for part in parts])
