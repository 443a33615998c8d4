"""What the paper says of the growth of time, and whether we see it: each claim with its rule.

Exponents are slopes on logarithmic axes, of a whole iteration or of one of its parts, over all sizes and from each size
to the next. Those of the paper are read off its table: of its worst case and, where there is a reward at the end only,
of its best.

The last step is where overheads are least, and hangs on two measurements: the exponent over all sizes has a say as
well, and either alone is half of it.
"""

import math

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.judging import exponent
from decpomdp.experiments.published import COMPLEXITY, ORDERS

NAMES = {
    "K": "episodes K",
    "N": "agents N",
    "T": "length T, reward at every step",
    "T terminal": "length T, reward at the end only",
    "Z": "nodes |Z|",
    "S": "states |S|",
}
NEAR = 0.35  # exponents closer than this are of one order: small sizes have overheads that do not grow
ORDERED = (  # what the paper says of a whole iteration, and in its table of a part
    ("An iteration scales linearly with the number of episodes and of agents.", ("K", "N"), "whole"),
    ("An iteration takes time that does not depend on the number of states.", ("S",), "whole"),
    ("With a reward at the end only, an iteration is linear in the length of episodes.", ("T terminal",), "whole"),
    ("With a reward at every step, an iteration is quadratic in the length of episodes.", ("T",), "whole"),
    ("An iteration is quadratic in the number of nodes.", ("Z",), "whole"),
    ("With a reward at the end only, weighing does not grow with the length of episodes.", ("T terminal",), "weigh"),
)
FASTER = {  # why a part grows faster than the paper's order
    "weigh": " Ours grows with the length: our pass looks at every step, whether it earned anything or not."
}
SQUARE = 2.0
BOUNDED = (  # what it says of bounds: of which sizes, and the lower one
    ("The algorithm is at most square in the problem size.", ("K", "N", "T", "T terminal", "Z", "S"), -math.inf),
    ("The time dependency on T is between linear and quadratic.", ("T", "T terminal"), 1.0),
)


def slope(rows: Rows, vary: str, part: str) -> float:
    """The exponent of a part's time; the least over seeds at every size."""
    some = chosen(rows, vary=vary)
    sizes = sorted(distinct(some, "size"))
    return exponent(sizes, [min(column(chosen(some, size=size), f"{part}_seconds")) for size in sizes])


def order_of(part: str, vary: str) -> float:
    """The paper's exponent of a part, or of the whole iteration; a sum over agents grows with their number.

    >>> order_of("count", "T"), order_of("count", "T terminal"), order_of("bound", "N"), order_of("weigh", "Z")
    (2.0, 1.0, 1.0, 0.0)
    """
    if part == "whole":
        return ORDERS[vary]
    _, best, worst = COMPLEXITY[part]
    factors = (best if vary == "T terminal" else worst).replace("sum", "N").split()
    powers = {name: float(power or 1) for name, _, power in (factor.partition("^") for factor in factors)}
    return powers.get(vary.partition(" ")[0], 0.0)


def steps_between(rows: Rows, vary: str, part: str) -> list[float]:
    """The local exponents of a part's time: between each size and the next."""
    some = chosen(rows, vary=vary)
    sizes = sorted(distinct(some, "size"))
    times = [min(column(chosen(some, size=size), f"{part}_seconds")) for size in sizes]
    return [exponent(sizes[i : i + 2], times[i : i + 2]) for i in range(len(sizes) - 1)]


def claims(rows: Rows) -> list[Claim]:
    """The orders of the paper's table, then its two sentences that bound them."""
    found = [_claim(rows, says, wanted, part) for says, wanted, part in ORDERED]
    found += [_bounded(rows, says, wanted, low) for says, wanted, low in BOUNDED]
    return [claim for claim in found if claim is not None]


def _told(rows: Rows, vary: str, part: str) -> str:
    local = ", ".join(f"{found:.2f}" for found in steps_between(rows, vary, part))
    return f"{NAMES[vary]}: exponent {slope(rows, vary, part):.2f}, from each size to the next {local}"


def _claim(rows: Rows, says: str, wanted: tuple[str, ...], part: str) -> Claim | None:
    wanted = tuple(vary for vary in wanted if chosen(rows, vary=vary))
    if not wanted:
        return None
    local = {vary: steps_between(rows, vary, part) for vary in wanted}
    orders = {vary: order_of(part, vary) for vary in wanted}
    near = all(abs(slope(rows, vary, part) - orders[vary]) <= NEAR for vary in wanted)
    late = all(abs(local[vary][-1] - orders[vary]) <= NEAR for vary in wanted)
    slower = all(max(local[vary]) < orders[vary] - NEAR for vary in wanted)
    faster = all(slope(rows, vary, part) > orders[vary] + NEAR for vary in wanted)
    told = "; ".join(_told(rows, vary, part) for vary in wanted) + "."
    told += " Ours grows more slowly than this order at every size." if slower else ""
    told += FASTER.get(part, "") if faster else ""
    words = " and ".join(f"{order:g}" for order in dict.fromkeys(orders.values()))
    rule = (
        f"read as how time grows, not as a bound; yes: the exponents over all sizes and at the largest ones are within "
        f"{NEAR} of {words}; partly: only those over all sizes, or only those at the largest."
    )
    return Claim(says, "yes" if near and late else "partly" if near or late else "no", told, rule)


def _bounded(rows: Rows, says: str, wanted: tuple[str, ...], low: float) -> Claim | None:
    """Whether exponents stay between two bounds, at every size."""
    wanted = tuple(vary for vary in wanted if chosen(rows, vary=vary))
    if not wanted:
        return None
    local = [found for vary in wanted for found in steps_between(rows, vary, "whole")]
    seen = "yes" if all(low - NEAR <= found <= SQUARE + NEAR for found in local) else "no"
    at_least = "" if low == -math.inf else f"at least {low:g} and "
    rule = f"yes: from each size to the next, exponents are {at_least}at most {SQUARE:g}, give or take {NEAR}."
    return Claim(says, seen, "; ".join(_told(rows, vary, "whole") for vary in wanted) + ".", rule)
