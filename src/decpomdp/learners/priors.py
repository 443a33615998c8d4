"""The priors a user can choose, in words: stick-breaking, dp, fixed:5, em."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from decpomdp.core import Agent, InputError, checks
from decpomdp.learners.posterior import Priors
from decpomdp.learners.rows import DirichletPrior, PointPrior
from decpomdp.learners.sticks import SticksPrior

MOST_NODES = 1000  # tables grow with its square
LEAST, MOST = 1e-9, 1e9  # of a prior's numbers; beyond them nothing changes but rounding
LARGEST = {"sigma": 100.0, "c": 1e6}  # beyond these the bound is a difference of numbers too large to keep its digits
NAMES = "stick-breaking, dp, fixed:N, em or em:N"


@runtime_checkable
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
    rho: float | None = None  # None: 1 / number of actions. DEPARTS: the paper does not say which it used
    shared: bool = False

    def __post_init__(self) -> None:
        for name in ("sigma", "c", "d"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), LEAST, LARGEST.get(name, MOST)))
        checks.one_of("reading", self.reading, ("scale", "rate"))
        _check_rho(self.rho)
        if checks.of_kind("shared", self.shared, bool) and self.sigma != 1:
            raise InputError(f"sigma: expected 1 with one shared concentration, got {self.sigma}")

    @property
    def nodes(self) -> None:
        """To be inferred."""

    @property
    def text(self) -> str:
        return "dp" if self.shared else "stick-breaking"

    def priors(self, agent: Agent) -> Priors:
        rate = self.d if self.reading == "rate" else 1 / self.d
        return Priors(DirichletPrior(_weight(self.rho, agent)), SticksPrior(self.sigma, self.c, rate, self.shared))


def dirichlet_process(
    c: float = 0.1, d: float = 1e-6, reading: str = "scale", rho: float | None = None
) -> StickBreaking:
    """The special case sigma = 1 with one concentration per agent.

    Parameters
    ----------
    c, d
        Of the Gamma prior of the concentration.
    reading
        Whether d is a "scale" or a "rate".
    rho
        Weight of every action; None: 1 / number of actions.

    Returns
    -------
    StickBreaking
        The prior.

    Raises
    ------
    InputError
        A number is out of range.

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
        object.__setattr__(self, "nodes", checks.whole("nodes", self.nodes, 1, MOST_NODES))
        object.__setattr__(self, "weight", checks.number("weight", self.weight, LEAST, MOST))
        _check_rho(self.rho)

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
        object.__setattr__(self, "nodes", checks.whole("nodes", self.nodes, 1, MOST_NODES))

    @property
    def text(self) -> str:
        return f"em:{self.nodes}"

    def priors(self, agent: Agent) -> Priors:
        return Priors(PointPrior(), PointPrior())


def prior_named(text: str) -> Prior:
    """The prior called `stick-breaking`, `dp`, `fixed:N`, `em` or `em:N`, as on the command line.

    Parameters
    ----------
    text
        Its name.

    Returns
    -------
    Prior
        One of `StickBreaking`, `Fixed` and `ExpectationMaximisation`.

    Raises
    ------
    InputError
        No prior is called so.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.prior_named("fixed:4").nodes
    4
    """
    kind, _, number = checks.text("prior", text).partition(":")
    if kind in ("fixed", "em") and number.isascii() and number.isdigit():
        if len(number) > 9 or not 1 <= int(number) <= MOST_NODES:
            raise InputError(f"prior: expected {kind}:N with N from 1 to {MOST_NODES}, got {_shown(text)}")
        return Fixed(int(number)) if kind == "fixed" else ExpectationMaximisation(int(number))
    named: dict[str, Callable[[], Prior]] = {
        "stick-breaking": StickBreaking,
        "dp": dirichlet_process,
        "em": ExpectationMaximisation,
    }
    if text not in named:
        raise InputError(f"prior: expected {NAMES}, got {_shown(text)}")
    return named[text]()


def chosen_prior(prior: Prior | str | None) -> Prior:
    """What a user gave as `prior`; None: stick-breaking."""
    if isinstance(prior, str):
        return prior_named(prior)
    if isinstance(prior, type) or not isinstance(prior, Prior | None):
        raise InputError(f"prior: expected a prior or its name ({NAMES}), got {checks.kind_of(prior)}")
    return StickBreaking() if prior is None else prior


def _check_rho(rho: float | None) -> None:
    if rho is not None:
        checks.number("rho", rho, LEAST, MOST)


def _weight(rho: float | None, agent: Agent) -> float:
    return 1 / len(agent.actions) if rho is None else rho


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:36] + "...")
