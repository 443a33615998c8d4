"""Settings of learning from recorded episodes. The defaults are explained, with measurements, in docs/formulas.md."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from decpomdp.core import InputError
from decpomdp.core.settings import Settings
from decpomdp.learners.priors import ExpectationMaximisation, Fixed, Nodes, Prior, StickBreaking, prior_named

FEW = 1000  # episodes; with fewer the default prior of the concentrations is wider
WIDE = StickBreaking(d=100.0)
TRUNCATION = 12  # nodes to begin with where the size is to be inferred
AS_PRINTED: dict[str, Any] = {"alpha": 1.0, "utility": "reward", "starts": 1, "judge": False}

Huge = Annotated[float, Meta(ge=1e-100, le=1e100)]  # such that products stay finite


class Sbpr(Settings, frozen=True, tag="sbpr"):
    """Dec-SBPR from recorded episodes: variational Bayes with stick-breaking priors, its special cases, and EM.

    The preset "as-printed" is the paper's objective: the empirical value, an importance-weighted sum of rewards above
    the smallest one, improved from one start. It is not the default: its weights collapse to one or two lucky episodes,
    so the learned team is often worse than the behaviour, for any number of episodes.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.Sbpr().alpha, dp.Sbpr(preset="as-printed").alpha
    (0.0, 1.0)
    """

    runner: ClassVar[str] = "decpomdp.learners.method:SbprMethod"
    limits: ClassVar[tuple[str, ...]] = ("seconds",)
    inputs: ClassVar[tuple[str, ...]] = ("begin", "behaviours", "engine")

    prior: Annotated[
        str | StickBreaking | Fixed | ExpectationMaximisation,
        Meta(description="Prior of the controllers: stick-breaking, dp, fixed:N or em:N."),
    ] = "stick-breaking"
    preset: Annotated[
        Literal["default", "as-printed"],
        Meta(description="Defaults; as-printed: the paper's objective (alpha 1, utility reward, 1 start, no judge)."),
    ] = "default"
    # DEPARTS: the paper has alpha = 1, with which one lucky episode carries the weight (docs/formulas.md, section 4)
    alpha: Annotated[
        float,
        Meta(ge=0.0, le=1.0, description="Power of the importance ratios; 0 needs no behaviour probabilities."),
    ] = 0.0
    utility: Annotated[
        Literal["return", "reward", "equal"],
        Meta(
            description="Weights: of episodes by their return, of steps by their reward (the paper), or equal, which "
            "clones the behaviour."
        ),
    ] = "return"
    starts: Annotated[
        int, Meta(ge=1, le=1000, description="Number of initial controllers to try; each agent keeps its best.")
    ] = 8
    start: Annotated[
        Literal["best", "random"],
        Meta(description="How the first initial controller is made (best: from good episodes); the others are random."),
    ] = "best"
    truncation: Annotated[
        Nodes | None, Meta(description="Nodes to begin with if the size is inferred; default: 12.")
    ] = None
    # DEPARTS: the paper has kappa = 1, with which everything collapses into one node (docs/formulas.md, section 4)
    evidence: Annotated[
        Huge | None, Meta(description="Treat the data as this many episodes; default: their number.")
    ] = None
    # DEPARTS: the paper counts every node with a positive count; in floating point that may be 1e-200
    threshold: Annotated[
        float, Meta(ge=0.0, le=0.99, description="Share of visits above which a node counts as occupied.")
    ] = 0.01
    sweeps: Annotated[int, Meta(ge=1, le=2**31, description="Maximum number of sweeps over all data.")] = 500
    # DEPARTS: the paper stops at 1e-3, where sizes still change
    tolerance: Annotated[
        float,
        Meta(
            ge=0.0,
            le=1e100,
            description="Converged when the rise of the bound, divided by the evidence, is below this.",
        ),
    ] = 1e-6
    judge: Annotated[
        bool,
        Meta(description="Estimate the team's value from the episodes; return the cloned behaviour if that is better."),
    ] = True
    # DEPARTS: estimates of behaviour probabilities are not in the paper; off by default
    estimate_behaviour: Annotated[
        bool, Meta(description="Estimate behaviour probabilities that were not recorded.")
    ] = False
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
        for name, value in AS_PRINTED.items() if self.preset == "as-printed" else ():
            setting = getattr(self, name)
            if setting not in (value, type(self).__struct_defaults__[type(self).__struct_fields__.index(name)]):
                raise InputError(f"{name}: expected none with the preset as-printed, got {setting!r}")
            msgspec.structs.force_setattr(self, name, value)

    @property
    def chosen_prior(self) -> Prior:
        """The prior as an object."""
        return prior_named(self.prior) if isinstance(self.prior, str) else self.prior

    def prior_for(self, episodes: int) -> Prior:
        """The chosen prior; the default one depends on the number of episodes."""
        default = self.prior == "stick-breaking" and self.preset == "default"
        return WIDE if default and episodes < FEW else self.chosen_prior

    @property
    def nodes(self) -> int:
        """Nodes to begin with; a prior of fixed size determines it."""
        return self.chosen_prior.nodes or self.truncation or TRUNCATION
