"""Checkpoints: two by turns, whole or not at all, and never a wrong one."""

import os
import re
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import decpomdp as dp
from decpomdp.core import FormatError, InputError
from decpomdp.io import checkpoints
from decpomdp.io.checkpoints import NAMES, Checkpoints
from decpomdp.io.snapshots import decode, encode


class State(NamedTuple):
    number: int
    table: NDArray[np.float64]


class OtherState(NamedTuple):
    number: str
    table: NDArray[np.float64]


def state(number):
    return State(number, np.full((2, 3), number / 7))


def written(folder, count, work="w"):
    keeper = Checkpoints(folder, work, every=0)
    for number in range(1, count + 1):
        keeper.write(state(number))
    return folder / NAMES[count % 2]  # the newest


def restored(folder, work="w"):
    return Checkpoints(folder, work).restore(State)


def test_nothing_was_kept(tmp_path):
    assert restored(tmp_path) is None
    assert restored(tmp_path / "nowhere") is None


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_the_newest_comes_back(tmp_path, count):
    written(tmp_path, count)
    found = restored(tmp_path)
    assert found.number == count
    np.testing.assert_array_equal(found.table, state(count).table)
    assert sorted(os.listdir(tmp_path)) == sorted({NAMES[n % 2] for n in range(1, count + 1)})


def test_it_counts_on_after_a_restart(tmp_path):
    written(tmp_path, 3)
    keeper = Checkpoints(tmp_path, "w")
    keeper.restore(State)
    keeper.write(state(4))
    assert restored(tmp_path).number == 4
    written_by_turns = {name: (tmp_path / name).read_bytes() for name in NAMES}
    assert len(set(written_by_turns.values())) == 2


def cut(data):
    return data[: len(data) // 2]


def flipped(data):
    return data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]


@pytest.mark.parametrize(
    "damage", [cut, flipped, lambda data: b"", lambda data: b"\n" + data, lambda data: data + b"x"]
)
def test_a_damaged_newest_falls_back_with_a_message(tmp_path, damage):
    newest = written(tmp_path, 4)
    newest.write_bytes(damage(newest.read_bytes()))
    with pytest.warns(UserWarning, match=re.escape(f"{newest} is damaged: ") + ".*the other checkpoint is taken"):
        assert restored(tmp_path).number == 3


def test_every_single_bit_counts(tmp_path):
    newest = written(tmp_path, 1)
    whole = newest.read_bytes()
    for place in range(0, len(whole), 7):
        newest.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
        with pytest.warns(UserWarning, match="is damaged"):
            assert restored(tmp_path) is None


def test_two_damaged_ones_begin_again(tmp_path):
    written(tmp_path, 2)
    for name in NAMES:
        (tmp_path / name).write_bytes(b"nothing")
    with pytest.warns(UserWarning, match="no other is whole, so the work begins again"):
        assert restored(tmp_path) is None


def test_other_work_is_refused(tmp_path):
    written(tmp_path, 2)
    with pytest.raises(InputError, match="expected checkpoints of this work"):
        restored(tmp_path, "another")


def test_another_version_is_refused(tmp_path):
    written(tmp_path, 2)
    with pytest.raises(FormatError, match="of another version"):
        Checkpoints(tmp_path, "w").restore(OtherState)


def test_they_are_written_now_and_then(tmp_path):
    keeper, calls = Checkpoints(tmp_path, "w", every=1000), []
    for number in range(5):
        keeper.offer(lambda number=number: calls.append(number) or state(number))
    assert calls == []
    keeper = Checkpoints(tmp_path, "w", every=0)
    keeper.offer(lambda: state(1))
    assert restored(tmp_path).number == 1


def test_writing_takes_a_small_part_of_the_time(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])

    def slowly(path, data):
        now[0] += 2.0

    monkeypatch.setattr(checkpoints, "write_bytes", slowly)
    keeper, count = Checkpoints(tmp_path, "w", every=1), 0
    while now[0] < 1000:
        now[0] += 1.0
        before = now[0]
        keeper.offer(lambda: state(1))
        count += now[0] > before
    assert 20 <= count <= 25  # of two seconds each


def test_too_large_a_state_is_not_written(tmp_path, monkeypatch):
    written(tmp_path, 1)
    monkeypatch.setattr(checkpoints, "LIMIT", 1100)
    with pytest.warns(UserWarning, match="none is written"):
        Checkpoints(tmp_path, "w").write(State(2, np.zeros(1000)))
    assert restored(tmp_path).number == 1


def test_what_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    written(tmp_path, 2)
    keeper = Checkpoints(tmp_path, "w", every=0)
    keeper.restore(State)

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        keeper.write(state(3))
    monkeypatch.undo()
    assert restored(tmp_path).number == 2
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)


def test_they_can_be_removed(tmp_path):
    written(tmp_path, 2)
    Checkpoints(tmp_path, "w").clear()
    assert os.listdir(tmp_path) == []


def test_teams_and_episodes_come_back(tmp_path):
    model = dp.load("dectiger")
    team = dp.Team.uniform(model)
    episodes = dp.simulate(model, team, 3, 4, seed=1)
    assert decode(encode(team), dp.Team) == team
    assert decode(encode(episodes), dp.Episodes) == episodes


@pytest.mark.parametrize("kind", [np.float32, np.int16, np.bool_, np.float64])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0), (4, 1, 2)])
def test_arrays_come_back(kind, shape):
    table = np.arange(8)[: int(np.prod(shape))].reshape(shape).astype(kind)
    found = decode(encode(table), np.ndarray)
    assert (found.dtype, found.shape) == (table.dtype, table.shape)
    assert found.tobytes() == table.tobytes()
    found[...] = 0  # it can be written to


def test_what_has_no_bytes_is_refused():
    with pytest.raises(TypeError, match="a state cannot hold a object"):
        encode({"what": object()})
    with pytest.raises(ValueError):
        decode(encode(["|O", [1], b"12345678"]), np.ndarray)
    with pytest.raises(ValueError):
        decode(encode(["<f8", [3], b"12345678"]), np.ndarray)
    with pytest.raises(ValueError):
        decode(encode(7), np.ndarray)


def test_an_array_lies_in_memory_as_it_did():
    """Sums are taken as it lies there: in another order their last digits would be others."""
    table = np.random.default_rng(1).random((5, 4, 3))
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        lying = table.transpose(order)
        found = decode(encode(lying), np.ndarray)
        assert found.strides == lying.strides
        np.testing.assert_array_equal(found, lying)
        assert found.sum(axis=(0, 1)).tobytes() == lying.sum(axis=(0, 1)).tobytes()
    for wrong in ([0, 0, 1], [0, 1], [0, 1, 7], "abc", 5):
        with pytest.raises(ValueError):
            decode(encode(["<f8", [1, 1, 1], bytes(8), wrong]), np.ndarray)
