"""The names of the built-in problems, one line about each, and their modules."""

import difflib
import importlib

from decpomdp.core import DecPOMDP, InputError, Simulator

# The modules are imported only when built, so that listing the problems stays cheap.
_SUMMARIES = {
    "dectiger": "two agents listen for a tiger behind one of two doors (2 states, 3 actions, 2 observations)",
    "broadcast": "two nodes share a channel that carries one message at a time (4 states, 2 actions, 2 observations)",
    "recycling": "two robots collect cans on limited batteries (4 states, 3 actions, 2 observations)",
    "gridsmall": "two robots try to meet on a 2x2 grid (16 states, 5 actions, 2 observations)",
    "boxpushing": "two robots push small boxes alone or a large one together (100 states, 4 actions, 5 observations)",
    "marsrovers": "two rovers sample or drill four sites, some only together (256 states, 6 actions, 8 observations)",
}

# Pitfalls of labels and numbers, shown with every description of a problem.
_NOTES = {
    "recycling": "labels are those of the published file, which do not match its numbers: searchbig recharges, "
    "searchlittle searches for a small can, waitandrecharge searches for a big can; observation 0 is a high battery, "
    "1 a low one",
    "traffic": "a reconstruction from the paper's description; rules and numbers are ours",
}

_SIMULATORS = {
    "traffic": "lights on a 10x10 grid of streets, a reconstruction; traffic:N for NxN "
    "(10^20 states, 2 actions, 3 observations)",
    "sumo": "lights of a 4x4 or 10x10 grid in SUMO, needs decpomdp[sumo]; sumo:4, sumo:10, sumo:4:signs "
    "(2 actions, 15 observations)",
}

# Modules of the simulators, with `named(text, discount)`. SUMO's is in a higher layer, so it is imported when opened.
_PLACES = {"traffic": "decpomdp.domains.traffic", "sumo": "decpomdp.environments.sumo.grid"}


def problems() -> tuple[str, ...]:
    """The names of the built-in problems, small ones first.

    Returns
    -------
    tuple of str
        What `load` takes.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.problems()[:3]
    ('dectiger', 'broadcast', 'recycling')
    """
    return tuple(_SUMMARIES)


def summary(name: str) -> str:
    """One line about the problem, with its sizes (actions and observations are per agent)."""
    return _SIMULATORS[name] if name in _SIMULATORS else _SUMMARIES[_known(name)]


def note(name: str) -> str | None:
    """A pitfall of the labels or numbers of this problem, or None.

    >>> note("dectiger") is None, note("recycling")[:30]
    (True, 'labels are those of the publis')
    """
    return _NOTES.get(name.partition(":")[0])


def simulators() -> tuple[str, ...]:
    """The problems that can only be played."""
    return tuple(_SIMULATORS)


def is_simulator(name: str) -> bool:
    """Whether the name, with or without a size, is that of a simulator."""
    return name.partition(":")[0] in _SIMULATORS


def simulator(name: str, discount: float | None = None) -> Simulator:
    """The simulator called `name`; its usual discount is 0.9."""
    module = importlib.import_module(_PLACES[name.partition(":")[0]])
    problem: Simulator = module.named(name, discount)
    return problem


def build(name: str, discount: float | None = None) -> DecPOMDP:
    """The problem called `name`; its usual discount is 0.9."""
    module = importlib.import_module(f"decpomdp.domains.{_known(name)}")
    problem: DecPOMDP = module.build() if discount is None else module.build(discount)
    return problem


def _known(name: str) -> str:
    if name in _SUMMARIES:
        return name
    known = (*_SUMMARIES, *_SIMULATORS)
    close = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.4)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise InputError(f"problem: expected one of {', '.join(known)}, got {name!r}{hint}")
