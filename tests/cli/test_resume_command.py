"""What command a run goes on with: the one that began it, but for what is said anew."""

from itertools import pairwise

import pytest

from decpomdp.cli import resume
from decpomdp.core import InputError
from decpomdp.io import run_folder


@pytest.mark.parametrize(
    ("beside", "where"),
    [
        (["--scheduler", "tcp://b"], ["--engine", "dask", "--scheduler", "tcp://b"]),
        (["--engine", "threads"], ["--engine", "threads"]),
        (["--engine=dask"], ["--engine", "dask"]),
    ],
)
def test_another_scheduler_alone_leaves_the_engine(tmp_path, monkeypatch, beside, where):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    run_folder.begin(tmp_path / "out", ["learn", "e", "--engine", "dask", "--scheduler=tcp://a", "--out", "out"])
    again = resume.recorded(["learn", "--resume", "out", *beside])
    found = [word for pair in pairwise(again) for word in pair if pair[0] in resume.ELSEWHERE]
    found += [part for word in again if word.startswith("--scheduler=") for part in word.split("=")]
    assert found == where


@pytest.mark.parametrize(
    ("beside", "jobs"),
    [
        (["--scheduler", "tcp://b"], False),
        (["--engine", "dask", "--scheduler=tcp://b"], False),
        (["--engine", "threads"], True),
        ([], True),
    ],
)
@pytest.mark.parametrize("given", [["--jobs", "2"], ["--jobs=2"]])
def test_jobs_of_this_machine_do_not_go_to_a_scheduler(tmp_path, monkeypatch, given, beside, jobs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    run_folder.begin(tmp_path / "out", ["reproduce", "table2", *given, "--engine", "dask", "--out", "out"])
    again = resume.recorded(["reproduce", "--resume", "out", *beside])
    assert (given[0] in again, again[:2]) == (jobs, ["reproduce", "table2"])
    assert jobs or "2" not in again


def test_what_stands_behind_two_dashes_stays_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    run_folder.begin(tmp_path / "out", ["learn", "--steps", "1000", "--out", "out", "--", "dectiger"])
    again = resume.recorded(["learn", "--resume", "out", "--quiet"])
    folder = str(tmp_path / "out")
    assert again == ["learn", "--steps", "1000", "--out", "out", "--resume", folder, "--quiet", "--", "dectiger"]


@pytest.mark.parametrize("given", [["--scheduler", "tcp://a:1"], ["--scheduler=tcp://a:1"]])
def test_a_scheduler_is_not_called_because_a_file_says_so(tmp_path, monkeypatch, given):
    """Whoever answers there could run code here, and a run folder may come from anybody."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    run_folder.begin(tmp_path / "out", ["learn", "e", "--engine", "dask", *given, "--out", "out"])
    with pytest.raises(InputError, match="used the scheduler 'tcp://a:1', which is not called because a file says so"):
        resume.recorded(["learn", "--resume", "out", "--quiet"])
    begun = resume.recorded(["learn", "--resume", "out", "--scheduler", "tcp://b:2"])
    assert ("tcp://a:1" in " ".join(begun), begun[-1]) == (False, "tcp://b:2")
