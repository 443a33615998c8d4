"""Model + team -> exact value; simulator or logged episodes + team -> estimate with its error."""

from decpomdp.evaluation.exact import ExactValue, exact_value
from decpomdp.evaluation.offpolicy.value import Estimate, OffPolicyValue, offpolicy_value
from decpomdp.evaluation.sampled import SampledValue, sampled_value

__all__ = [
    "Estimate",
    "ExactValue",
    "OffPolicyValue",
    "SampledValue",
    "exact_value",
    "offpolicy_value",
    "sampled_value",
]
