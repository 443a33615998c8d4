"""What `--policy` names."""

from decpomdp.core import DecPOMDP, Team
from decpomdp.io.team import read_team


def team_for(policy: str, model: DecPOMDP) -> Team:
    """`random`, or a team file that fits the model."""
    if policy == "random":
        return Team.uniform(model)
    team = read_team(policy)
    team.check_fits(model)
    return team
