"""The writer of episodes: parts make the same file as the whole, and a failure leaves the old file or none."""

import errno
import os
import resource
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from decpomdp.core import InputError, concatenate
from decpomdp.io.episodes import EpisodeWriter, read_episodes, write_episodes

from .made_episodes import AGENTS, episodes


def test_the_file_does_not_depend_on_the_parts(path, monkeypatch):
    monkeypatch.setattr("decpomdp.io.episodes.GROUP", 64)
    monkeypatch.setattr("decpomdp.io.episodes.PARTS", 5)
    parts = [replace(episodes(count=count, seed=count), name="näme", facts={}) for count in (1, 1, 1, 1, 1, 70, 3, 30)]
    whole = concatenate(parts)
    write_episodes(whole, path)
    streamed = path.with_name("streamed.parquet")
    with EpisodeWriter(streamed, AGENTS, whole.discount, "näme") as writer:
        for part in parts:
            writer.add(part)
        assert writer.count == whole.count
    assert read_episodes(streamed) == whole
    assert streamed.read_bytes() == path.read_bytes()
    with pq.ParquetFile(streamed) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
    assert sizes == [64] * (whole.steps // 64) + [whole.steps % 64]


@pytest.mark.parametrize("error", [OSError("mine"), KeyboardInterrupt("mine")])
def test_a_failing_block_keeps_its_error_and_leaves_the_old_file(path, error):
    write_episodes(episodes(seed=1), path)
    with pytest.raises(type(error), match=r"^mine$"):
        fail_halfway(path, error)
    assert read_episodes(path) == episodes(seed=1)
    assert os.listdir(path.parent) == [path.name]


def fail_halfway(path, error):
    with EpisodeWriter(path, AGENTS, episodes().discount) as writer:
        writer.add(episodes())
        raise error


@pytest.mark.parametrize("group", [16, 10**6])  # the disk fills up while rows are added, or at the end
def test_a_full_disk_leaves_nothing(path, monkeypatch, group):
    monkeypatch.setattr("decpomdp.io.episodes.GROUP", group)
    held = episodes(count=3000)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(InputError) as caught:
        write_within(2000, hard, held, path)
    assert str(caught.value) == f"cannot write {path}: {os.strerror(errno.EFBIG)}"
    assert os.listdir(path.parent) == []


def write_within(limit, hard, held, path):
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        write_episodes(held, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def add_to(path, discount, *parts, agents=AGENTS):
    with EpisodeWriter(path, agents, discount) as writer:
        for part in parts:
            writer.add(part)


@pytest.mark.parametrize("other", [{"discount": 0.5}, {"agents": AGENTS[::-1]}])
def test_other_episodes_are_not_added(path, other):
    options = {"discount": episodes().discount, "agents": AGENTS} | other
    with pytest.raises(InputError, match=r"^episodes: expected the agents and discount of the file, got different"):
        add_to(path, options["discount"], episodes(), agents=options["agents"])
    assert os.listdir(path.parent) == []


def test_a_file_without_episodes_is_not_written(path):
    with pytest.raises(InputError) as caught:
        add_to(path, 1)
    assert str(caught.value) == f"cannot write {path}: expected at least one episode, got none"
    assert os.listdir(path.parent) == []


def test_a_writer_works_in_its_block_only(path):
    writer = EpisodeWriter(path, AGENTS, episodes().discount)
    with pytest.raises(InputError, match=r"^episodes: expected an EpisodeWriter inside its with block, got one outsi"):
        writer.add(episodes())
    with writer:
        writer.add(episodes())
    with pytest.raises(InputError, match=r"^episodes: expected an EpisodeWriter inside its with block, got one outsi"):
        writer.add(episodes())
    assert read_episodes(path).count == episodes().count
