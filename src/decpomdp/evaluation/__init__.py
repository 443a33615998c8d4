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
    """How good is the team? Exactly when the problem is a model, from test episodes when it is a simulator.

    Parameters
    ----------
    team
        Whose value is wanted.
    problem
        A model (`exact_value`) or a simulator (`sampled_value`, 1000 episodes).
    horizon
        Steps; None: for ever, which needs a discount below 1.

    Examples
    --------
    >>> import decpomdp as dp
    >>> model = dp.load("dectiger")
    >>> team = dp.Team.uniform(model)
    >>> round(dp.evaluate(team, model).value, 3)
    -462.222
    >>> told = dp.evaluate(team, dp.DenseSimulator(model))
    >>> abs(told.value + 462.222) < 4 * told.standard_error
    True
    """
    if isinstance(problem, DecPOMDP):
        return exact_value(problem, team, horizon)
    return sampled_value(problem, team, horizon=horizon)
