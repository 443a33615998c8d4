"""`evaluate`: a team and whatever can judge it go in, a value with its error comes out."""

import os

from decpomdp.core import DecPOMDP, Episodes, InputError, Simulator, Team, checks
from decpomdp.domains.load import opened
from decpomdp.evaluation.exact import ExactValue, exact_value
from decpomdp.evaluation.offpolicy import OffPolicyValue, offpolicy_value
from decpomdp.evaluation.sampled import SampledValue, sampled_value
from decpomdp.io.episodes import read_episodes
from decpomdp.io.kinds import is_logged
from decpomdp.io.team import read_team

Judge = str | os.PathLike[str] | DecPOMDP | Simulator | Episodes | None


def evaluate(
    team: Team | str | os.PathLike[str], problem: Judge = None, horizon: int | None = None
) -> ExactValue | SampledValue | OffPolicyValue:
    """How good is the team? Exact for a model, from test episodes for a simulator, from logged episodes without either.

    Parameters
    ----------
    team
        Whose value is wanted: a team, or the path of a team.json.
    problem
        A model (see `exact_value`), a simulator (`sampled_value`, 1000 episodes) or recorded episodes
        (`offpolicy_value`); or a problem by name or `.dpomdp` file, which is then played with the team's discount; or
        a `.parquet` file of episodes. None: the problem that the team names.
    horizon
        Steps; None: for ever, which needs a discount below 1. From episodes: as many steps as they have. On a
        simulator: no more than its own `horizon`, if it has one.

    Returns
    -------
    ExactValue, SampledValue or OffPolicyValue
        All have a `value`.

    Raises
    ------
    InputError
        The team does not fit the problem, or there is no such problem.

    Examples
    --------
    >>> import decpomdp as dp
    >>> team = dp.Team.uniform(dp.load("dectiger"))
    >>> round(dp.evaluate(team, "dectiger").value, 3)
    -462.222
    >>> told = dp.evaluate(team, dp.DenseSimulator("dectiger"))
    >>> abs(told.value + 462.222) < 4 * told.standard_error
    True
    """
    whose = read_team(team) if isinstance(team, str | os.PathLike) else checks.of_kind("team", team, Team)
    judge = _judge(whose, problem)
    if isinstance(judge, Episodes):
        return offpolicy_value(judge, whose, horizon)
    if isinstance(judge, DecPOMDP):
        return exact_value(judge, whose, horizon)
    return sampled_value(judge, whose, horizon=horizon)


def _judge(team: Team, problem: Judge) -> DecPOMDP | Simulator | Episodes:
    if isinstance(problem, Episodes):
        return problem
    if problem is None and not team.problem:
        raise InputError("problem: expected one, because the team names none")
    named = team.problem if problem is None else problem
    if isinstance(named, str | os.PathLike):
        return read_episodes(named) if is_logged(named) else opened(named, team.discount)
    return opened(named)
