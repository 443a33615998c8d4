"""Model + team -> exact value; simulator or logged episodes + team -> estimate with its error."""

from decpomdp.core import DecPOMDP, Simulator, Team
from decpomdp.evaluation.exact import ExactValue, exact_value
from decpomdp.evaluation.offpolicy import Estimate, OffPolicyValue, offpolicy_value
from decpomdp.evaluation.sampled import SampledValue, sampled_value

__all__ = [
    "Estimate",
    "ExactValue",
    "OffPolicyValue",
    "SampledValue",
    "evaluate",
    "exact_value",
    "offpolicy_value",
    "sampled_value",
]


def evaluate(team: Team, problem: DecPOMDP | Simulator, horizon: int | None = None) -> ExactValue | SampledValue:
    """How good is the team? Exactly when the problem is a model, from test episodes when it is a simulator."""
    if isinstance(problem, DecPOMDP):
        return exact_value(problem, team, horizon)
    return sampled_value(problem, team, horizon=horizon)
