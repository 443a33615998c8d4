"""A problem by name or by file."""

import os
from pathlib import Path

from decpomdp import domains
from decpomdp.core import DecPOMDP, InputError, Simulator

ENDINGS = (".dpomdp", ".dpomdp.gz")


def load(problem: str | os.PathLike[str], discount: float | None = None) -> DecPOMDP | Simulator:
    """The built-in problem of that name, or the model in that `.dpomdp` file (gzipped or not).

    Most problems are models. Some are too large to be written down and can only be played: simulators.

    Parameters
    ----------
    problem
        A name (see `names`), or the path of a file.
    discount
        Without one, a built-in problem has 0.9 and a file its own.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger", discount=0.95)
    >>> model.states, model.discount
    (('tiger-left', 'tiger-right'), 0.95)
    """
    text = os.fspath(problem)
    if domains.is_simulator(text):
        return domains.simulator(text, discount)
    if text not in domains.names() and (text.endswith(ENDINGS) or Path(text).is_file()):
        from decpomdp.io.dpomdp import read_dpomdp

        return read_dpomdp(text, discount)
    return domains.build(text, discount)


def load_model(problem: str | os.PathLike[str], discount: float | None = None) -> DecPOMDP:
    """Like `load`, for whoever needs to know the model."""
    found = load(problem, discount)
    if not isinstance(found, DecPOMDP):
        raise InputError(f"problem: expected one with a model, got {found.name}, which can only be played")
    return found
