"""The names of the built-in problems, one line about each, and where they are built.

A name may have parameters: `firefighting:3,4,3` or `firefighting:houses=4`. Modules are imported only when a problem
is built, so that listing is fast.
"""

import difflib
import importlib
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from decpomdp.core import InputError, checks

PAPER = ("dectiger", "broadcast", "recycling", "gridsmall", "boxpushing", "marsrovers")
SIX, FAMILIES, GENERATED, PLAYED = "the paper's six", "families of the field", "generated", "only played"


class Parameter(NamedTuple):
    """A parameter in a name: a whole number in a range, or a word."""

    name: str
    usual: int | str
    allowed: range | tuple[str, ...]

    def read(self, problem: str, text: str) -> int | str:
        """The value of the parameter in a name."""
        where, allowed = f"{problem}: {self.name}", self.allowed
        if not isinstance(allowed, range):
            return checks.one_of(where, text, allowed)
        return checks.whole(where, int(text) if text.lstrip("-").isdigit() else text, allowed[0], allowed[-1])


class Family(NamedTuple):
    """A problem or a family of problems."""

    group: str
    summary: str  # ends with the sizes of the usual member; actions and observations are per agent
    place: str  # "module:function"
    parameters: tuple[Parameter, ...] = ()
    note: str | None = None  # a pitfall of labels or numbers, shown with every description
    published: tuple[float, str] | None = None  # best value at discount 0.9 of the usual member, and who reported it


KINDS = {  # of generated problems, with their usual sizes for two, three and four agents
    "sensing": (2, 2, 2),
    "meeting": (4, 4, 3),
    "relay": (2, 2, 2),
    "resource": (2, 2, 2),
    "door": (1, 1, 1),
    "positions": (4, 3, 2),
    "far": (5, 5, 5),
    "random": (6, 6, 6),
}
GENERATED_FORM = "generated:KIND,agents=N,size=K,seed=S"
AGENTS = Parameter("agents", 2, range(2, 5))
MADE = "a reconstruction; rules or numbers are ours"
FB_HSVI = "FB-HSVI, Dibangoye et al. 2016"
OURS = "local search with the model, this project"

_FAMILIES = {
    "dectiger": Family(
        SIX,
        "two agents listen for a tiger behind one of two doors; dectiger:N for N agents "
        "(2 states, 3 actions, 2 observations)",
        "domains.dectiger:build",
        (AGENTS,),
        published=(13.448554, OURS),
    ),
    "broadcast": Family(
        SIX,
        "two nodes share a channel that carries one message at a time; in broadcast:mabc messages survive a collision "
        "(4 states, 2 actions, 2 observations)",
        "domains.broadcast:build",
        (Parameter("variant", "file", ("file", "mabc")),),
        published=(9.27, FB_HSVI),
    ),
    "recycling": Family(
        SIX,
        "two robots collect cans on limited batteries (4 states, 3 actions, 2 observations)",
        "domains.recycling:build",
        note="labels are those of the published file, which do not match its numbers: searchbig recharges, "
        "searchlittle searches for a small can, waitandrecharge searches for a big can; observation 0 is a high "
        "battery, 1 a low one",
        published=(31.93, FB_HSVI),
    ),
    "gridsmall": Family(
        SIX, "two robots try to meet on a 2x2 grid (16 states, 5 actions, 2 observations)", "domains.gridsmall:build"
    ),
    "boxpushing": Family(
        SIX,
        "two robots push small boxes alone or a large one together (100 states, 4 actions, 5 observations)",
        "domains.boxpushing:build",
        published=(224.835819, OURS),
    ),
    "marsrovers": Family(
        SIX,
        "two rovers sample or drill four sites, some only together (256 states, 6 actions, 8 observations)",
        "domains.marsrovers:build",
        published=(26.94, FB_HSVI),
    ),
    "skewedtiger": Family(
        FAMILIES,
        "Dec-Tiger that starts with the tiger on the left with probability 0.8 (2 states, 3 actions, 2 observations)",
        "domains.dectiger:skewed",
        published=(18.1037, OURS),
    ),
    "hotel": Family(
        FAMILIES,
        "two porters share a corridor to two wings, a reconstruction (16 states, 3 actions, 4 observations)",
        "domains.hotel:build",
        note=MADE,
    ),
    "aloha": Family(
        FAMILIES,
        "islands in a line share a radio channel; aloha:AGENTS,BACKLOG (27 states, 2 actions, 3 observations)",
        "domains.aloha:build",
        (Parameter("agents", 3, range(2, 6)), Parameter("backlog", 2, range(1, 5))),
    ),
    "firefighting": Family(
        FAMILIES,
        "agents fight fires in a row of houses; firefighting:AGENTS,HOUSES,LEVELS "
        "(27 states, 3 actions, 2 observations)",
        "domains.firefighting:build",
        (AGENTS, Parameter("houses", 3, range(2, 6)), Parameter("levels", 3, range(2, 6))),
        published=(-6.4442, OURS),
    ),
    "maintenance": Family(
        FAMILIES,
        "N agents keep a system that runs while K components work, a reconstruction; maintenance:N,K "
        "(27 states, 3 actions, 2 observations)",
        "domains.maintenance:build",
        (Parameter("n", 3, range(2, 6)), Parameter("k", 2, range(1, 6))),
        note=MADE,
    ),
    "wireless": Family(
        FAMILIES,
        "two senders with bursty traffic and delay (64 states, 2 actions, 6 observations)",
        "domains.wireless:build",
    ),
    "gridcorners": Family(
        FAMILIES,
        "two robots try to meet in a corner of a 3x3 grid (81 states, 5 actions, 9 observations)",
        "domains.gridsmall:corners",
        published=(5.8199, OURS),
    ),
    "firegraph": Family(
        FAMILIES,
        "fire fighting in which each agent reaches two houses; firegraph:AGENTS,LEVELS "
        "(81 states, 2 actions, 2 observations)",
        "domains.firefighting:graph",
        (Parameter("agents", 3, range(2, 6)), Parameter("levels", 3, range(2, 5))),
    ),
    "generated": Family(
        GENERATED,
        f"random structured problems; {GENERATED_FORM} with a kind of {', '.join(KINDS)} (2 to 256 states)",
        "domains.generated:build",
        (
            Parameter("kind", "meeting", tuple(KINDS)),
            AGENTS,
            Parameter("size", 0, range(129)),
            Parameter("seed", 1, range(2**31 + 1)),
        ),
    ),
    "traffic": Family(
        PLAYED,
        "lights on a 10x10 grid of streets, a reconstruction; traffic:N for NxN "
        "(10^20 states, 2 actions, 3 observations)",
        "domains.traffic:named",
        note="a reconstruction from the paper's description; rules and numbers are ours",
    ),
    "sumo": Family(  # in a higher layer: imported when it is opened
        PLAYED,
        "lights of a 4x4 or 10x10 grid in SUMO, needs decpomdp[sumo]; sumo:4, sumo:10, sumo:4:signs "
        "(2 actions, 15 observations)",
        "environments.sumo.grid:named",
    ),
}


def problems() -> tuple[str, ...]:
    """The names of the built-in problems: the paper's six first, small ones before large ones.

    Returns
    -------
    tuple of str
        Names for `load`; some accept parameters (`firefighting:3,4,3`).

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.problems()[:3]
    ('dectiger', 'broadcast', 'recycling')
    """
    return tuple(name for name, own in _FAMILIES.items() if own.group != PLAYED)


def simulators() -> tuple[str, ...]:
    """The problems that can only be played."""
    return tuple(name for name, own in _FAMILIES.items() if own.group == PLAYED)


def is_model(name: str) -> bool:
    """Whether the name, with or without parameters, is that of a built-in problem with a model."""
    return _base(name) in problems()


def is_built_in(name: str) -> bool:
    """Whether the name, with or without parameters, is that of a built-in problem."""
    return _base(name) in _FAMILIES


def family(name: str) -> Family:
    """The family of a built-in problem: group, summary and parameters."""
    if isinstance(name, str) and is_built_in(name):
        return _FAMILIES[_base(name)]
    close = difflib.get_close_matches(_base(str(name)).lower(), _FAMILIES, n=1, cutoff=0.4)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise InputError(f"problem: expected one of {', '.join(_FAMILIES)}, got {name!r}{hint}")


def note(name: str) -> str | None:
    """A pitfall of the labels or numbers of this problem, or None.

    >>> note("dectiger") is None, note("recycling")[:30]
    (True, 'labels are those of the publis')
    """
    return family(name).note if is_built_in(name) else None


def published(name: str) -> tuple[float, str] | None:
    """The best value at discount 0.9 that was reported for this problem, and who reported it."""
    return _FAMILIES[name].published if name in _FAMILIES else None


def rules_of(name: str) -> str:
    """The rules of a problem in a few sentences."""
    builder: object = _builder(family(name))
    if name.startswith("generated:"):  # the rules of its kind
        builder = importlib.import_module("decpomdp.domains.generated").KINDS[_values(name)[0]]
    return " ".join((inspect.getdoc(builder) or "").split())


def build(name: str, discount: float | None = None) -> Any:
    """The problem called `name`, a model or a simulator; its usual discount is 0.9."""
    own = family(name)
    if own.group == PLAYED:
        return _builder(own)(name, discount)
    named = {"name": canonical(name)} if own.parameters else {}
    return _builder(own)(*_values(name), **named, **({} if discount is None else {"discount": discount}))


def canonical(name: str) -> str:
    """The name with all parameters in order, or without any if they are the usual ones.

    >>> canonical("firefighting:houses=4"), canonical("firefighting:2,3,3")
    ('firefighting:2,4,3', 'firefighting')
    """
    base, values = _base(name), _values(name)
    if base == "generated":
        return "generated:{},agents={},size={},seed={}".format(*values)
    usual = tuple(parameter.usual for parameter in family(name).parameters)
    return base if values == usual else f"{base}:{','.join(map(str, values))}"


def split_names(text: str) -> tuple[str, ...]:
    """Names that are separated by commas; parameters stay with their problem.

    >>> split_names("dectiger, firefighting:3,4,3, aloha:agents=2")
    ('dectiger', 'firefighting:3,4,3', 'aloha:agents=2')
    """
    names: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        key, sign, _ = part.partition("=")
        if names and ":" in names[-1] and (part.isdigit() or (sign and key.isidentifier())):
            names[-1] += f",{part}"
        elif part:
            names.append(part)
    return tuple(names)


def _base(name: str) -> str:
    return name.partition(":")[0]


def _values(name: str) -> tuple[int | str, ...]:
    """The parameters of a name, in order."""
    parameters = {parameter.name: parameter for parameter in family(name).parameters}
    base, colon, text = name.partition(":")
    given: dict[str, int | str] = {}
    for place, part in enumerate(text.split(",") if colon else ()):
        key, sign, value = part.strip().rpartition("=")
        if not sign and place < len(parameters):
            key = list(parameters)[place]
        if key not in parameters or key in given:
            form = f"{base}:{','.join(parameters).upper()}" if parameters else f"{base} without parameters"
            wanted = GENERATED_FORM if base == "generated" else form
            raise InputError(f"{name}: expected {wanted}, got {part.strip()!r}")
        given[key] = parameters[key].read(name, value)
    values = tuple(given.get(own.name, own.usual) for own in parameters.values())
    if base == "generated" and not given.get("size"):
        kind, agents, _, seed = values
        return kind, agents, KINDS[str(kind)][int(agents) - 2], seed
    return values


def _builder(own: Family) -> Callable[..., Any]:
    module, _, function = own.place.partition(":")
    builder: Callable[..., Any] = getattr(importlib.import_module(f"decpomdp.{module}"), function)
    return builder
