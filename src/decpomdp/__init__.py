"""Learn small finite-state controllers for teams that must act without talking.

>>> import decpomdp as dp
>>> model = dp.load("dectiger")
>>> team = dp.Team.uniform(model)
>>> round(dp.evaluate(team, model).value, 3)
-462.222
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from decpomdp.core.minimal import minimised
    from decpomdp.domains import names
    from decpomdp.domains.load import load
    from decpomdp.environments import Discretiser, PettingZooSimulator, from_pettingzoo, parallel_env, play
    from decpomdp.evaluation import (
        ExactValue,
        OffPolicyValue,
        SampledValue,
        evaluate,
        exact_value,
        offpolicy_value,
        sampled_value,
    )
    from decpomdp.interaction.front import learn
    from decpomdp.interaction.readout import read_out
    from decpomdp.io.dpomdp import read_dpomdp, write_dpomdp
    from decpomdp.io.episodes import read_episodes, write_episodes
    from decpomdp.io.team import read_controller, read_team, write_controller, write_team
    from decpomdp.learners import (
        BayesFit,
        ExpectationMaximisation,
        Fixed,
        LearnSettings,
        StickBreaking,
        TeamPosterior,
        dirichlet_process,
        prior_named,
    )
    from decpomdp.planners.front import plan
    from decpomdp.rollouts import DenseSimulator, collect, stream
    from decpomdp.rollouts.runner import TeamRunner

__version__ = "0.1.0"

# name -> where it lives; loaded on first use, so that `import decpomdp` and the command line start fast
_HOME = {
    **dict.fromkeys(
        (
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
        "decpomdp.core",
    ),
    "names": "decpomdp.domains",
    "load": "decpomdp.domains.load",
    **dict.fromkeys(
        (
            "ExactValue",
            "OffPolicyValue",
            "SampledValue",
            "evaluate",
            "exact_value",
            "offpolicy_value",
            "sampled_value",
        ),
        "decpomdp.evaluation",
    ),
    "read_dpomdp": "decpomdp.io.dpomdp",
    "write_dpomdp": "decpomdp.io.dpomdp",
    "read_episodes": "decpomdp.io.episodes",
    "write_episodes": "decpomdp.io.episodes",
    **dict.fromkeys(("read_controller", "read_team", "write_controller", "write_team"), "decpomdp.io.team"),
    **dict.fromkeys(("DenseSimulator", "collect", "stream"), "decpomdp.rollouts"),
    "TeamRunner": "decpomdp.rollouts.runner",
    **dict.fromkeys(
        ("Discretiser", "PettingZooSimulator", "from_pettingzoo", "parallel_env", "play"), "decpomdp.environments"
    ),
    "learn": "decpomdp.interaction.front",
    "read_out": "decpomdp.interaction.readout",
    "plan": "decpomdp.planners.front",
    "minimised": "decpomdp.core.minimal",
    **dict.fromkeys(
        (
            "BayesFit",
            "ExpectationMaximisation",
            "Fixed",
            "LearnSettings",
            "StickBreaking",
            "TeamPosterior",
            "dirichlet_process",
            "prior_named",
        ),
        "decpomdp.learners",
    ),
}

__all__ = [
    "NO_OBSERVATION",
    "Agent",
    "BayesFit",
    "Controller",
    "DecPOMDP",
    "DenseSimulator",
    "Discretiser",
    "Episodes",
    "ExactValue",
    "ExpectationMaximisation",
    "Fit",
    "Fixed",
    "FormatError",
    "InputError",
    "LearnSettings",
    "OffPolicyValue",
    "PettingZooSimulator",
    "Row",
    "SampledValue",
    "Simulator",
    "Step",
    "StickBreaking",
    "Team",
    "TeamPosterior",
    "TeamRunner",
    "__version__",
    "collect",
    "concatenate",
    "dirichlet_process",
    "evaluate",
    "exact_value",
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
    "read_out",
    "read_team",
    "sampled_value",
    "stream",
    "write_controller",
    "write_dpomdp",
    "write_episodes",
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
