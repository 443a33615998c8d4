"""Who may write to a run folder, and what says that its run is over."""

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from decpomdp.core import FormatError, InputError
from decpomdp.io import files, run_folder
from decpomdp.io.files import replacing, write_bytes
from decpomdp.io.run_folder import (
    BEGUN,
    BUSY,
    LOCK,
    begin,
    can_go_on,
    check_same,
    finish,
    locked,
    mark,
    new_run,
    read_begun,
    work_of,
)

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
    begin(tmp_path, ["learn", "broadcast"])
    with locked(tmp_path), pytest.raises(InputError, match="another process is writing to this run"), new_run(tmp_path):
        pass
    with pytest.raises(InputError, match="got an unfinished run"), new_run(tmp_path):
        pass


def test_two_locks_in_one_process(tmp_path):
    with locked(tmp_path), pytest.raises(InputError), locked(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_that_was_removed_meanwhile_is_no_lock(tmp_path, monkeypatch):
    lock = run_folder.lock

    def late(number):
        (tmp_path / LOCK).unlink()
        return lock(number)

    monkeypatch.setattr(run_folder, "lock", late)
    with pytest.raises(InputError, match="another process"), locked(tmp_path):
        pass


def test_what_a_kill_left_half_written_is_removed(tmp_path):
    (tmp_path / ".decpomdp-0123.part").write_bytes(b"half")
    (tmp_path / LOCK).touch()
    with new_run(tmp_path) as folder:
        assert os.listdir(folder) == [LOCK]
        (folder / "figures").mkdir()
    (tmp_path / "figures/.decpomdp-4567.part").write_bytes(b"half")
    (tmp_path / "figures/whole.svg").write_bytes(b"whole")
    with locked(tmp_path):
        assert os.listdir(tmp_path / "figures") == ["whole.svg"]


def test_what_somebody_is_writing_is_left_alone(tmp_path):
    """Also below the folder, where another run may be at work, and whatever a link leads to."""
    other = tmp_path / "other"
    for place in (tmp_path / "run/inside", other):
        place.mkdir(parents=True)
    (tmp_path / "run/elsewhere").symlink_to(other)
    (other / ".decpomdp-0123.part").write_bytes(b"half")
    for place in (tmp_path / "run", tmp_path / "run/inside"):
        with replacing(place / "data.bin") as part:
            with locked(tmp_path / "run"):
                pass
            part.write_bytes(b"whole")
        assert (place / "data.bin").read_bytes() == b"whole"
    assert (other / ".decpomdp-0123.part").exists()


def test_a_part_that_somebody_looks_at_is_made_anew(tmp_path, monkeypatch):
    answers = iter([False, True])
    monkeypatch.setattr(files, "lock", lambda _: next(answers))
    write_bytes(tmp_path / "data.bin", b"whole")
    assert os.listdir(tmp_path) == ["data.bin"]


def test_a_folder_is_marked_unless_it_is_somebody_elses(tmp_path):
    part = tmp_path / ".decpomdp-0123.part"
    part.write_bytes(b"half")
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="expected a new folder, got another"):
        mark(tmp_path, "plan", b"a", "a new folder")
    assert part.exists()
    (tmp_path / "mine.txt").unlink()
    with locked(tmp_path):
        part.write_bytes(b"half")  # somebody is at work
        with pytest.raises(InputError, match="another process"):
            mark(tmp_path, "plan", b"a", "a new folder")
        assert part.exists()
    mark(tmp_path, "plan", b"a", "a new folder")
    mark(tmp_path, "plan", b"b", "a new folder")
    assert os.listdir(tmp_path) == ["plan"]
    assert (tmp_path / "plan").read_bytes() == b"a"
    with pytest.raises(InputError, match="expected a new folder, got another"):
        mark(tmp_path / "plan", "plan", b"a", "a new folder")


def test_of_many_that_mark_a_folder_one_does(tmp_path):
    """All at the same moment: refused are only those who came while another was at it."""

    def tried(folder):
        together.wait()
        try:
            mark(folder, "plan", b"whole", "a new folder")
        except InputError as error:
            return str(error).removeprefix(f"{folder}: ")
        return (folder / "plan").read_bytes()

    together = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        for number in range(50):
            told = list(pool.map(tried, [tmp_path / str(number)] * 4))
            assert b"whole" in told
            assert set(told) <= {b"whole", BUSY}


def test_what_can_go_on(tmp_path):
    (tmp_path / "checkpoint-0.bin").write_bytes(b"a state")
    assert not can_go_on(tmp_path)
    begin(tmp_path, ["learn"])
    assert can_go_on(tmp_path)
    (tmp_path / BEGUN).write_text("{")
    assert not can_go_on(tmp_path)
    begin(tmp_path, ["learn"])
    (tmp_path / "checkpoint-0.bin").unlink()
    assert not can_go_on(tmp_path)


def test_a_folder_with_contents_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(InputError, match="expected a new or empty folder for the run, got one with contents"):
        new_run(tmp_path).__enter__()
    assert os.listdir(tmp_path) == ["mine.txt"]
    with pytest.raises(InputError, match="got a file"):
        new_run(tmp_path / "mine.txt").__enter__()


def test_an_unfinished_run_is_not_begun_again(tmp_path):
    begin(tmp_path, ["learn"])
    with pytest.raises(InputError, match="got an unfinished run"):
        new_run(tmp_path).__enter__()


def test_what_was_begun_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.dpomdp").write_text("agents: 2")
    (tmp_path / "r").mkdir()
    begin(tmp_path / "r", ["learn", "a.dpomdp", "--begin=a.dpomdp", "--out", "r"])
    begun = read_begun(tmp_path / "r")
    assert begun.arguments == ["learn", "a.dpomdp", "--begin=a.dpomdp", "--out", "r"]
    assert (begun.folder, list(begun.files)) == (str(tmp_path), ["a.dpomdp"])
    check_same(begun)
    before = work_of(tmp_path / "r")
    (tmp_path / "a.dpomdp").write_text("agents: 3")
    with pytest.raises(InputError, match=r"a\.dpomdp: the file has changed since the run began"):
        check_same(begun)
    begin(tmp_path / "r", ["learn", "a.dpomdp", "--begin=a.dpomdp", "--out", "r"])
    assert work_of(tmp_path / "r") != before
    (tmp_path / "a.dpomdp").unlink()
    with pytest.raises(InputError, match="it is gone"):
        check_same(begun)


def test_another_version_is_refused(tmp_path):
    begin(tmp_path, ["learn"])
    told = json.loads((tmp_path / BEGUN).read_text())
    told["versions"]["numpy"] = "1.0"
    (tmp_path / BEGUN).write_text(json.dumps(told))
    with pytest.raises(InputError, match=r"began with numpy 1\.0, this is "):
        check_same(read_begun(tmp_path))


def test_a_finished_run_says_so(tmp_path):
    begin(tmp_path, ["learn"])
    (tmp_path / "checkpoint-0.bin").touch()
    (tmp_path / "run.json").touch()
    assert read_begun(tmp_path) is not None
    finish(tmp_path)
    assert os.listdir(tmp_path) == ["run.json"]
    assert read_begun(tmp_path) is None


@pytest.mark.parametrize(
    "content", ["", "{}", '{"format": "decpomdp-begun/1"}', '{"format": "decpomdp-begun/2"}', "\x00"]
)
def test_a_begun_json_that_is_none(tmp_path, content):
    (tmp_path / BEGUN).write_text(content)
    with pytest.raises(FormatError, match=BEGUN) as caught:
        read_begun(tmp_path)
    assert "\n" not in str(caught.value)


def test_other_folders(tmp_path):
    with pytest.raises(InputError, match="expected the folder of a run, got another"):
        read_begun(tmp_path)
    with pytest.raises(InputError, match="expected the folder of a run, got none"):
        read_begun(tmp_path / "nowhere")
