"""Core data types: models, controllers, teams, episodes, simulators. Frozen and validated; only numpy is needed."""

from decpomdp.core.agent import Agent
from decpomdp.core.controller import Controller, Team
from decpomdp.core.episodes import NO_OBSERVATION, Episodes, concatenate
from decpomdp.core.errors import FormatError, InputError
from decpomdp.core.fit import Fit, Row, Watch
from decpomdp.core.model import DecPOMDP
from decpomdp.core.simulator import Simulator, Step

__all__ = [
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
    "Watch",
    "concatenate",
]
