"""Episodes -> team: variational Bayes with stick-breaking priors, its special cases, and EM."""

from decpomdp.learners.learn import BayesFit, learn_from_episodes
from decpomdp.learners.posterior import TeamPosterior
from decpomdp.learners.priors import (
    ExpectationMaximisation,
    Fixed,
    Prior,
    StickBreaking,
    dirichlet_process,
    prior_named,
)
from decpomdp.learners.settings import LearnSettings

__all__ = [
    "BayesFit",
    "ExpectationMaximisation",
    "Fixed",
    "LearnSettings",
    "Prior",
    "StickBreaking",
    "TeamPosterior",
    "dirichlet_process",
    "learn_from_episodes",
    "prior_named",
]
