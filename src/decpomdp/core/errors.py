"""Errors and warnings. A user's mistake is an InputError: one line with the place, expected and got."""


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
