"""Priors of the controllers: stick-breaking, dp, fixed:N, em:N.

They are plain data, part of the settings and of `run.json`. The distributions are in `rows` and `sticks`, imported on
first use.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from decpomdp.core import Agent, InputError, checks
from decpomdp.core.settings import Tuning

if TYPE_CHECKING:
    from decpomdp.learners.posterior import Priors

MOST_NODES = 1000  # tables grow with its square
NAMES = "stick-breaking, dp, fixed:N, em or em:N"

Nodes = Annotated[int, Meta(ge=1, le=MOST_NODES)]
Weight = Annotated[float, Meta(ge=1e-9, le=1e9)]
# beyond these limits the bound loses its digits to cancellation
Sigma = Annotated[float, Meta(ge=1e-9, le=100.0)]
Shape = Annotated[float, Meta(ge=1e-9, le=1e6)]


class StickBreaking(Tuning, frozen=True, kw_only=False, tag="stick-breaking"):
    """The paper's prior: sticks V ~ Beta(sigma, eta) with eta ~ Gamma(c, d) each, actions ~ Dirichlet(rho).

    Attributes
    ----------
    sigma
        First parameter of every stick's Beta.
    c, d
        Of the Gamma on its second parameter.
    reading
        Whether d is a "scale" (with the paper's c = 0.1 and d = 1e-6 a sparse prior, as it describes) or a "rate",
        with which these put nearly all weight on the last node of the truncation (docs/formulas.md).
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

    sigma: Sigma = 1.0
    c: Shape = 0.1
    d: Weight = 1.0  # DEPARTS: the paper has 1e-6, with which 300 episodes are often too few for all nodes
    # DEPARTS: the paper's appendix computes with d as a rate, its text describes a scale
    reading: Literal["scale", "rate"] = "scale"
    rho: Weight | None = None  # None: 1 / number of actions. DEPARTS: the paper does not say which it used
    shared: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shared and self.sigma != 1:
            raise InputError(f"sigma: expected 1 with one shared concentration, got {self.sigma}")

    @property
    def nodes(self) -> None:
        """The fixed number of nodes; None: to be inferred."""

    @property
    def text(self) -> str:
        """The prior in words, as on the command line."""
        return "dp" if self.shared else "stick-breaking"

    def priors(self, agent: Agent) -> "Priors":
        """The priors of an agent's rows."""
        from decpomdp.learners.posterior import Priors
        from decpomdp.learners.rows import DirichletPrior
        from decpomdp.learners.sticks import SticksPrior

        rate = self.d if self.reading == "rate" else 1 / self.d
        return Priors(DirichletPrior(_weight(self.rho, agent)), SticksPrior(self.sigma, self.c, rate, self.shared))


def dirichlet_process(
    c: float = 0.1, d: float = 1.0, reading: Literal["scale", "rate"] = "scale", rho: float | None = None
) -> StickBreaking:
    """The Dirichlet process: sigma = 1 and one concentration per agent.

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
    >>> dirichlet_process().shared
    True
    """
    return StickBreaking(1.0, c, d, reading, rho, shared=True)


class Fixed(Tuning, frozen=True, kw_only=False, tag="fixed"):
    """Controllers of a fixed size, all rows symmetric Dirichlet.

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

    nodes: Nodes
    weight: Weight = 0.1
    rho: Weight | None = None

    @property
    def text(self) -> str:
        """The prior in words, as on the command line."""
        return f"fixed:{self.nodes}"

    def priors(self, agent: Agent) -> "Priors":
        """The priors of an agent's rows."""
        from decpomdp.learners.posterior import Priors
        from decpomdp.learners.rows import DirichletPrior

        return Priors(DirichletPrior(_weight(self.rho, agent)), DirichletPrior(self.weight))


class ExpectationMaximisation(Tuning, frozen=True, kw_only=False, tag="em"):
    """No prior: EM on controllers of a fixed size.

    Attributes
    ----------
    nodes
        Of every controller.

    Examples
    --------
    >>> ExpectationMaximisation(nodes=4).text
    'em:4'
    """

    nodes: Nodes = 5

    @property
    def text(self) -> str:
        """The prior in words, as on the command line."""
        return f"em:{self.nodes}"

    def priors(self, agent: Agent) -> "Priors":
        """The priors of an agent's rows."""
        from decpomdp.learners.posterior import Priors
        from decpomdp.learners.rows import PointPrior

        return Priors(PointPrior(), PointPrior())


Prior = StickBreaking | Fixed | ExpectationMaximisation


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
        Unknown name.

    Examples
    --------
    >>> import decpomdp as dp
    >>> prior_named("fixed:4").nodes
    4
    """
    kind, _, number = checks.text("prior", text).partition(":")
    if kind in ("fixed", "em") and number.isdecimal():
        return Fixed(int(number)) if kind == "fixed" else ExpectationMaximisation(int(number))
    named: dict[str, Callable[[], Prior]] = {
        "stick-breaking": StickBreaking,
        "dp": dirichlet_process,
        "em": ExpectationMaximisation,
    }
    if text not in named:
        raise InputError(f"prior: expected {NAMES}, got {text!r}")
    return named[text]()


def _weight(rho: float | None, agent: Agent) -> float:
    return 1 / len(agent.actions) if rho is None else rho
