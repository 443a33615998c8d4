"""Errors and warnings. A user's mistake is an InputError: one line with the place, expected and got."""

import os
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OURS = str(Path(__file__).parents[1]) + os.sep
INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib"))
LONGEST = 300  # characters of another error's message


class InputError(ValueError):
    """An argument or a file is wrong; the message says where, what was expected and what it got.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.Team.uniform(dp.load("dectiger")).exploring(2)
    Traceback (most recent call last):
        ...
    decpomdp.core.errors.InputError: exploration rate: expected numbers from 0 to 1, got 2.0 to 2.0
    """


class FormatError(InputError):
    """A file has wrong content: `file:line: expected ..., got ...`.

    Attributes
    ----------
    path, line, message
        The file, the line (None if there is none), and the message: expected and got.

    Examples
    --------
    >>> from decpomdp.io.dpomdp.read import parse_dpomdp
    >>> parse_dpomdp("agents: none", source="mine.dpomdp")
    Traceback (most recent call last):
        ...
    decpomdp.core.errors.FormatError: mine.dpomdp:1: expected 'discount:', got the end of the file
    """

    def __init__(self, path: str, line: int | None, message: str) -> None:
        self.path = path
        self.line = line
        self.message = message
        super().__init__(path, line, message)  # all three, so that the error can be pickled

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


class LearningWarning(UserWarning):
    """A problem during learning that does not stop it, such as degenerate weights or a decreasing bound.

    Examples
    --------
    >>> import warnings
    >>> import decpomdp as dp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", dp.LearningWarning)  # if it is expected
    """


@contextmanager
def foreign_code(what: str, called: object = None) -> Iterator[None]:
    """Errors of a user's code become an InputError of one line: where, what, and the original error, its cause.

    If no line of the code was reached, as with a wrong signature, the place is that of the function `called`.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        place, code = place_of(error), getattr(called, "__code__", None)
        if not place and code is not None:
            place = f"{code.co_filename}:{code.co_firstlineno}"
        message = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
        raise InputError(f"{place and f'{place}: '}{what} failed: {message}") from error


def place_of(error: Exception) -> str:
    """`file:line` of the innermost call in code that is neither ours nor, if possible, installed; empty if none."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    foreign = [(file, line) for file, line in frames if not file.startswith(OURS)]
    own = [(file, line) for file, line in foreign if not file.startswith(INSTALLED)] or foreign
    return "{}:{}".format(*own[-1]) if own else ""
