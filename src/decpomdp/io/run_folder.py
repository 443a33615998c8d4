"""Who writes to a run folder, and whether the run in it is over.

While a run is under way, its folder holds begun.json: the arguments of the command, the folder it was called in, and
digests of all files that it was given. With that and the checkpoints it can be continued. The last thing that a run
does is to remove them. A lock keeps other processes out; the operating system lets go of it when the process dies.
"""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

import msgspec

from decpomdp.core import FormatError, InputError
from decpomdp.io.checkpoints import NAMES
from decpomdp.io.files import FilePath, from_json, in_words, read_bytes, words, write_bytes
from decpomdp.io.locks import lock, still_there
from decpomdp.io.runs import LOG, REPORT, RUN, TEAM, TRACE, versions

BEGUN, LOCK = "begun.json", ".lock"
PARTS = ".decpomdp-*.part"  # what a process was writing when it was killed (see `files.replacing`)
OWN = (TEAM, "team-decided.json", TRACE, RUN, LOG, REPORT, BEGUN, LOCK, *NAMES)  # what a run writes
FORMAT = "decpomdp-begun/1"
BUSY = "another process is writing to this run"
LIMIT = 2**20  # bytes of a begun.json
PIPE = "a pipe"  # instead of a digest
NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # for a pipe


class Begun(msgspec.Struct):
    """What begun.json says."""

    format: str
    arguments: list[str]
    folder: str  # in which the command was called
    files: dict[str, str]  # among the arguments: sha256 of their contents
    versions: dict[str, str]


@contextmanager
def new_run(path: FilePath) -> Iterator[Path]:
    """An empty folder for a run, locked; one that holds anything already is refused, so nothing is lost.

    Folders that were made for a run which then left nothing to go on from are removed again.
    """
    folder = Path(path)
    with in_words(folder):
        if folder.exists():
            if _busy(folder):
                raise InputError(f"{folder}: {BUSY}")
            _check_empty(folder)  # before anything is written there
        made = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            _check_empty(folder)
            try:
                yield folder
            except BaseException:
                _remove_if_alone(folder, (LOG, BEGUN))
                raise
    except BaseException:
        for place in made:
            with suppress(OSError):  # it holds something
                place.rmdir()
        raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else writes to this folder; whoever does already goes on, and this is refused."""
    path = folder / LOCK
    check_links(folder)
    with in_words(path):
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not (lock(number) and still_there(number, path)):
            raise InputError(f"{folder}: {BUSY}")
        with in_words(folder):
            _remove_parts(folder)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(number)


def _remove_parts(folder: Path) -> None:
    """What nobody writes to any more, here and in the folders of a table; not where links lead."""
    inside = (place for place in folder.iterdir() if place.is_dir() and not place.is_symlink())
    for part in (part for place in (folder, *inside) for part in place.glob(PARTS)):
        with suppress(OSError):  # it is gone, or not ours to remove
            number = os.open(part, os.O_RDWR | NO_WAITING)
            try:
                if lock(number) and still_there(number, part):
                    part.unlink()
            finally:
                os.close(number)


def empty(folder: Path) -> None:
    """Remove everything in a folder that nobody else writes to."""
    with locked(folder), in_words(folder):
        for place in folder.iterdir():
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            elif place.name != LOCK:
                place.unlink()


def mark(folder: Path, name: str, content: bytes, expected: str) -> None:
    """Write the file that says whose folder this is, unless it is there; refused if the folder holds anything else.

    What a process left that was killed before it had written anything does not count. Of several that come at the same
    moment one writes it, and the others find it or are refused.
    """
    with in_words(folder):
        _check_bare(folder, name, expected)
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder), in_words(folder):
        _check_bare(folder, name, expected)
        if not (folder / name).exists():
            write_bytes(folder / name, content)


def _check_bare(folder: Path, name: str, expected: str) -> None:
    bare = not folder.exists() or (folder.is_dir() and all(map(_left, folder.iterdir())))
    if not bare and not (folder / name).exists():  # in this order: it may come meanwhile
        raise InputError(f"{folder}: expected {expected}, got another")


def check_links(folder: Path) -> None:
    """Refuse a folder with links that lead out of it, where files of the run should be: they would be overwritten."""
    home = os.path.realpath(folder)
    for place in (folder / name for name in OWN):
        if place.is_symlink() and os.path.dirname(os.path.realpath(place)) != home:
            raise InputError(f"{place}: expected a file of the run, got a link that leads out of its folder")
        with suppress(OSError):  # it is not there; asked once, as a lock may go between two questions
            if not stat.S_ISREG(place.stat().st_mode):  # a pipe would be waited for
                raise InputError(f"{place}: expected a file of the run, got a folder, a pipe or a device")


def check_all_links(folder: Path) -> None:
    """The same for everything below a folder, of a table."""
    home = os.path.realpath(folder)
    for place in folder.rglob("*"):
        if place.is_symlink() and os.path.commonpath([home, os.path.realpath(place)]) != home:
            raise InputError(f"{place}: expected a file of the table, got a link that leads out of its folder")


def begin(folder: Path, arguments: Sequence[str]) -> None:
    """Note what is being done."""
    told = {
        "format": FORMAT,
        "arguments": list(arguments),
        "folder": str(Path.cwd()),
        "files": {name: _digest(name) for name in _files(arguments)},
        "versions": versions(),
    }
    write_bytes(folder / BEGUN, json.dumps(told, indent=2).encode() + b"\n")


def read_begun(folder: Path) -> Begun | None:
    """What the unfinished run in a folder was asked to do; None if the run is over."""
    try:
        begun, over = (folder / BEGUN).is_file(), (folder / RUN).is_file()
    except OSError as error:
        raise InputError(f"{folder}: {words(error)}") from None
    if begun:
        return from_json(read_bytes(folder / BEGUN, LIMIT), Begun, str(folder / BEGUN), FORMAT)
    if over:
        return None
    raise InputError(f"{folder}: expected the folder of a run, got {'another' if folder.is_dir() else 'none'}")


def can_go_on(folder: Path) -> bool:
    """Whether an unfinished run has left a state that it can be continued from; InputError if that cannot be read."""
    if not any((folder / name).exists() for name in NAMES) or not (folder / BEGUN).is_file():
        return False
    data = read_bytes(folder / BEGUN, LIMIT)
    try:
        from_json(data, Begun, str(folder / BEGUN), FORMAT)
    except FormatError:  # nobody knows what was to be done
        return False
    return True


def check_same(begun: Begun) -> None:
    """Refuse to go on where the result could not be the same: other versions, changed files."""
    for name, now in versions().items():
        if begun.versions.get(name) != now:
            before = begun.versions.get(name, "another version")
            raise InputError(f"the run began with {name} {before}, this is {now}: its result would be another one")
    for name, digest in begun.files.items():
        place = Path(begun.folder, name)
        if digest == PIPE:
            raise InputError(f"{place}: the run began with a pipe, which cannot be compared; begin anew, with a file")
        if not place.is_file():
            raise InputError(f"{place}: the run needs this file, and it is gone")
        if _digest(place) != digest:
            raise InputError(f"{place}: the file has changed since the run began, its result would be another one")


def work_of(folder: Path) -> str:
    """A text that belongs to this run alone."""
    return hashlib.sha256(read_bytes(folder / BEGUN, LIMIT)).hexdigest()


def finish(folder: Path) -> None:
    """The run is over."""
    with in_words(folder):
        for name in (BEGUN, *NAMES):  # in this order: without the first the others mean nothing
            (folder / name).unlink(missing_ok=True)


def _busy(folder: Path) -> bool:
    """Whether somebody writes to it at this moment."""
    try:
        number = os.open(folder / LOCK, os.O_RDWR)
    except OSError:  # nobody does, or the answer comes when it is locked
        return False
    try:
        return not lock(number)
    finally:
        os.close(number)


def _check_empty(folder: Path) -> None:
    if folder.is_dir() and (folder / BEGUN).exists():
        raise InputError(f"{folder}: expected a new or empty folder, got an unfinished run (--resume {folder})")
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a new or empty folder for the run, got a file")
    if any(not _left(place) for place in folder.iterdir()):
        raise InputError(f"{folder}: expected a new or empty folder for the run, got one with contents")


def _left(place: Path) -> bool:
    """Whether it may be left by a run that was killed before it had begun."""
    return place.name == LOCK or fnmatch(place.name, PARTS)


def _remove_if_alone(folder: Path, names: Sequence[str]) -> None:
    if all(place.name in (*names, LOCK) for place in folder.iterdir()):
        for name in names:
            (folder / name).unlink(missing_ok=True)


def _files(arguments: Sequence[str]) -> list[str]:
    values = [argument.partition("=")[2] if argument.startswith("--") else argument for argument in arguments]
    return [
        value for value in values if value and os.path.exists(value) and not (Path(value).is_dir() or _is_number(value))
    ]


def _is_number(value: str) -> bool:
    """Whether it is the value of an option, though some file may have that name too."""
    try:
        float(value)
    except ValueError:
        return False
    return True


def _digest(path: FilePath) -> str:
    """Of a file's content; a pipe has none that could be read twice."""
    if not Path(path).is_file():
        return PIPE
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(os.fspath(path), None, f"cannot be read: {words(error)}") from None
