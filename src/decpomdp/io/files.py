"""Files as a whole: written completely or not at all, read within bounds, JSON without surprises.

A file is first written under a temporary name in the folder where it will live, brought to the disk, and only then
given its name, in one step. Whoever reads that name finds the old file or the new one, never half of either. The
operating system's complaints reach the user as one line: InputError for what cannot be written, FormatError for
what cannot be read.
"""

import json
import math
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from decpomdp.core.checks import kind_of
from decpomdp.core.errors import FormatError, InputError
from decpomdp.io.locks import lock, still_there
from decpomdp.io.opening import opened

Document = TypeVar("Document")
FilePath = str | os.PathLike[str]
PIECE = 1 << 20  # bytes read at a time
NESTING = 32  # levels of lists and objects in JSON: our files have seven
ESCAPED, QUOTED = re.compile(rb"\\.", re.DOTALL), re.compile(rb'"[^"]*"?')
NO_SIGNS = bytes(set(range(256)) - set(b'[]{}"'))  # what neither opens nor closes anything
OPENING = ord("[")
_parts: set[Path] = set()  # temporary files that are being written


def path_of(path: FilePath) -> str:
    """The path as a text; InputError if it is none."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError(f"path: expected the path of a file, got {kind_of(path)}")
    return os.fspath(path)


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """A temporary path in the folder of `path`; becomes `path` when the block ends well, else leaves no trace."""
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
    """A new file, and what to close at the end: until then it is locked, so that nobody takes it for left behind."""
    while True:
        temporary = target.with_name(f".decpomdp-{secrets.token_hex(8)}.part")
        number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        if sys.platform == "win32":  # where a file that is open cannot get its name
            os.close(number)
            return temporary, None
        if lock(number) and still_there(number, temporary):
            return temporary, number
        os.close(number)  # somebody looked at it at this moment
        temporary.unlink(missing_ok=True)


def drop_parts() -> None:
    """Remove what is half written, before a process ends without unwinding."""
    for part in list(_parts):
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def in_words(path: FilePath) -> Iterator[None]:
    """Turns what the operating system says while `path` is being written into an InputError of one line."""
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
    """What the operating system or a library says, on one line."""
    number = error.errno if isinstance(error, OSError) else None
    said = os.strerror(number) if number else getattr(error, "strerror", None) or str(error)
    nothing = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
    return " ".join(said.split())[:300] or nothing


def write_bytes(path: FilePath, data: bytes) -> None:
    """`data` as the whole content of the file at `path`."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def read_bytes(path: FilePath, limit: int) -> bytes:
    """The whole content of the file at `path`; a file of more than `limit` bytes is refused."""
    source = path_of(path)
    try:
        with opened(path) as file:
            data = bytearray()
            while len(data) <= limit and (piece := file.read(PIECE)):  # asked for all at once, it would take the limit
                data += piece
    except (OSError, ValueError) as error:
        raise FormatError(source, None, f"cannot be read: {words(error)}") from None
    if len(data) > limit:
        raise FormatError(source, None, f"expected at most {limit} bytes, got a larger file")
    return bytes(data)


def from_json(data: bytes, kind: type[Document], source: str, known: str) -> Document:
    """`data` as a `kind` (a msgspec Struct), strictly; its field `format` must be the `known` one.

    Refuses, naming the line or the place inside: what is not UTF-8 or not JSON (NaN and Infinity are not), a name
    given twice in one object, another format, fields missing, unknown or of another type.
    """
    import msgspec

    document = _parse(data, source)
    if not isinstance(document, dict):
        raise FormatError(source, None, f"expected a JSON object, got {json.dumps(document)[:80]}")
    if document.get("format") != known:  # said first: another version has other fields
        got = json.dumps(document["format"])[:80] if "format" in document else "none"
        raise FormatError(source, None, f'format: expected "{known}", got {got}')
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $")
        where = f"{place.lstrip('.')}: " if place else ""
        raise FormatError(source, None, f"{where}{message[:1].lower()}{message[1:]}"[:300]) from None
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can write and no text can hold
        raise FormatError(source, None, "expected texts of Unicode characters, got another") from None


def _parse(data: bytes, source: str) -> Any:
    if _too_deep(data):
        raise FormatError(source, None, f"expected at most {NESTING} levels of nesting, got more")
    try:
        # parse_int: every number of our files is a float, and a whole number may have any number of digits
        return json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object, parse_int=float, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        raise FormatError(source, error.lineno, f"not JSON: {error.msg} (column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise FormatError(source, None, f"expected UTF-8 text, got another byte at position {error.start}") from None
    except _RefusedError as error:
        raise FormatError(source, None, str(error)) from None


def _too_deep(data: bytes) -> bool:
    """Whether a text of JSON has more levels of lists and objects than any of ours.

    Counted before it is parsed: how many levels a parser can take depends on how deep its caller is, and so would what
    is said of the file.
    """
    plain = ESCAPED.sub(b"", data) if b"\\" in data else data
    signs = plain.translate(None, delete=NO_SIGNS)  # quickly: most of a large file are numbers
    steps = QUOTED.sub(b"", signs).translate(bytes.maketrans(b"{}", b"[]"))
    levels = accumulate(1 if sign == OPENING else -1 for sign in steps)
    return any(level > NESTING for level in levels)


class _RefusedError(Exception):
    """JSON that other readers may accept and we do not."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise _RefusedError(f"expected every name once in an object, got {json.dumps(name)[:80]} twice")
        content[name] = value
    return content


def _no_constant(name: str) -> float:
    raise _RefusedError(f"expected finite numbers, got {name}")


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


def finite(told: Any) -> Any:
    """JSON knows no infinities: what is too large for a number is null."""
    if isinstance(told, dict):
        return {key: finite(value) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return [finite(value) for value in told]
    return None if isinstance(told, float) and not math.isfinite(told) else told
