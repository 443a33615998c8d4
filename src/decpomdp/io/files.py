"""Reading and writing files: atomic writes, bounded reads, strict JSON, Parquet with limits.

A file is written under a temporary name in its own folder, flushed to the disk, and then renamed. A reader sees the old
file or the new one, never a part. Errors of the operating system become one line: InputError if a file cannot be
written, FormatError if it cannot be read.

The sizes in the footer of a Parquet file are compared with the machine's memory before columns are read. pyarrow checks
the rest: the footer against its Thrift limits, the pages against their checksums.
"""

import math
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from decpomdp.core.checks import kind_of
from decpomdp.core.errors import FormatError, InputError

Document = TypeVar("Document")
FilePath = str | os.PathLike[str]
PIECE = 1 << 20  # bytes read at a time
CSV = (".csv", ".csv.gz", ".csv.zst")
MAGIC = b"PAR1"  # first bytes of every Parquet file
FOOTER_STRINGS = 1 << 27  # bytes of all names and metadata in a footer
FOOTER_ITEMS = 1 << 17  # entries of a list in a footer: columns, row groups
CELL = 16  # bytes of a value and of the array made from it, on average
UNKNOWN_MEMORY = 1 << 34  # bytes assumed if the system does not report its memory


def path_of(path: FilePath) -> str:
    """The path as a text."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"path: expected the path of a file, got {kind_of(path)}")
    return text


def is_csv(source: str) -> bool:
    """Whether a file of this name is CSV, compressed or not; every other one is Parquet."""
    return source.lower().endswith(CSV)


def is_logged(path: FilePath) -> bool:
    """Whether a path has the suffix of recorded episodes, not of a problem."""
    return path_of(path).lower().endswith((".parquet", *CSV))


@contextmanager
def replacing(path: FilePath) -> Iterator[Path]:
    """A temporary path in the folder of `path`; renamed to `path` when the block succeeds, removed otherwise."""
    with one_line_errors(path_of(path)):
        target = Path(os.path.realpath(path))  # a link stays a link; its target is replaced
        mode = _mode_of(target)
        temporary = target.with_name(f".decpomdp-{secrets.token_hex(8)}.part")
        try:
            temporary.touch(exist_ok=False)
            yield temporary
            if mode is not None:
                temporary.chmod(mode)
            _to_disk(temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        with suppress(OSError):  # makes the new name durable; not possible on every file system
            _to_disk(target.parent)


@contextmanager
def one_line_errors(path: FilePath) -> Iterator[None]:
    """Turn errors of the operating system while `path` is being written into an InputError of one line."""
    try:
        yield
    except OSError as error:
        folder = Path(path).parent
        reason = message_of(error) if folder.exists() else f"the folder {folder} does not exist"
        raise InputError(f"cannot write {os.fspath(path)}: {reason}") from error


def message_of(error: Exception) -> str:
    """The message of the operating system or of a library, on one line."""
    number = error.errno if isinstance(error, OSError) else None
    message = os.strerror(number) if number else getattr(error, "strerror", None) or str(error)
    return " ".join(message.split())[:300] or type(error).__name__


def write_bytes(path: FilePath, data: bytes) -> None:
    """Write `data` to `path`, completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def read_bytes(path: FilePath, limit: int) -> bytes:
    """The content of the file at `path`; FormatError for more than `limit` bytes."""
    source, data = path_of(path), bytearray()
    try:
        with open(path, "rb") as file:
            while len(data) <= limit and (piece := file.read(PIECE)):
                data += piece
    except OSError as error:
        raise FormatError(source, None, f"cannot be read: {message_of(error)}") from None
    if len(data) > limit:
        raise FormatError(source, None, f"expected at most {limit} bytes, got a larger file")
    return bytes(data)


@contextmanager
def open_parquet(source: str) -> Iterator[Any]:
    """The pyarrow.parquet.ParquetFile at `source`; its errors, and those while it is read, become FormatErrors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open(source, "rb") as file:
            if file.peek(len(MAGIC))[: len(MAGIC)] != MAGIC:
                hint = "the name of a CSV file ends in .csv, .csv.gz or .csv.zst"
                raise FormatError(source, None, f"expected a Parquet file, got another kind of file ({hint})")
            yield pq.ParquetFile(
                file,
                page_checksum_verification=True,
                thrift_string_size_limit=FOOTER_STRINGS,
                thrift_container_size_limit=FOOTER_ITEMS,
            )
    except FormatError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise FormatError(source, None, f"cannot be read as Parquet: {message_of(error)}") from None


def read_columns(file: Any, columns: Sequence[str], source: str) -> Any:
    """An Arrow table of these columns; FormatError if they would take more than half of the memory."""
    widths = [getattr(file.schema_arrow.field(name).type, "list_size", 1) for name in columns]
    check_memory(source, file.metadata.num_rows * sum(widths) * CELL)
    table = file.read(columns=list(columns))
    table.validate(full=True)
    return table


def check_memory(source: str, needed: int) -> None:
    """Raise FormatError if a table needs more than half of the memory."""
    if needed > memory() // 2:
        raise FormatError(source, None, f"needs {needed} bytes, more than half of the memory ({memory() // 2} bytes)")


def memory() -> int:
    """Bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN_MEMORY


class _Tagged(msgspec.Struct):
    """The field that identifies a JSON file of this package."""

    format: Any = None


def from_json(data: bytes, kind: type[Document], source: str, known: str) -> Document:
    """`data` as a `kind` (a msgspec Struct); its field `format` must be the `known` one.

    msgspec rejects NaN, infinities, missing fields and wrong types, and unknown fields where the Struct forbids them.
    If a key is repeated, its last value counts.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        tag = msgspec.json.decode(data, type=_Tagged).format
        if tag != known:  # before the other fields, which depend on the version
            got = "none" if tag is None else msgspec.json.encode(tag).decode()[:80]
            raise FormatError(source, None, f'format: expected "{known}", got {got}')
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $")
        where = f"{place.lstrip('.')}: " if place else ""
        raise FormatError(source, None, f"{where}{message[:1].lower()}{message[1:]}"[:300]) from None
    except (msgspec.DecodeError, RecursionError) as error:
        at = re.search(r"byte (\d+)", str(error))
        line = data.count(b"\n", 0, int(at[1]) if at else len(data)) + 1
        raise FormatError(source, line, f"not JSON: {str(error).removeprefix('JSON is malformed: ')}") from None
    except UnicodeError:
        raise FormatError(source, None, "expected UTF-8 text, got another encoding") from None


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
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)  # Windows flushes writable files only
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
