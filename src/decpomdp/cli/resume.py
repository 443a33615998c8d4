"""`--resume RUN`: the same command again, as it was given when the run began, going on from its checkpoint.

It may be done elsewhere than it began: on another cluster, or on this machine's threads.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from decpomdp.cli.engine import NAMES as ELSEWHERE

CELLS = "cells"  # folder of what `reproduce` has finished
OPTION = "--resume"
ENGINE, SCHEDULER = ELSEWHERE
JOBS = "--jobs"  # so many at a time on this machine: the workers of a cluster decide for themselves
BESIDE = {  # what may be given anew, by command
    "learn": ("--quiet", "--json", *ELSEWHERE),
    "plan": ("--quiet", "--json"),
    "reproduce": ("--json", *ELSEWHERE),
}
given: ContextVar[tuple[str, ...]] = ContextVar("given", default=())  # the arguments of the command that is being run


def _option(command: str) -> Any:
    beside = ", ".join(BESIDE[command])
    return typer.Option(OPTION, metavar="RUN", help=f"Go on with a run that was cut off; alone or with {beside}.")


ResumeLearn = Annotated[Path | None, _option("learn")]
ResumePlan = Annotated[Path | None, _option("plan")]
ResumeReproduce = Annotated[Path | None, _option("reproduce")]
Every = Annotated[
    float | None,
    typer.Option("--checkpoint-every", min=0, help="Seconds from one checkpoint to the next. [default: 5]"),
]


class OverAlready(Exception):  # noqa: N818 - it is no error
    """The run that was to be continued is finished."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: the run is finished; nothing was done")


def recorded(arguments: Sequence[str]) -> list[str]:
    """The arguments to run: those of the run to be continued, in the folder where it began, if there is one.

    Raises OverAlready when it is finished, InputError when it cannot be continued.
    """
    if not arguments or arguments[0] not in BESIDE or not _asks(arguments):
        return list(arguments)
    from decpomdp.core.errors import InputError
    from decpomdp.io.run_folder import BEGUN, check_same, read_begun

    folder, beside = _parsed(arguments[1:], BESIDE[arguments[0]])
    over = arguments[0] == "reproduce" and (folder / CELLS).is_dir() and not (folder / BEGUN).exists()
    begun = None if over else read_begun(folder)
    if begun is None:
        _sweep(folder)
        raise OverAlready(folder)
    if begun.arguments[:1] != [arguments[0]]:
        raise InputError(f"{folder}: expected a run of `decpomdp {arguments[0]}`, got another command's")
    if not _asks([OPTION, *begun.arguments]):
        raise InputError(f"{folder}: expected a run, got a call for help")
    check_same(begun)
    with suppress(OSError, ValueError):  # it need not be there any more: files that it needs were found above
        os.chdir(begun.folder)
    _check_scheduler(folder, begun.arguments, beside)
    began = _without(begun.arguments, _replaced(beside))
    end = began.index("--") if "--" in began else len(began)  # what follows that are no options
    return [*began[:end], OPTION, str(folder), *beside, *began[end:]]


def _check_scheduler(folder: Path, began: Sequence[str], beside: Sequence[str]) -> None:
    """Refuse to call a scheduler that a file alone names: whoever answers there could run code here."""
    from decpomdp.core.errors import InputError

    where = _value(began, SCHEDULER)
    if where is not None and not set(ELSEWHERE) & set(beside):
        said = f"the run used the scheduler {where!r}, which is not called because a file says so"
        raise InputError(f"{folder}: {said}; give {SCHEDULER}, or {ENGINE} threads, beside {OPTION}")


def _sweep(folder: Path) -> None:
    """What a process left that was killed after the run was over, while it removed its checkpoints."""
    from decpomdp.core.errors import InputError
    from decpomdp.io.checkpoints import NAMES
    from decpomdp.io.run_folder import LOCK, finish, locked

    if any((folder / name).exists() for name in (*NAMES, LOCK)):
        with suppress(InputError), locked(folder):  # where nothing can be written it stays
            finish(folder)


def _replaced(beside: Sequence[str]) -> Sequence[str]:
    """Options of the run that do not count any more: another scheduler leaves the engine as it was."""
    replaced = ELSEWHERE if ENGINE in beside else ()
    return (*replaced, SCHEDULER, JOBS) if SCHEDULER in beside else replaced


def _without(arguments: Sequence[str], names: Sequence[str]) -> list[str]:
    """The same, without these options and their values."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept, rest = list[str](), list(arguments[:end])
    while rest:
        word = rest.pop(0)
        if word in names:
            del rest[:1]
        elif word.partition("=")[0] not in names:
            kept.append(word)
    return [*kept, *arguments[end:]]


def _value(arguments: Sequence[str], name: str) -> str | None:
    """What is given for an option; None if it is not there."""
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            return None
        if word == name:
            return next(rest, "")
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def _asks(arguments: Sequence[str]) -> bool:
    wanted = any(word == OPTION or word.startswith(f"{OPTION}=") for word in arguments)
    return wanted and not {"-h", "--help"} & set(arguments)


def _parsed(words: Sequence[str], allowed: Sequence[str]) -> tuple[Path, list[str]]:
    """The run's folder, and what of the `allowed` is beside it."""
    from decpomdp.core.errors import InputError

    folder, beside, rest = "", list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if word == OPTION and rest:
            folder = rest.pop(0)
        elif word.startswith(f"{OPTION}="):
            folder = word.partition("=")[2]
        elif word.partition("=")[0] in allowed and word.partition("=")[0] in ELSEWHERE:
            name, _, value = word.partition("=")
            beside += [name, value or (rest.pop(0) if rest else "")]
        elif word in allowed:
            beside.append(word)
        elif word != OPTION:
            raise InputError(f"{OPTION}: expected nothing beside it but {', '.join(allowed)}, got {word}")
    if not folder:
        raise InputError(f"{OPTION}: expected the folder of a run, got none")
    return Path(folder).absolute(), beside
