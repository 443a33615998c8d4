"""What `--policy` names."""

from decpomdp.core import DecPOMDP, Simulator, Team
from decpomdp.io.team import read_team


def team_for(policy: str, model: DecPOMDP | Simulator) -> Team:
    """`random`, a policy that comes with the problem, or a team file that fits it."""
    if policy == "random":
        return Team.uniform(model)
    own = getattr(model, "policies", None)
    known: dict[str, Team] = {} if own is None else own()
    if policy in known:
        return known[policy]
    team = read_team(policy)
    team.check_fits(model)
    return team
