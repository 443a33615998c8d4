"""The priors a user can choose, in words: stick-breaking, dp, fixed:5, em."""

from dataclasses import dataclass
from typing import Protocol

from decpomdp.core import Agent, InputError
from decpomdp.learners.posterior import Priors
from decpomdp.learners.rows import DirichletPrior, PointPrior
from decpomdp.learners.sticks import SticksPrior

MOST_NODES = 1000  # tables grow with its square


class Prior(Protocol):
    """What is believed about controllers before the data."""

    @property
    def nodes(self) -> int | None:
        """The fixed number of nodes; None: to be inferred."""
        ...

    @property
    def text(self) -> str:
        """The prior in words, as on the command line."""
        ...

    def priors(self, agent: Agent) -> Priors:
        """The priors of an agent's rows."""
        ...


@dataclass(frozen=True, slots=True)
class StickBreaking:
    """The paper's prior: sticks V ~ Beta(sigma, eta) with eta ~ Gamma(c, d) each, actions ~ Dirichlet(rho).

    Attributes
    ----------
    sigma
        First parameter of every stick's Beta.
    c, d
        Of the Gamma on its second parameter.
    reading
        What d is. As a *scale* (our default) the prior is sparse, as the paper describes; as a *rate*, its c = 0.1 and
        d = 1e-6 put nearly all weight on the last node of the truncation (docs/formulas.md).
    rho
        Of the Dirichlet on actions; None: 1 / number of actions.
    shared
        One concentration for all sticks of an agent: the Dirichlet process.
    nodes
        None: to be inferred.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.StickBreaking(sigma=2.0).text
    'stick-breaking'
    """

    sigma: float = 1.0
    c: float = 0.1
    d: float = 1e-6
    reading: str = "scale"  # DEPARTS: the paper's appendix computes with d as a rate, its text describes a scale
    rho: float | None = None  # None: 1 / number of actions
    shared: bool = False
    nodes: int | None = None

    def __post_init__(self) -> None:
        if self.reading not in ("scale", "rate"):
            raise InputError(f"reading: expected 'scale' or 'rate', got {self.reading!r}")
        self.priors(Agent("any", ("a",), ("o",)))  # refuses bad numbers

    @property
    def text(self) -> str:
        return "dp" if self.shared else "stick-breaking"

    def priors(self, agent: Agent) -> Priors:
        if not self.d > 0:
            raise InputError(f"d: expected a number above 0, got {self.d}")
        rate = self.d if self.reading == "rate" else 1 / self.d
        return Priors(DirichletPrior(_weight(self.rho, agent)), SticksPrior(self.sigma, self.c, rate, self.shared))


def dirichlet_process(
    c: float = 0.1, d: float = 1e-6, reading: str = "scale", rho: float | None = None
) -> StickBreaking:
    """The special case sigma = 1 with one concentration per agent.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.dirichlet_process().shared
    True
    """
    return StickBreaking(1.0, c, d, reading, rho, shared=True)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Controllers of a given size, all rows symmetric Dirichlet.

    Attributes
    ----------
    nodes
        Of every controller.
    weight
        Of every next node.
    rho
        Of every action; None: 1 / number of actions.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.Fixed(3).text
    'fixed:3'
    """

    nodes: int
    weight: float = 0.1  # of every next node
    rho: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= MOST_NODES or not self.weight > 0:
            raise InputError(
                f"fixed: expected 1 to {MOST_NODES} nodes and a positive weight, got {self.nodes}, {self.weight}"
            )

    @property
    def text(self) -> str:
        return f"fixed:{self.nodes}"

    def priors(self, agent: Agent) -> Priors:
        return Priors(DirichletPrior(_weight(self.rho, agent)), DirichletPrior(self.weight))


@dataclass(frozen=True, slots=True)
class ExpectationMaximisation:
    """No prior at all: EM on controllers of a given size.

    Attributes
    ----------
    nodes
        Of every controller.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.ExpectationMaximisation(nodes=4).text
    'em:4'
    """

    nodes: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= MOST_NODES:
            raise InputError(f"em: expected 1 to {MOST_NODES} nodes, got {self.nodes}")

    @property
    def text(self) -> str:
        return f"em:{self.nodes}"

    def priors(self, agent: Agent) -> Priors:
        return Priors(PointPrior(), PointPrior())


def prior_named(text: str) -> Prior:
    """The prior called `stick-breaking`, `dp`, `fixed:N`, `em` or `em:N`, as on the command line.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.prior_named("fixed:4").nodes
    4
    """
    kind, _, number = text.partition(":")
    if text == "em" or (kind in ("fixed", "em") and number.isascii() and number.isdigit()):
        return Fixed(int(number)) if kind == "fixed" else ExpectationMaximisation(int(number or 5))
    if not number and kind == "stick-breaking":
        return StickBreaking()
    if not number and kind == "dp":
        return dirichlet_process()
    raise InputError(f"prior: expected stick-breaking, dp, fixed:N, em or em:N, got {text!r}")


def _weight(rho: float | None, agent: Agent) -> float:
    weight = 1 / len(agent.actions) if rho is None else rho
    if not weight > 0:
        raise InputError(f"rho: expected a number above 0, got {rho}")
    return weight
