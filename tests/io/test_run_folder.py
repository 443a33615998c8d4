"""Who may write to a run folder, and what says that its run is over."""

import os
import signal
import subprocess
import sys

import pytest

from decpomdp.core import InputError
from decpomdp.io import run_folder
from decpomdp.io.checkpoints import STATE
from decpomdp.io.run_folder import LOCK, can_resume, locked, mark, new_run
from decpomdp.io.runs import RunRecord, write_record

HOLD = """
import sys, time
from pathlib import Path
from decpomdp.io.run_folder import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_two_processes_cannot_write_to_the_same_run(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(InputError, match="another process is writing to this run"), locked(tmp_path):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert os.listdir(tmp_path) == [LOCK]
    with locked(tmp_path):  # the system let go of it
        assert os.listdir(tmp_path) == [LOCK]
    assert os.listdir(tmp_path) == []


def test_a_run_that_is_at_work_is_not_called_unfinished(tmp_path):
    write_record(tmp_path, RunRecord(finished=False))
    with locked(tmp_path), pytest.raises(InputError, match="another process is writing to this run"), new_run(tmp_path):
        pass
    with pytest.raises(InputError, match="got an unfinished run"), new_run(tmp_path):
        pass


def test_a_lock_file_that_was_removed_is_no_lock(tmp_path, monkeypatch):
    lock = run_folder._lock

    def late(number):
        (tmp_path / LOCK).unlink()
        return lock(number)

    monkeypatch.setattr(run_folder, "_lock", late)
    with pytest.raises(InputError, match="another process"), locked(tmp_path):
        pass


def test_temporary_files_of_killed_processes_are_removed(tmp_path):
    (tmp_path / ".decpomdp-0123.part").write_bytes(b"half")
    (tmp_path / LOCK).touch()
    with new_run(tmp_path) as folder:
        assert os.listdir(folder) == [LOCK]


def test_a_folder_is_marked_unless_it_is_somebody_elses(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="expected a new folder, got a folder with other contents"):
        mark(tmp_path, "plan", b"a", "a new folder")
    (tmp_path / "mine.txt").unlink()
    with locked(tmp_path), pytest.raises(InputError, match="another process"):
        mark(tmp_path, "plan", b"a", "a new folder")
    mark(tmp_path, "plan", b"a", "a new folder")
    mark(tmp_path, "plan", b"b", "a new folder")
    assert os.listdir(tmp_path) == ["plan"]
    assert (tmp_path / "plan").read_bytes() == b"a"
    with pytest.raises(InputError, match="got a file"):
        mark(tmp_path / "plan", "plan", b"a", "a new folder")


def test_what_can_be_resumed(tmp_path):
    (tmp_path / STATE).write_bytes(b"a state")
    assert not can_resume(tmp_path)
    write_record(tmp_path, RunRecord(finished=False))
    assert can_resume(tmp_path)
    write_record(tmp_path, RunRecord())
    assert not can_resume(tmp_path)
    write_record(tmp_path, RunRecord(finished=False))
    (tmp_path / STATE).unlink()
    assert not can_resume(tmp_path)


def test_a_folder_with_contents_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="expected a new or empty folder, got one with contents"):
        new_run(tmp_path).__enter__()
    assert os.listdir(tmp_path) == ["mine.txt"]
    with pytest.raises(InputError, match="expected a new or empty folder, got a file"):
        new_run(tmp_path / "mine.txt").__enter__()
