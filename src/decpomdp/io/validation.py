"""Checks of a reader, run one after the other.

A reader stops at the first FormatError; `decpomdp data validate` collects the first error of every column. Both run the
same checks through this class.
"""

from collections.abc import Callable
from typing import Any

from decpomdp.core import FormatError


class Checks:
    """Calls the checks of a reader; each returns a part of the result or raises FormatError.

    Examples
    --------
    >>> def broken(part):
    ...     raise FormatError("log.csv", None, "no")
    >>> checks = Checks(collect=True)
    >>> checks.run(broken, 1), checks.run(broken, None), checks.run(str, 2), len(checks.errors)
    (None, None, '2', 1)
    """

    def __init__(self, collect: bool = False) -> None:
        self.collect = collect
        self.errors: list[FormatError] = []

    def run(self, check: Callable[..., Any], *parts: Any) -> Any:
        """check(*parts); None if it failed and errors are collected, or if a part is None: an earlier check failed."""
        if any(part is None for part in parts):
            return None
        try:
            return check(*parts)
        except FormatError as error:
            if not self.collect:
                raise
            self.errors.append(error)
            return None
