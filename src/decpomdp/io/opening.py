"""Opening what a user names, without waiting for ever and without more memory than there is.

A name may be that of a folder, a device or a pipe. Text is read from pipes too, as shells like to give them
(`<(zcat ...)`); a pipe that nobody writes to is refused instead of waited for. Parquet and CSV need a real file.
"""

import os
import select
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from typing import Any, NamedTuple

from decpomdp.core.errors import FormatError
from decpomdp.io.arrow_files import arrow_file
from decpomdp.io.memory import memory
from decpomdp.io.thrift import BrokenError, ManyError, Reader, Wanted

STANDARD_INPUT = "-"  # how commands call it, unless a file has this name
TO_FILE = "write it to a file first"
ENDING = 8  # bytes at the end of a Parquet file: the size of its list of contents, and PAR1
WAIT = 5.0  # seconds until somebody has to write to a pipe
CHANGED = "expected a file that stays as it is, got one that changed meanwhile"
WIDTH = 16  # bytes of a cell and of what is made of it, on average
LIKELY = 100  # times smaller than its content a file may be
ENOUGH = 1 << 29  # bytes that any file may stand for
FOOTER = 1 << 24  # bytes of the list of contents of a Parquet file; a megabyte is much
LITTLE = 1 << 20  # bytes of it that are no matter
PARTS = 250_000  # columns of all groups of rows together
PARSED = 70  # times as many bytes that list takes when it is read
CONTENTS: Wanted = {2: ({},), 4: ({1: ({},)},)}  # of that list: how many columns, groups of rows, and columns of these
LARGER = "write larger groups of rows"
MANY = 100_000  # columns, or groups of rows, of a Parquet file


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """The file or pipe at `path`, open for reading; OSError if it cannot be, or if nobody writes to the pipe."""
    if not hasattr(os, "O_NONBLOCK"):  # a system without named pipes among its files
        return open(path, "rb")
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISFIFO(os.fstat(number).st_mode):
            _await_writer(number)
        os.set_blocking(number, True)
        return open(number, "rb")
    except BaseException:
        os.close(number)
        raise


def _await_writer(number: int) -> None:
    """A slow writer is waited for, as long as there is one."""
    if select.select([number], [], [], WAIT)[0]:
        return
    try:
        nobody = not os.read(number, 1)
    except BlockingIOError:  # somebody has it open and has not yet written
        return
    raise OSError(0, "it is a pipe that nobody writes to" if nobody else "it is a pipe that was slow; try again")


def check_file(source: str) -> None:
    """Raise FormatError for what is neither a file nor a folder: a pipe, a device, standard input, no path at all."""
    if "\0" in source:
        raise FormatError(repr(source), None, "cannot be read: a path cannot hold a null byte")
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError):
        if source == STANDARD_INPUT:
            raise FormatError(source, None, f"cannot be read: expected a file, got standard input; {TO_FILE}") from None
        return  # whoever opens it says so
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FormatError(source, None, f"cannot be read: it is a pipe or a device, not a file; {TO_FILE}")


@contextmanager
def parquet(source: str, texts: Sequence[str] = ()) -> Iterator[Any]:
    """The Parquet file at `source`; the columns `texts` come as numbered labels, each text once."""
    import pyarrow.parquet as pq

    check_file(source)
    _check_footer(source)
    options = {
        "page_checksum_verification": True,
        "read_dictionary": list(texts),
        "thrift_container_size_limit": MANY,  # room for that is made before there is any
    }
    with arrow_file(source, "rb") as file:
        try:
            found = pq.ParquetFile(file, **options)
        except KeyError:  # one of the `texts`, which were there when the file was looked at before
            raise FormatError(source, None, CHANGED) from None
        with found:
            yield found


def _check_footer(source: str) -> None:
    """Raise FormatError if a Parquet file's list of contents is larger than that of any honest one."""
    with open(source, "rb") as file:
        if file.seek(0, os.SEEK_END) >= ENDING:
            file.seek(-ENDING, os.SEEK_END)
            size = int.from_bytes(file.read(4), "little")
            if file.read(4) != b"PAR1":
                return
            if size > FOOTER:
                raise FormatError(source, None, f"expected a list of contents of at most {FOOTER} bytes, got {size}")
            check_fits(PARSED * size, source, "a list of contents")
            if size > LITTLE:
                file.seek(-ENDING - size, os.SEEK_END)
                _check_parts(file.read(size), source)


def _check_parts(footer: bytes, source: str) -> None:
    """Raise FormatError for more columns of groups of rows than honest files have: each takes far more than its own.

    Counted are those that every group has, and those that it should have by the list of columns.
    """
    said = f"expected at most {PARTS} columns of groups of rows"
    try:
        found = Reader(footer, most=PARTS).struct(CONTENTS)
    except ManyError:
        raise FormatError(source, None, f"{said}, got more; {LARGER}") from None
    except BrokenError as error:  # Arrow may see something else in it
        raise FormatError(
            source, None, f"expected a list of contents of Parquet, got a damaged one ({error})"
        ) from None
    columns, groups = (found.get(field, (0, 0))[0] for field in CONTENTS)
    if columns * groups > PARTS:
        raise FormatError(source, None, f"{said}, got {groups} of {columns}; {LARGER}")


class Rule(NamedTuple):
    """How much more than its own bytes a file may stand for: it would take long for nothing."""

    enough: int  # bytes that any file may stand for
    likely: int  # times its own bytes
    hint: str = ""  # what to do if it is meant

    def most(self, size: int) -> int:
        """Bytes that a file of this size may stand for."""
        return max(self.enough, self.likely * size)


ANEW = 'write it anew without compression and dictionaries (pyarrow: compression="none", use_dictionary=False)'
RULE = Rule(ENOUGH, LIKELY)
DATA = Rule(2 << 30, 1000, f"; {ANEW}")  # Parquet packs what an honest team did always alike into next to nothing


def check_bytes(needed: int, source: str, got: str, rule: Rule = RULE, size: int | None = None) -> None:
    """Raise FormatError for what would not fit into half of the memory, or is far more than `size` bytes stand for.

    None: the size of the file.
    """
    if size is None and os.path.isfile(source):
        size = os.path.getsize(source)
    if size is not None and needed > rule.most(size):
        said = f"expected what {size} bytes may stand for ({rule.most(size)} bytes)"
        raise FormatError(source, None, f"{said}, got {got} of {needed} bytes{rule.hint}")
    check_fits(needed, source, got)


def check_fits(needed: int, source: str, got: str) -> None:
    """Raise FormatError for what would not fit into half of the memory: the other half is for what is made of it."""
    most = memory() // 2
    if needed > most:
        raise FormatError(source, None, f"expected what fits into memory ({most} bytes), got {got} of {needed} bytes")
