"""What `--policy` names: see `decpomdp.rollouts.policies`."""

from decpomdp.rollouts.policies import team_for

__all__ = ["team_for"]
