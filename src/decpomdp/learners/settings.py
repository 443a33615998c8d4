"""How to learn from episodes: everything that can be set, checked where it is set."""

from dataclasses import dataclass

from decpomdp.core import InputError, checks
from decpomdp.learners.priors import MOST_NODES, Prior
from decpomdp.learners.sweep import DOUBLE, SINGLE
from decpomdp.learners.weighing import LARGEST_REWARD

TRUNCATION = 50  # nodes to begin with where the size is to be inferred; the paper's
PRECISIONS = {"double": DOUBLE, "single": SINGLE}
LIMITS = {  # from, to; far beyond use, but such that products stay finite
    "evidence": (1e-100, 1e100),
    "cap": (1e-100, 1e100),
    "floor": (-LARGEST_REWARD, LARGEST_REWARD),
    "threshold": (0.0, 0.99),
    "tolerance": (0.0, 1e100),
}
OPTIONAL = ("evidence", "cap", "floor")


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """How to learn from episodes. The defaults are explained, with measurements, in docs/formulas.md.

    Attributes
    ----------
    evidence
        How many episodes' worth the data count; None: as many as there are. The paper's 1 collapses into one node.
    truncation
        Nodes to begin with, where the size is to be inferred; None: 50. Refused with a prior of fixed size.
    threshold
        Share of visits above which a node counts as occupied.
    sweeps
        At most.
    tolerance
        Converged when the bound rises by less than this for each episode's worth of evidence.
    floor
        The reward that counts as nothing; None: the smallest in the data.
    cap
        Importance ratios above this are cut to it; None: none are.
    normalise
        Divide the importance ratios of each step by their mean.
    estimate_behaviour
        Guess behaviour probabilities that were not recorded.
    resize
        Try other sizes and orders of nodes every fifth sweep and keep what raises the bound; False: updates alone.
    precision
        Of filter and count: "double", or "single", which takes less time and half the memory.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.LearnSettings(cap=5.0, truncation=10).sweeps
    500
    """

    # DEPARTS: the paper has kappa = 1, with which everything collapses into one node (docs/formulas.md, section 4)
    evidence: float | None = None  # kappa: how many episodes' worth the data count; None: as many as there are
    truncation: int | None = None  # nodes to begin with, where the size is to be inferred
    # DEPARTS: the paper counts every node with a positive count; in floating point that may be 1e-200
    threshold: float = 0.01  # share of visits above which a node counts as occupied
    sweeps: int = 500  # at most
    # DEPARTS: the paper stops at 1e-3, where sizes still change
    tolerance: float = 1e-6  # converged when the bound rises by less than this for each episode's worth of evidence
    # DEPARTS: the paper's R_min is the model's; here no model is known
    floor: float | None = None  # the reward that counts as nothing; None: the smallest in the data
    # DEPARTS: cap, normalise and estimate_behaviour are not in the paper; off unless asked for
    cap: float | None = None  # importance ratios above this are cut to it
    normalise: bool = False  # divide the importance ratios of each step by their mean
    estimate_behaviour: bool = False  # guess behaviour probabilities that were not recorded
    # DEPARTS: the paper has the updates alone, which leave a fit where it happens to begin
    resize: bool = True  # try other sizes now and then
    precision: str = "double"  # of filter and count; "single" takes less time and half the memory

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name, (least, most) in LIMITS.items():
            if getattr(self, name) is not None or name not in OPTIONAL:
                put(self, name, checks.number(name, getattr(self, name), least, most))
        put(self, "sweeps", checks.whole("sweeps", self.sweeps, 1, 2**31))
        if self.truncation is not None:
            put(self, "truncation", checks.whole("truncation", self.truncation, 1, MOST_NODES))
        for name in ("normalise", "estimate_behaviour", "resize"):
            checks.of_kind(name, getattr(self, name), bool)
        checks.one_of("precision", self.precision, tuple(PRECISIONS))

    def nodes(self, prior: Prior) -> int:
        """Nodes to begin with; a prior of fixed size leaves no choice."""
        if prior.nodes is None:
            return TRUNCATION if self.truncation is None else self.truncation
        if self.truncation is not None:
            raise InputError(
                f"truncation: expected none with the prior {prior.text}, whose size is fixed, got {self.truncation}"
            )
        return prior.nodes
