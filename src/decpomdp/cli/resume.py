"""`--resume RUN`: the same command again, as it was given when the run began, going on from its checkpoint.

It may be done elsewhere than it began: on another cluster, or on this machine's threads.
"""

import os
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from decpomdp.cli.engine import NAMES as ELSEWHERE

COMMANDS = ("learn", "plan", "reproduce")
CELLS = "cells"  # folder of what `reproduce` has finished
OPTION, BESIDE = "--resume", ("--quiet", "--json")
given: ContextVar[tuple[str, ...]] = ContextVar("given", default=())  # the arguments of the command that is being run

Resume = Annotated[
    Path | None,
    typer.Option(
        OPTION,
        metavar="RUN",
        help="Go on with a run that was cut off; alone or with --quiet, --json, --engine, --scheduler.",
    ),
]
Every = Annotated[
    float | None,
    typer.Option("--checkpoint-every", min=0, help="Seconds from one checkpoint to the next. [default: 5]"),
]


class OverAlready(Exception):  # noqa: N818 - it is no error
    """The run that was to be continued is finished."""


def recorded(arguments: Sequence[str]) -> list[str]:
    """The arguments to run: those of the run to be continued, in the folder where it began, if there is one.

    Raises OverAlready when it is finished, InputError when it cannot be continued.
    """
    if not arguments or arguments[0] not in COMMANDS or not _asks(arguments):
        return list(arguments)
    from decpomdp.core.errors import InputError
    from decpomdp.io.files import words
    from decpomdp.io.run_folder import BEGUN, check_same, read_begun

    folder, beside = _parsed(arguments[1:])
    over = arguments[0] == "reproduce" and (folder / CELLS).is_dir() and not (folder / BEGUN).exists()
    begun = None if over else read_begun(folder)
    if begun is None:
        raise OverAlready(f"{folder}: the run is finished; nothing was done")
    if begun.arguments[:1] != [arguments[0]]:
        raise InputError(f"{folder}: expected a run of `decpomdp {arguments[0]}`, got another command's")
    check_same(begun)
    try:
        os.chdir(begun.folder)
    except (OSError, ValueError) as error:  # ValueError: no path at all
        raise InputError(f"{begun.folder}: the run began in this folder: {words(error)}") from None
    began = _without_place(begun.arguments) if set(ELSEWHERE) & set(beside) else begun.arguments
    end = began.index("--") if "--" in began else len(began)  # what follows that are no options
    return [*began[:end], OPTION, str(folder), *beside, *began[end:]]


def _without_place(arguments: Sequence[str]) -> list[str]:
    """The same, without where it was done."""
    kept, rest = list[str](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ELSEWHERE:
            del rest[:1]
        elif word.partition("=")[0] not in ELSEWHERE:
            kept.append(word)
    return kept


def _asks(arguments: Sequence[str]) -> bool:
    wanted = any(word == OPTION or word.startswith(f"{OPTION}=") for word in arguments)
    return wanted and not {"-h", "--help"} & set(arguments)


def _parsed(words: Sequence[str]) -> tuple[Path, list[str]]:
    """The run's folder, and the options that may be beside it."""
    from decpomdp.core.errors import InputError

    folder, beside, rest = "", list[str](), list(words)
    while rest:
        word = rest.pop(0)
        if word == OPTION and rest:
            folder = rest.pop(0)
        elif word.startswith(f"{OPTION}="):
            folder = word.partition("=")[2]
        elif word in BESIDE:
            beside.append(word)
        elif word.partition("=")[0] in ELSEWHERE:
            name, _, value = word.partition("=")
            beside += [name, value or (rest.pop(0) if rest else "")]
        elif word != OPTION:
            known = ", ".join((*BESIDE, *ELSEWHERE))
            raise InputError(f"{OPTION}: expected nothing beside it but {known}, got {word}")
    if not folder:
        raise InputError(f"{OPTION}: expected the folder of a run, got none")
    return Path(folder).absolute(), beside
