"""The memory there is: of the machine, or what a container leaves of it."""

import os

import pytest

from decpomdp.io import memory, opening

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system whose groups are files of the test: what `/proc/self/cgroup` says, and the limits by path."""

    def make(groups, limits):
        (tmp_path / "groups").write_text(groups)
        for name, said in limits.items():
            (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "tree" / name).write_text(said)
        monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
        monkeypatch.setattr(memory, "TREE", tmp_path / "tree")
        return memory.memory()

    return make


V1 = "5:devices:/a\n4:memory:/box/one\n1:cpu,cpuacct:/a\n"


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/\n", {"memory.max": "1000000\n"}, 1_000_000),  # a container that sees its group as the root
        ("0::/\n", {"memory.max": "max\n"}, MACHINE),
        ("0::/\n", {}, MACHINE),
        ("0::/box/one\n", {"memory.max": "max\n", "box/memory.max": "300\n", "box/one/memory.max": "700\n"}, 300),
        ("0::/box/one\n", {"box/memory.max": "max\n", "box/one/memory.max": "700\n"}, 700),
        ("0::/../host/path\n", {"memory.max": "500\n"}, 500),  # a path that is the host's
        ("0::/box\n", {"other/memory.max": "500\n"}, MACHINE),
        (V1, {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, MACHINE),  # how version 1 says none
        (V1, {"memory/memory.limit_in_bytes": "4000\n"}, 4000),
        (V1, {"memory/box/one/memory.limit_in_bytes": "2000\n", "memory/memory.limit_in_bytes": "4000\n"}, 2000),
        (V1, {"cpu/box/one/memory.limit_in_bytes": "2000\n"}, MACHINE),
        (V1 + "0::/\n", {"unified/memory.max": "800\n", "memory/memory.limit_in_bytes": "4000\n"}, 800),
        ("", {"memory.max": "500\n"}, MACHINE),
        ("nonsense\n0:\n", {"memory.max": "500\n"}, MACHINE),
        ("0::/\n", {"memory.max": "\xff-5\n"}, MACHINE),
        (f"0::/{'x' * 5000}\n", {"memory.max": "500\n"}, 500),
    ],
)
def test_the_smallest_limit_counts(system, groups, limits, expected):
    assert system(groups, limits) == expected


def test_systems_without_groups_have_what_the_machine_has(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "none")
    assert memory.memory() == MACHINE
    monkeypatch.delattr(os, "sysconf")
    assert memory.memory() == memory.UNKNOWN


def test_files_are_refused_by_the_limit_of_the_container(system):
    system("0::/\n", {"memory.max": "1000\n"})
    opening.check_bytes(500, "log.csv", "a table")
    with pytest.raises(opening.FormatError, match=r"fits into memory \(500 bytes\), got a table of 501 bytes"):
        opening.check_bytes(501, "log.csv", "a table")
