"""Cells on the workers of a cluster.

A worker gives a cell to a process of its own, as `crew` does on this machine, so that cells do not meet in one process.
What a cell writes into a folder, it writes into a temporary one there; the files come back and are written here, the
one that says that the cell is finished last. What a run on this machine had begun there is over with that. Workers need
not see our disk, unless a problem is a file: then its whole path travels with the digest of its contents, so that
another file in its place is refused.

Several of us may use a cluster at the same time: each has processes of its own there, under its own `owner`. When it
has ended, they end, also where it was killed and could not say so: whoever works looks now and then whether anybody
still waits for it, and whoever has had nothing to do for a while ends.
"""

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from decpomdp.core import FormatError, InputError
from decpomdp.domains.load import is_file
from decpomdp.engines.cluster import Cluster
from decpomdp.experiments.cells import LIMIT, Cell
from decpomdp.experiments.crew import Crew
from decpomdp.experiments.origin import code_digest
from decpomdp.io.files import in_words, read_bytes, words, write_bytes
from decpomdp.io.run_folder import locked

OUT = "out"  # the setting that names the folder of a cell that writes its own files
PROBLEM, CONTENT = "problem", "content of the file"  # settings: a name or a path; the digest of what is there
LOOK, IDLE = 10.0, 30.0  # seconds between two looks at who has nothing to do, and for how long that may be


def work_elsewhere(
    cluster: Cluster, folder: Path, cells: Sequence[Cell], at_once: int | None = None
) -> Iterator[tuple[Cell, Any, str]]:
    """Cells with their results and the code that made them, which is the workers', as they come."""
    owner, content = uuid4().hex, cache(_content)
    sent = [(_with_file(cell, content), owner) for cell in cells]
    try:
        for number, (code, result, files) in cluster.as_they_come(_worked, sent, at_once):
            if cells[number].own_file:
                keep_files(folder / cells[number].place, files)
            yield cells[number], result, code
    finally:
        if cells:
            with suppress(Exception):  # if the cluster is lost, its processes have ended too
                cluster.client.run(dismiss, owner)


def worked(cell: Cell, work: Callable[[Cell], Any], home: str) -> tuple[Any, Mapping[str, bytes]]:
    """The result of a cell, and the files that it wrote into a temporary folder in `home`."""
    if not cell.own_file:
        return work(cell), {}
    with tempfile.TemporaryDirectory(prefix="decpomdp-", dir=home) as place:
        out = Path(place) / Path(cell.own_file).parent.name
        result = work(replace(cell, settings={**cell.settings, OUT: str(out)}))
        files = (path for path in sorted(out.rglob("*")) if path.is_file())
        return result, {str(path.relative_to(out)): read_bytes(path, LIMIT) for path in files}


def _worked(cell: Cell, owner: str) -> tuple[str, Any, Mapping[str, bytes]]:
    """On a worker: what code it has, and what that made of the cell."""
    from distributed import get_worker

    _check_file(cell)
    with _crews_lock:
        crew = _crews.setdefault(owner, Crew())  # one that was dismissed takes no work any more
        _look_at_idle()
    return code_digest(), *worked(cell, partial(crew.one, wanted=_wanted()), get_worker().local_directory)


def _wanted() -> Callable[[], bool]:
    """On a worker: a function, also for other threads, that tells whether this thread's task is still wanted."""
    from distributed import get_worker

    tasks, key = get_worker().state.tasks, get_worker().get_current_task()
    return lambda: getattr(tasks.get(key), "state", "forgotten") not in ("cancelled", "released", "forgotten")


def _with_file(cell: Cell, content: Callable[[str], str]) -> Cell:
    """The cell as it travels: workers are in other folders, and maybe on machines with other files."""
    problem = cell.settings.get(PROBLEM)
    if not isinstance(problem, str) or not is_file(problem):
        return cell
    there = {PROBLEM: str(Path(problem).absolute()), CONTENT: content(problem)}
    return replace(cell, settings={**cell.settings, **there})


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        raise FormatError(path, None, f"cannot be read: {words(error)}") from None


def _check_file(cell: Cell) -> None:
    """On a worker: its file has to be the one that was meant."""
    if CONTENT not in cell.settings:
        return
    from distributed import get_worker

    path = cell.settings[PROBLEM]
    expected = f"{path}: expected the same file on the worker {get_worker().address}"
    try:
        same = _content(path) == cell.settings[CONTENT]
    except FormatError as error:
        raise InputError(f"{expected}, got none: {error.message}") from None
    if not same:
        raise InputError(f"{expected}, got another one")


def keep_files(last: Path, files: Mapping[str, bytes]) -> None:
    """Write files beside `last`, and that one at the end; then nothing is left to go on with, if there was."""
    with in_words(last):
        last.parent.mkdir(parents=True, exist_ok=True)
    with locked(last.parent):
        for name in sorted(files, key=lambda name: name == last.name):
            path = last.parent / name
            with in_words(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, files[name])


_crews: dict[str, Crew] = {}  # on a worker: owner -> the processes that work for him
_crews_lock = threading.Lock()


@cache
def _look_at_idle() -> threading.Thread:
    """On a worker, for as long as it lives: end processes that nobody gives work any more."""

    def look() -> None:
        while True:
            time.sleep(LOOK)
            with _crews_lock:
                crews = list(_crews.values())
            for crew in crews:
                crew.rest(IDLE)

    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    return watch


def dismiss(owner: str) -> None:
    """On a worker: end the processes of one owner. He is remembered: what of his begins only now is refused."""
    with _crews_lock:
        crew = _crews.setdefault(owner, Crew())
    crew.__exit__()
