"""Learn small finite-state controllers for teams that must act without talking.

>>> import decpomdp as dp
>>> fit = dp.learn("broadcast", steps=3_000_000, seed=1)  # by playing
>>> round(dp.evaluate(fit.team).value, 1)  # exact: this problem has a model
9.3
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; `as` marks a public name
    from decpomdp.api import evaluate as evaluate
    from decpomdp.api import learn as learn
    from decpomdp.api import plan as plan
    from decpomdp.core import NO_OBSERVATION as NO_OBSERVATION
    from decpomdp.core import Agent as Agent
    from decpomdp.core import Controller as Controller
    from decpomdp.core import DecPOMDP as DecPOMDP
    from decpomdp.core import Episodes as Episodes
    from decpomdp.core import Fit as Fit
    from decpomdp.core import FormatError as FormatError
    from decpomdp.core import InputError as InputError
    from decpomdp.core import Simulator as Simulator
    from decpomdp.core import Step as Step
    from decpomdp.core import Team as Team
    from decpomdp.core.errors import LearningWarning as LearningWarning
    from decpomdp.core.progress import Progress as Progress
    from decpomdp.domains.load import load as load
    from decpomdp.domains.registry import problems as problems
    from decpomdp.domains.rules import from_rules as from_rules
    from decpomdp.environments.discretiser import Discretiser as Discretiser
    from decpomdp.environments.pettingzoo import from_pettingzoo as from_pettingzoo
    from decpomdp.environments.pettingzoo import parallel_env as parallel_env
    from decpomdp.environments.pettingzoo import play as play
    from decpomdp.evaluation import ExactValue as ExactValue
    from decpomdp.evaluation import OffPolicyValue as OffPolicyValue
    from decpomdp.evaluation import SampledValue as SampledValue
    from decpomdp.evaluation import exact_value as exact_value
    from decpomdp.evaluation import offpolicy_value as offpolicy_value
    from decpomdp.evaluation import sampled_value as sampled_value
    from decpomdp.interaction.logs.settings import Logs as Logs
    from decpomdp.interaction.mcem.settings import Mcem as Mcem
    from decpomdp.interaction.sbpr.settings import SbprLoop as SbprLoop
    from decpomdp.interaction.search.settings import Search as Search
    from decpomdp.interaction.world.result import WorldFit as WorldFit
    from decpomdp.interaction.world.settings import World as World
    from decpomdp.io.episodes import EpisodeWriter as EpisodeWriter
    from decpomdp.io.runs import Run as Run
    from decpomdp.learners import BayesFit as BayesFit
    from decpomdp.learners import Fixed as Fixed
    from decpomdp.learners import Sbpr as Sbpr
    from decpomdp.learners import StickBreaking as StickBreaking
    from decpomdp.planners.em.settings import Em as Em
    from decpomdp.planners.fb_hsvi.settings import FbHsvi as FbHsvi
    from decpomdp.planners.pbvi.settings import Pbvi as Pbvi
    from decpomdp.planners.periodic.settings import PeriEm as PeriEm
    from decpomdp.rollouts import DenseSimulator as DenseSimulator
    from decpomdp.rollouts import simulate as simulate
    from decpomdp.rollouts import stream as stream
    from decpomdp.rollouts.runner import TeamRunner as TeamRunner

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

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'decpomdp' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
