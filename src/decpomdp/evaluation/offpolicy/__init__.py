"""Off-policy evaluation: the value of a team from episodes of another behaviour."""
