"""Off-policy evaluation: the value of a team from episodes that another behaviour left."""

from decpomdp.evaluation.offpolicy.value import Estimate, OffPolicyValue, offpolicy_value

__all__ = ["Estimate", "OffPolicyValue", "offpolicy_value"]
