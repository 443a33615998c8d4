"""Minari datasets that would be read as something else than they say: refused, each with its place."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pyarrow as pa
import pytest

from decpomdp.core import InputError
from decpomdp.io.minari import read as reader

from .made_minari import WARNINGS, replaced

pytestmark = WARNINGS
TYPE = 37  # the byte of an Arrow file as Minari writes it that says what its first message is


@pytest.mark.parametrize("kind", [0, 3, 6, 128, 255])
def test_the_first_message_of_an_arrow_file_tells_the_types(make, kind):
    made = make("arrow")
    data = bytearray(made.part.read_bytes())
    assert data[TYPE] == 1
    data[TYPE] = kind
    made.part.write_bytes(bytes(data))
    assert "expected the types of columns first, got a " in made.refusal()


def test_a_first_message_of_another_type_does_not_end_the_process(make):
    """Arrow looked up types in what it had not checked: some files ended the process."""
    made = make("arrow")
    data = made.part.read_bytes()
    script = (
        "import sys\nfrom gymnasium.spaces import Discrete\nfrom decpomdp.io.minari.arrow import read_arrow\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "for place in range(16, 200):\n"
        "    for byte in (0, 4, 127, 255):\n"
        "        with open(sys.argv[2], 'wb') as file:\n"
        "            new = bytearray(data)\n"
        "            new[37], new[place] = 3, byte\n"
        "            file.write(new)\n"
        "        try:\n"
        "            read_arrow(sys.argv[2], 'arrow', (Discrete(2), Discrete(2)), 3)\n"
        "        except Exception:\n"
        "            pass\n"
    )
    spoilt = made.part.with_suffix(".spoilt")
    done = subprocess.run([sys.executable, "-c", script, made.part, spoilt], capture_output=True, check=False)
    assert (done.returncode, made.part.read_bytes()) == (0, data)


def test_chunks_wider_than_the_values_that_were_never_written(made):
    replaced(made, "rewards", shape=(2, 1), maxshape=(None, None), chunks=(1, 100), dtype="f8")
    with h5py.File(made.hdf5, "a") as file:
        file["episode_0/rewards"][0] = 7.0
    assert made.refusal().endswith("/episode_0/rewards: expected 2 chunks, got 1 written")
    with h5py.File(made.hdf5, "a") as file:
        file["episode_0/rewards"][1] = 8.0
    assert reader.read_minari(made.path, 0.9).rewards.tolist() == [7.0, 8.0]


@pytest.mark.parametrize(
    ("values", "got"), [([2**53, 2**53 + 1], 2**53 + 1), ([0, -(2**60) - 1], -(2**60) - 1), ([0, 2**64 - 1], 2**64 - 1)]
)
def test_rewards_that_a_float_cannot_hold(made, values, got):
    replaced(made, "rewards", data=np.array(values, np.uint64 if max(values) >= 2**63 else np.int64))
    assert made.refusal() == f": episode 0, t = 1, reward: expected whole numbers up to {2**53}, got {got}"


@pytest.mark.parametrize("last", [np.nan, 2.0, -1.0])
def test_an_end_is_true_or_false(make, last):
    made = make("parquet")
    made.write(made.tables() | {"terminations": pa.array([0.0, last, 0.0])})
    assert made.refusal() == f": episode 0, t = 1, terminations: expected true or false, got {last}"


def test_without_h5py_the_user_is_told_what_to_install(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError, match=r"pip install decpomdp\[data\]"):
        reader.read_minari(made.path, 0.9)


def test_metadata_that_change_while_they_are_read_run_nothing(made, tmp_path, monkeypatch):
    """Without spaces Minari would make the environment that they name, and with it anything."""
    wrong = {"id": "x-v0", "entry_point": "os:mkdir", "kwargs": {"path": str(tmp_path / "ran")}}
    checked = reader.check_space

    def change(what, text):
        checked(what, text)
        about = json.loads(made.about.read_text())
        about.pop("action_space", None)
        made.about.write_text(json.dumps(about | {"env_spec": json.dumps(wrong)}))

    monkeypatch.setattr(reader, "check_space", change)
    assert reader.read_minari(made.path, 0.9).steps == 2
    assert not (tmp_path / "ran").exists()
