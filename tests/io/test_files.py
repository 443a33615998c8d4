"""Whole files: all or nothing on the way out, bounded and strict on the way in, every complaint on one line."""

import errno
import os
import stat

import msgspec
import pytest

from decpomdp.core import FormatError, InputError
from decpomdp.io.files import from_json, read_bytes, replacing, write_bytes


class Note(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    size: float = 0.0
    parts: list[str] = []


def refusal(call, *arguments):
    with pytest.raises(InputError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def fail_halfway(path, error):
    with replacing(path) as temporary:
        temporary.write_bytes(b"half")
        raise error


def test_until_the_end_the_old_file_stays(tmp_path):
    path = tmp_path / "note"
    write_bytes(path, b"old")
    with replacing(path) as temporary:
        assert temporary.parent == tmp_path
        temporary.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), InputError("no")])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "note"
    write_bytes(path, b"old")
    with pytest.raises(type(error)):
        fail_halfway(path, error)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["note"]


def test_a_full_disk_is_said_in_words(tmp_path):
    path = tmp_path / "note"
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "elsewhere")
    assert refusal(fail_halfway, path, full) == f"cannot write {path}: No space left on device"
    assert os.listdir(tmp_path) == []


def test_what_cannot_reach_the_disk_does_not_get_the_name(tmp_path, monkeypatch):
    def fail(number):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    assert refusal(write_bytes, tmp_path / "note", b"x").endswith("note: Input/output error")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path):
    write_bytes(tmp_path / "note", b"old")
    os.mkfifo(tmp_path / "pipe")
    for name, reason in [
        ("none/note", f"the folder {tmp_path / 'none'} does not exist"),
        (".", "it is a folder"),
        ("note/deeper", "Not a directory"),
        ("pipe", "it is a device or a pipe, not a file"),
    ]:
        assert refusal(write_bytes, tmp_path / name, b"x") == f"cannot write {tmp_path / name}: {reason}"
    assert sorted(os.listdir(tmp_path)) == ["note", "pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_protected_file_is_not_replaced(tmp_path, monkeypatch):
    write_bytes(tmp_path / "note", b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert refusal(write_bytes, tmp_path / "note", b"x").endswith("note: it is write-protected")
    assert (tmp_path / "note").read_bytes() == b"old"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/note")
    write_bytes(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "note").read_bytes() == b"x"
    assert os.listdir(tmp_path / "far") == ["note"]


def test_permissions_are_those_of_the_old_file_or_of_any_new_one(tmp_path):
    (tmp_path / "any").touch()
    write_bytes(tmp_path / "note", b"x")
    assert (tmp_path / "note").stat().st_mode == (tmp_path / "any").stat().st_mode
    (tmp_path / "note").chmod(0o640)
    write_bytes(tmp_path / "note", b"y")
    assert stat.S_IMODE((tmp_path / "note").stat().st_mode) == 0o640


def test_reading_is_bounded(tmp_path):
    write_bytes(tmp_path / "note", b"12345")
    assert read_bytes(tmp_path / "note", 5) == b"12345"
    assert refusal(read_bytes, tmp_path / "note", 4).endswith("note: expected at most 4 bytes, got a larger file")


def test_json_that_is_refused():
    for data, expected in [
        (b'{"format": "note/1",\n "size":}', "n.json:2: not JSON: invalid character (byte 29)"),
        (b'{"format": "\xff"}', "n.json: expected UTF-8 text, got another encoding"),
        (b'{"format": "note/1", "size": 1e999}', "n.json: size: number out of range"),
        (b"{}", 'n.json: format: expected "note/1", got none'),
        (b'{"format": "note/2", "more": 1}', 'n.json: format: expected "note/1", got "note/2"'),
        (b'{"format": "note/1", "more": 1}', "n.json: object contains unknown field more"),
        (b'{"format": "note/1", "size": "1"}', "n.json: size: expected float, got str"),
        (b'{"format": "note/1", "parts": ["a", null]}', "n.json: parts[1]: expected str, got null"),
    ]:
        with pytest.raises(FormatError) as caught:
            from_json(data, Note, "n.json", "note/1")
        assert str(caught.value) == expected
