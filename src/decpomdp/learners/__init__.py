"""Episodes -> team: variational Bayes with stick-breaking priors, its special cases, and EM.

Names are imported on first use: settings and priors are light, the rest imports compiled kernels.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decpomdp.learners.posterior import BayesFit, TeamPosterior
    from decpomdp.learners.priors import (
        ExpectationMaximisation,
        Fixed,
        Prior,
        StickBreaking,
        dirichlet_process,
        prior_named,
    )
    from decpomdp.learners.settings import Sbpr

__all__ = [
    "BayesFit",
    "ExpectationMaximisation",
    "Fixed",
    "Prior",
    "Sbpr",
    "StickBreaking",
    "TeamPosterior",
    "dirichlet_process",
    "prior_named",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "settings" if name == "Sbpr" else "posterior" if name in ("BayesFit", "TeamPosterior") else "priors"
    return getattr(import_module(f"{__name__}.{home}"), name)
