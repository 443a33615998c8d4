"""Settings of learning from recorded episodes. The defaults are explained, with measurements, in docs/formulas.md."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from decpomdp.core import InputError
from decpomdp.core.settings import Settings
from decpomdp.learners.priors import ExpectationMaximisation, Fixed, Nodes, Prior, StickBreaking, prior_named

TRUNCATION = 50  # nodes to begin with where the size is to be inferred; the paper's

Huge = Annotated[float, Meta(ge=1e-100, le=1e100)]  # such that products stay finite


class Sbpr(Settings, frozen=True, tag="sbpr"):
    """Dec-SBPR from recorded episodes: variational Bayes with stick-breaking priors, its special cases, and EM.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.Sbpr(cap=5.0, truncation=10).sweeps
    500
    """

    limits: ClassVar[tuple[str, ...]] = ("seconds",)
    inputs: ClassVar[tuple[str, ...]] = ("begin", "behaviours", "engine")

    prior: Annotated[
        str | StickBreaking | Fixed | ExpectationMaximisation,
        Meta(description="Prior of the controllers: stick-breaking, dp, fixed:N or em:N."),
    ] = "stick-breaking"
    start: Annotated[
        Literal["best", "random"], Meta(description="First controllers, without a team to begin with: best episodes.")
    ] = "best"
    truncation: Annotated[
        Nodes | None, Meta(description="Nodes to begin with if the size is inferred; default: 50.")
    ] = None
    # DEPARTS: the paper has kappa = 1, with which everything collapses into one node (docs/formulas.md, section 4)
    evidence: Annotated[
        Huge | None, Meta(description="Number of episodes that the data count as; default: as many as there are.")
    ] = None
    # DEPARTS: the paper counts every node with a positive count; in floating point that may be 1e-200
    threshold: Annotated[
        float, Meta(ge=0.0, le=0.99, description="Share of visits above which a node counts as occupied.")
    ] = 0.01
    sweeps: Annotated[int, Meta(ge=1, le=2**31, description="Most sweeps over the data.")] = 500
    # DEPARTS: the paper stops at 1e-3, where sizes still change
    tolerance: Annotated[
        float,
        Meta(ge=0.0, le=1e100, description="Converged when the bound rises by less than this per episode of evidence."),
    ] = 1e-6
    # DEPARTS: the paper's R_min is the model's; here no model is known
    floor: Annotated[float | None, Meta(description="Reward mapped to zero; default: the smallest in the data.")] = None
    # DEPARTS: cap, normalise and estimate_behaviour are not in the paper; off unless asked for
    cap: Annotated[Huge | None, Meta(description="Largest importance ratio; larger ones are cut to it.")] = None
    normalise: Annotated[bool, Meta(description="Divide the importance ratios of each step by their mean.")] = False
    estimate_behaviour: Annotated[
        bool, Meta(description="Estimate behaviour probabilities that were not recorded.")
    ] = False
    # DEPARTS: the paper has the updates alone, which leave a fit where it happens to begin
    resize: Annotated[bool, Meta(description="Try other sizes and orders of nodes; keep what raises the bound.")] = True
    precision: Annotated[
        Literal["double", "single"],
        Meta(description="Precision of filter and count; single is faster, half the memory."),
    ] = "double"

    def __post_init__(self) -> None:
        super().__post_init__()
        prior = self.chosen_prior
        if self.truncation is not None and prior.nodes is not None:
            raise InputError(
                f"truncation: expected none with the prior {prior.text}, whose size is fixed, got {self.truncation}"
            )

    @property
    def chosen_prior(self) -> Prior:
        """The prior as an object."""
        return prior_named(self.prior) if isinstance(self.prior, str) else self.prior

    @property
    def nodes(self) -> int:
        """Nodes to begin with; a prior of fixed size leaves no choice."""
        return self.chosen_prior.nodes or self.truncation or TRUNCATION
