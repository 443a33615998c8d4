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
        Row,
        Simulator,
        Step,
        Team,
        concatenate,
    )
    from decpomdp.core.errors import LearningWarning
    from decpomdp.core.minimal import minimised
    from decpomdp.core.progress import Progress
    from decpomdp.domains import names
    from decpomdp.domains.load import load
    from decpomdp.environments.discretiser import Discretiser
    from decpomdp.environments.pettingzoo import PettingZooSimulator, from_pettingzoo, parallel_env, play
    from decpomdp.evaluation import (
        ExactValue,
        OffPolicyValue,
        SampledValue,
        exact_value,
        offpolicy_value,
        sampled_value,
    )
    from decpomdp.interaction.mcem.settings import Mcem
    from decpomdp.interaction.posterior_of_team import read_out
    from decpomdp.interaction.sbpr.settings import SbprLoop
    from decpomdp.interaction.search.settings import Search
    from decpomdp.io.dpomdp.read import read_dpomdp
    from decpomdp.io.dpomdp.writer import write_dpomdp
    from decpomdp.io.episodes import EpisodeWriter, read_episodes, write_episodes
    from decpomdp.io.minari.read import read_minari
    from decpomdp.io.runs import Run, read_run
    from decpomdp.io.tables import read_table, write_table
    from decpomdp.io.team import read_controller, read_team, write_controller, write_team
    from decpomdp.learners import (
        BayesFit,
        ExpectationMaximisation,
        Fixed,
        Sbpr,
        StickBreaking,
        TeamPosterior,
        dirichlet_process,
        prior_named,
    )
    from decpomdp.planners.em.settings import Em
    from decpomdp.planners.fb_hsvi.settings import FbHsvi
    from decpomdp.planners.pbvi.settings import Pbvi
    from decpomdp.planners.periodic.settings import PeriEm
    from decpomdp.rollouts import DenseSimulator, simulate, stream
    from decpomdp.rollouts.runner import TeamRunner

    # of the room `report`, which lies above others that import this module: no arrow from here to there
    def exported(team: Team, agent_name: str | None, form: str) -> str: ...  # noqa: D103
    def team_in_words(team: Team) -> list[str]: ...  # noqa: D103


__version__ = "0.1.0"

# where each name lives; loaded on first use, so that `import decpomdp` and the command line start fast
_NAMES = {
    "decpomdp.api": ("evaluate", "learn", "plan"),
    "decpomdp.core": (
        "NO_OBSERVATION",
        "Agent",
        "Controller",
        "DecPOMDP",
        "Episodes",
        "Fit",
        "FormatError",
        "InputError",
        "Row",
        "Simulator",
        "Step",
        "Team",
        "concatenate",
    ),
    "decpomdp.core.errors": ("LearningWarning",),
    "decpomdp.core.minimal": ("minimised",),
    "decpomdp.core.progress": ("Progress",),
    "decpomdp.domains": ("names",),
    "decpomdp.domains.load": ("load",),
    "decpomdp.environments.discretiser": ("Discretiser",),
    "decpomdp.environments.pettingzoo": ("PettingZooSimulator", "from_pettingzoo", "parallel_env", "play"),
    "decpomdp.evaluation": (
        "ExactValue",
        "OffPolicyValue",
        "SampledValue",
        "exact_value",
        "offpolicy_value",
        "sampled_value",
    ),
    "decpomdp.interaction.mcem.settings": ("Mcem",),
    "decpomdp.interaction.posterior_of_team": ("read_out",),
    "decpomdp.interaction.sbpr.settings": ("SbprLoop",),
    "decpomdp.interaction.search.settings": ("Search",),
    "decpomdp.io.dpomdp.read": ("read_dpomdp",),
    "decpomdp.io.dpomdp.writer": ("write_dpomdp",),
    "decpomdp.io.episodes": (
        "EpisodeWriter",
        "read_episodes",
        "write_episodes",
    ),
    "decpomdp.io.minari.read": ("read_minari",),
    "decpomdp.io.runs": (
        "Run",
        "read_run",
    ),
    "decpomdp.io.tables": (
        "read_table",
        "write_table",
    ),
    "decpomdp.io.team": (
        "read_controller",
        "read_team",
        "write_controller",
        "write_team",
    ),
    "decpomdp.learners": (
        "BayesFit",
        "ExpectationMaximisation",
        "Fixed",
        "Sbpr",
        "StickBreaking",
        "TeamPosterior",
        "dirichlet_process",
        "prior_named",
    ),
    "decpomdp.planners.em.settings": ("Em",),
    "decpomdp.planners.pbvi.settings": ("Pbvi",),
    "decpomdp.planners.periodic.settings": ("PeriEm",),
    "decpomdp.planners.fb_hsvi.settings": ("FbHsvi",),
    "decpomdp.report.export": ("exported",),
    "decpomdp.report.text": ("team_in_words",),
    "decpomdp.rollouts": (
        "DenseSimulator",
        "simulate",
        "stream",
    ),
    "decpomdp.rollouts.runner": ("TeamRunner",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

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
    "ExpectationMaximisation",
    "FbHsvi",
    "Fit",
    "Fixed",
    "FormatError",
    "InputError",
    "LearningWarning",
    "Mcem",
    "OffPolicyValue",
    "Pbvi",
    "PeriEm",
    "PettingZooSimulator",
    "Progress",
    "Row",
    "Run",
    "SampledValue",
    "Sbpr",
    "SbprLoop",
    "Search",
    "Simulator",
    "Step",
    "StickBreaking",
    "Team",
    "TeamPosterior",
    "TeamRunner",
    "__version__",
    "concatenate",
    "dirichlet_process",
    "evaluate",
    "exact_value",
    "exported",
    "from_pettingzoo",
    "learn",
    "load",
    "minimised",
    "names",
    "offpolicy_value",
    "parallel_env",
    "plan",
    "play",
    "prior_named",
    "read_controller",
    "read_dpomdp",
    "read_episodes",
    "read_minari",
    "read_out",
    "read_run",
    "read_table",
    "read_team",
    "sampled_value",
    "simulate",
    "stream",
    "team_in_words",
    "write_controller",
    "write_dpomdp",
    "write_episodes",
    "write_table",
    "write_team",
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
