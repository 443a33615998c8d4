"""From raw observations of an environment to the numbered observations of a controller.

A discretiser is a number of symbols (or their labels) and a function from a raw observation to one of them. The
function sees the observation of one agent only.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from decpomdp.core import NO_OBSERVATION, Agent, InputError
from decpomdp.core.agent import edges_of, labels, numbered, ranges
from decpomdp.core.checks import array, kind_of, whole

MOST = 2**15 - 1  # symbols that episodes can record


@dataclass(frozen=True, slots=True)
class Discretiser:
    """From raw observations to numbered symbols.

    Attributes
    ----------
    symbols
        Their number, or their labels.
    read
        A function from one agent's raw observation to a symbol; None: no observation yet.

    Examples
    --------
    >>> side = Discretiser(("left", "right"), lambda position: int(position > 0))
    >>> side.symbol("robot", -0.3), side.symbol("robot", 2.0)
    (0, 1)
    """

    symbols: int | tuple[str, ...]
    read: Callable[[Any], int | None]

    def __post_init__(self) -> None:
        if not callable(self.read):
            raise InputError(f"discretiser: expected a function from observations to symbols, got {kind_of(self.read)}")
        if isinstance(self.symbols, int | np.integer):
            object.__setattr__(self, "symbols", whole("symbols of the discretiser", self.symbols, 1, MOST))
        else:
            object.__setattr__(self, "symbols", labels("symbols of the discretiser", self.symbols))

    @classmethod
    def binned(cls, edges: Sequence[Sequence[float]], names: Sequence[str] | None = None) -> "Discretiser":
        """For arrays of numbers: entry i falls into one of len(edges[i]) + 1 bins; without edges it is ignored.

        The labels contain the names of the entries, by default [0], [1], ...

        >>> cart = Discretiser.binned([[], [], [-0.1, 0.0, 0.1], [0.0]], names=("x", "dx", "angle", "turn"))
        >>> cart.count, cart.symbol("cart", np.array([1.0, 0.5, 0.05, -2.0])), cart.labels[4]
        (8, 4, '0 <= angle < 0.1, turn < 0')
        """
        for part in (edges, *(edges if isinstance(edges, Sequence | np.ndarray) else ())):
            if isinstance(part, str) or not isinstance(part, Sequence | np.ndarray):
                raise InputError(f"edges: expected a list of lists of numbers, got {kind_of(part)}")
        cuts = [array(f"edges[{i}]", part, "edge", (None,), np.float64) for i, part in enumerate(edges) if len(part)]
        places = [i for i, part in enumerate(edges) if len(part)]
        for i, cut in zip(places, cuts, strict=True):
            if np.any(np.diff(cut) <= 0):
                raise InputError(f"edges[{i}]: expected increasing numbers, got {list(cut)}")
        sizes = [len(cut) + 1 for cut in cuts]
        known = labels("names", [f"[{i}]" for i in range(len(edges))] if names is None else names)
        if len(known) != len(edges) or any(", " in name for name in known):
            raise InputError(f"names: expected {len(edges)} names without ', ', one per list of edges, got {known}")

        def read(observation: Any) -> int:
            values = np.ravel(observation)
            if len(values) != len(edges):
                raise InputError(
                    f"observation: expected {len(edges)} numbers, one per list of edges, got {len(values)}"
                )
            if values.dtype.kind not in "biuf" or np.isnan(values).any():
                raise InputError(f"observation: expected numbers, got {observation!r}"[:300])
            symbol = 0
            for i, cut, size in zip(places, cuts, sizes, strict=True):
                symbol = symbol * size + int(np.searchsorted(cut, values[i], side="right"))
            return symbol

        parts = product(*(ranges(known[i], cut) for i, cut in zip(places, cuts, strict=True)))
        return cls(tuple(", ".join(each) or "anything" for each in parts), read)

    @classmethod
    def of(cls, agent: Agent) -> "Discretiser":
        """The discretiser whose labels are the observations of an agent that learned from numbers in bins.

        Several numbers are given in the order of the labels; [2] in a label is the number at place 2.

        >>> robot = Agent("robot", ("go",), ("speed < 0.5", "0.5 <= speed < 2", "speed >= 2"))
        >>> Discretiser.of(robot).symbol("robot", 1.7)
        1
        """
        return cls(agent.observations, cls.binned(_by_place(edges_of(agent))).read)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the symbols; numbers if no labels were given."""
        return numbered(self.symbols) if isinstance(self.symbols, int) else self.symbols

    @property
    def count(self) -> int:
        """How many symbols there are."""
        return self.symbols if isinstance(self.symbols, int) else len(self.symbols)

    def symbol(self, agent: str, observation: Any) -> int:
        """The number of an observation of `agent`; NO_OBSERVATION for None."""
        try:
            symbol = self.read(observation)
        except InputError as error:
            raise InputError(f"agent {agent}: {error}") from None
        except Exception as error:
            message = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise InputError(f"agent {agent}: the discretiser failed on {kind_of(observation)}: {message}") from error
        if symbol is None:
            return NO_OBSERVATION
        return whole(f"agent {agent}: result of the discretiser", symbol, 0, self.count - 1)


Discretise = Discretiser | Mapping[str, Discretiser] | None


def discretiser_for(agent: str, discretise: Discretise) -> Discretiser | None:
    """The user's discretiser for `agent`; None if there is none."""
    if discretise is None or isinstance(discretise, Discretiser):
        return discretise
    own = discretise.get(agent) if isinstance(discretise, Mapping) else discretise
    if own is not None and not isinstance(own, Discretiser):
        raise InputError(f"discretise: expected a Discretiser or a mapping from agents, got {type(own).__name__}")
    return own


def _by_place(edges: dict[str, list[float]]) -> list[list[float]]:
    """The edges of every number of an observation; names such as [2] say its place."""
    places = {int(name[1:-1]): ends for name, ends in edges.items() if re.fullmatch(r"\[\d+\]", name)}
    if not places:
        return list(edges.values())
    return [places.get(place, []) for place in range(max(places) + 1)]
