"""Errors and warnings. A user's mistake is an InputError: one line with the place, expected and got."""


class InputError(ValueError):
    """An argument or a file is wrong; the message has the place, what was expected and what was found.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.Team.uniform(dp.load("dectiger")).exploring(2)
    Traceback (most recent call last):
        ...
    decpomdp.core.errors.InputError: exploration rate: expected numbers from 0 to 1, got 2.0 to 2.0
    """


class FormatError(InputError):
    """A file that cannot be read as what it claims to be: `file:line: expected ..., got ...`.

    Attributes
    ----------
    path, line, message
        The file, the line where there is one (None otherwise), and what was expected and what was there.

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
        super().__init__(path, line, message)  # all three, so that the error can travel between processes

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


class LearningWarning(UserWarning):
    """Learning went on, but the user should know: weights that collapse, a bound that falls.

    Examples
    --------
    >>> import warnings
    >>> import decpomdp as dp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", dp.LearningWarning)  # when it is known already
    """
