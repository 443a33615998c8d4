"""Learn small finite-state controllers for teams that must act without talking.

>>> import decpomdp as dp
>>> fit = dp.learn("broadcast", steps=3_000_000, seed=1)  # by playing
>>> round(dp.evaluate(fit.team).value, 1)  # exact: this problem has a model
9.3
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decpomdp.api import evaluate, learn, plan
    from decpomdp.core import (
        NO_OBSERVATION,
        Agent,
        Controller,
        DecPOMDP,
        Episodes,
        Fit,
        FormatError,
        InputError,
        Simulator,
        Step,
        Team,
    )
    from decpomdp.core.errors import LearningWarning
    from decpomdp.core.progress import Progress
    from decpomdp.domains.load import load
    from decpomdp.domains.registry import problems
    from decpomdp.domains.rules import from_rules
    from decpomdp.environments.discretiser import Discretiser
    from decpomdp.environments.pettingzoo import from_pettingzoo, parallel_env, play
    from decpomdp.evaluation import (
        ExactValue,
        OffPolicyValue,
        SampledValue,
        exact_value,
        offpolicy_value,
        sampled_value,
    )
    from decpomdp.interaction.logs.settings import Logs
    from decpomdp.interaction.mcem.settings import Mcem
    from decpomdp.interaction.sbpr.settings import SbprLoop
    from decpomdp.interaction.search.settings import Search
    from decpomdp.interaction.world.result import WorldFit
    from decpomdp.interaction.world.settings import World
    from decpomdp.io.episodes import EpisodeWriter
    from decpomdp.io.runs import Run
    from decpomdp.learners import BayesFit, Fixed, Sbpr, StickBreaking
    from decpomdp.planners.em.settings import Em
    from decpomdp.planners.fb_hsvi.settings import FbHsvi
    from decpomdp.planners.pbvi.settings import Pbvi
    from decpomdp.planners.periodic.settings import PeriEm
    from decpomdp.rollouts import DenseSimulator, simulate, stream
    from decpomdp.rollouts.runner import TeamRunner

__version__ = "0.2.0"

# where each name lives; loaded on first use, so that `import decpomdp` and the command line start fast
_NAMES = {
    "api": "evaluate learn plan",
    "core": "NO_OBSERVATION Agent Controller DecPOMDP Episodes Fit FormatError InputError Simulator Step Team",
    "core.errors": "LearningWarning",
    "core.progress": "Progress",
    "domains.load": "load",
    "domains.registry": "problems",
    "domains.rules": "from_rules",
    "environments.discretiser": "Discretiser",
    "environments.pettingzoo": "from_pettingzoo parallel_env play",
    "evaluation": "ExactValue OffPolicyValue SampledValue exact_value offpolicy_value sampled_value",
    "interaction.logs.settings": "Logs",
    "interaction.mcem.settings": "Mcem",
    "interaction.sbpr.settings": "SbprLoop",
    "interaction.search.settings": "Search",
    "interaction.world.result": "WorldFit",
    "interaction.world.settings": "World",
    "io.episodes": "EpisodeWriter",
    "io.runs": "Run",
    "learners": "BayesFit Fixed Sbpr StickBreaking",
    "planners.em.settings": "Em",
    "planners.fb_hsvi.settings": "FbHsvi",
    "planners.pbvi.settings": "Pbvi",
    "planners.periodic.settings": "PeriEm",
    "rollouts": "DenseSimulator simulate stream",
    "rollouts.runner": "TeamRunner",
}
_HOME = {name: f"decpomdp.{module}" for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "NO_OBSERVATION",
    "Agent",
    "BayesFit",
    "Controller",
    "DecPOMDP",
    "DenseSimulator",
    "Discretiser",
    "Em",
    "EpisodeWriter",
    "Episodes",
    "ExactValue",
    "FbHsvi",
    "Fit",
    "Fixed",
    "FormatError",
    "InputError",
    "LearningWarning",
    "Logs",
    "Mcem",
    "OffPolicyValue",
    "Pbvi",
    "PeriEm",
    "Progress",
    "Run",
    "SampledValue",
    "Sbpr",
    "SbprLoop",
    "Search",
    "Simulator",
    "Step",
    "StickBreaking",
    "Team",
    "TeamRunner",
    "World",
    "WorldFit",
    "__version__",
    "evaluate",
    "exact_value",
    "from_pettingzoo",
    "from_rules",
    "learn",
    "load",
    "offpolicy_value",
    "parallel_env",
    "plan",
    "play",
    "problems",
    "sampled_value",
    "simulate",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'decpomdp' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
