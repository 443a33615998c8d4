"""Reading and writing whole files: atomic writes, bounded reads, strict JSON.

A file is written under a temporary name in its own folder, flushed to the disk, and then renamed. A reader sees the old
file or the new one, never a part. Errors of the operating system become one line: InputError if a file cannot be
written, FormatError if it cannot be read.
"""

import math
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from decpomdp.core.checks import kind_of
from decpomdp.core.errors import FormatError, InputError
from decpomdp.io.locks import lock, still_there

Document = TypeVar("Document")
FilePath = str | os.PathLike[str]
PIECE = 1 << 20  # bytes read at a time
_parts: set[Path] = set()  # temporary files that are being written


def path_of(path: FilePath) -> str:
    """The path as a text; InputError if it is none."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError(f"path: expected the path of a file, got {kind_of(path)}")
    return os.fspath(path)


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """A temporary path in the folder of `path`; renamed to `path` when the block succeeds, removed otherwise."""
    with in_words(path_of(path)):
        target = Path(os.path.realpath(path))  # a link stays a link; what it points to is replaced
        mode = _mode_of(target)
        temporary, number = _part_beside(target)
        _parts.add(temporary)
        try:
            yield temporary
            if mode is not None:
                temporary.chmod(mode)
            _to_disk(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
            _parts.discard(temporary)
            if number is not None:
                os.close(number)
        with suppress(OSError):  # makes the new name itself last; not every system can do this to a folder
            _to_disk(target.parent)


def _part_beside(target: Path) -> tuple[Path, int | None]:
    """A new file and its descriptor: locked until it is closed, so that no cleanup takes it for a leftover."""
    while True:
        temporary = target.with_name(f".decpomdp-{secrets.token_hex(8)}.part")
        number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        if sys.platform == "win32":  # where an open file cannot be renamed
            os.close(number)
            return temporary, None
        if lock(number) and still_there(number, temporary):
            return temporary, number
        os.close(number)  # a cleanup looked at it at this moment
        temporary.unlink(missing_ok=True)


def drop_parts() -> None:
    """Remove temporary files before a process ends without unwinding."""
    for part in list(_parts):
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def in_words(path: FilePath) -> Iterator[None]:
    """Turn errors of the operating system while `path` is being written into an InputError of one line."""
    try:
        yield
    except OSError as error:
        folder = Path(path).parent
        reason = words(error) if folder.exists() else f"the folder {folder} does not exist"
        raise InputError(f"cannot write {os.fspath(path)}: {reason}") from error
    except ValueError as error:
        if "null byte" not in str(error):  # the only complaint about a path that is not an OSError
            raise
        raise InputError(f"cannot write {os.fspath(path)!r}: a path cannot hold a null byte") from None


def words(error: Exception) -> str:
    """The message of the operating system or of a library, on one line."""
    number = error.errno if isinstance(error, OSError) else None
    said = os.strerror(number) if number else getattr(error, "strerror", None) or str(error)
    nothing = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    return " ".join(said.split())[:300] or nothing


def write_bytes(path: FilePath, data: bytes) -> None:
    """`data` as the whole content of the file at `path`."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def read_bytes(path: FilePath, limit: int) -> bytes:
    """The content of the file at `path`; FormatError for more than `limit` bytes."""
    source = path_of(path)
    data = bytearray()
    try:
        with open(path, "rb") as file:
            while len(data) <= limit and (piece := file.read(PIECE)):  # never allocates the whole limit at once
                data += piece
    except (OSError, ValueError) as error:
        raise FormatError(source, None, f"cannot be read: {words(error)}") from None
    if len(data) > limit:
        raise FormatError(source, None, f"expected at most {limit} bytes, got a larger file")
    return bytes(data)


def check_regular(source: str) -> None:
    """Raise FormatError for a pipe or a device: tables are read from regular files only."""
    if os.path.exists(source) and not (os.path.isfile(source) or os.path.isdir(source)):
        raise FormatError(
            source, None, "cannot be read: it is a pipe or a device, not a file; write it to a file first"
        )


class _Tagged(msgspec.Struct):
    """The field by which our JSON files are recognised."""

    format: Any = None


def from_json(data: bytes, kind: type[Document], source: str, known: str) -> Document:
    """`data` as a `kind` (a msgspec Struct); its field `format` must be the `known` one.

    msgspec rejects NaN, infinities, missing fields and wrong types, and unknown fields where the Struct forbids them.
    If a key is repeated, its last value counts.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        tag = msgspec.json.decode(data, type=_Tagged).format
        if tag != known:  # said first: other versions have other fields
            got = "none" if tag is None else msgspec.json.encode(tag).decode()[:80]
            raise FormatError(source, None, f'format: expected "{known}", got {got}')
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $")
        where = f"{place.lstrip('.')}: " if place else ""
        raise FormatError(source, None, f"{where}{message[:1].lower()}{message[1:]}"[:300]) from None
    except msgspec.DecodeError as error:
        at = re.search(r"byte (\d+)", str(error))
        line = data.count(b"\n", 0, int(at[1]) if at else len(data)) + 1
        raise FormatError(source, line, f"not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    except UnicodeError:
        raise FormatError(source, None, "expected UTF-8 text, got another encoding") from None
    except RecursionError:
        raise FormatError(source, None, "expected JSON of a few levels, got one that is nested too deeply") from None


def _mode_of(target: Path) -> int | None:
    """The permissions of the file to be replaced, None if there is none; OSError if it must not be replaced."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(0, "it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError(0, "it is a device or a pipe, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(0, "it is write-protected")
    return stat.S_IMODE(mode)


def _to_disk(path: Path) -> None:
    # A file is opened for writing because Windows refuses to flush anything else.
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def finite(content: Any) -> Any:
    """`content` with null in place of NaN and infinities, which JSON cannot hold."""
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
