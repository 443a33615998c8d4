"""The team of a policy: a team, the name of a policy of the problem, a team.json, or uniformly random actions."""

import os
from pathlib import Path

from decpomdp.core import DecPOMDP, InputError, Simulator, Team, checks
from decpomdp.io.team import read_team

RANDOM = "random"

Policy = Team | str | os.PathLike[str] | None


def team_for(policy: Policy, problem: DecPOMDP | Simulator) -> Team:
    """The team of `policy`, checked to fit `problem`; None: uniformly random actions."""
    if isinstance(policy, Team):
        team = policy
    elif policy is None or (isinstance(policy, str) and policy == RANDOM):
        return Team.uniform(problem)
    elif isinstance(policy, str | os.PathLike) and isinstance(os.fspath(policy), str):
        team = _named(os.fspath(policy), problem)
    else:
        raise InputError(f"team: expected a Team, the name of a policy or a team.json, got {checks.kind_of(policy)}")
    team.check_fits(problem)
    return team


def _named(policy: str, problem: DecPOMDP | Simulator) -> Team:
    own = getattr(problem, "policies", None)
    known: dict[str, Team] = own() if callable(own) else {}
    if policy in known:
        return known[policy]
    if not policy.endswith(".json") and not Path(policy).exists():
        names = ", ".join(dict.fromkeys((RANDOM, *known)))
        raise InputError(f"policy: expected {names} or the path of a team.json, got {policy!r}")
    return read_team(policy)
