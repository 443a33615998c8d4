"""How many steps of an episode matter under a discount."""

import math


def horizon_of(discount: float, tail: float, longest: int) -> int:
    """The smallest T with discount^T <= tail, at least 1 and at most `longest`.

    A constant reward has then paid all but a share `tail` of its discounted sum. Without discounting: `longest`.
    """
    if discount <= 0:
        return 1
    return longest if discount >= 1 else min(longest, math.ceil(math.log(tail) / math.log(discount)))
