"""What the paper says of sizes in figure 1: how many nodes are inferred, and what too few and too many do to EM.

Too few, about right, too many: by the paper's own number, not by where ours is best.
"""

from collections.abc import Callable

from decpomdp.core.fit import Row
from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.judging import Comparison, Mean, compare, mean_of
from decpomdp.experiments.published import INFERRED_ON_MARS

ABOUT = 1  # nodes more or fewer than the paper's
SMALL, LARGE = 0.5, 2.0  # times the paper's size: too few nodes, too many
GROUPS: dict[str, Callable[[int], bool]] = {
    "few": lambda size: size <= SMALL * INFERRED_ON_MARS,
    "right": lambda size: abs(size - INFERRED_ON_MARS) <= ABOUT,
    "many": lambda size: size >= LARGE * INFERRED_ON_MARS,
}
FEW, MANY = "Too few nodes quickly converge.", "Too many nodes often yield slow convergence."
READING = (
    f"right: within {ABOUT} of the paper's {INFERRED_ON_MARS} nodes; too small: at most half of that; too large: "
    "at least twice; means over the sizes of a group, seed by seed"
)


def by_seed(some: Rows, key: str = "value") -> dict[int, float]:
    """The mean of every seed's runs."""
    return {seed: mean_of(column(chosen(some, seed=seed), key)).value for seed in distinct(some, "seed")}


def against(one: Rows, other: Rows, key: str = "value") -> Comparison:
    """One against the other, seed by seed."""
    ours, theirs = by_seed(one, key), by_seed(other, key)
    both = [seed for seed in ours if seed in theirs]
    return compare([ours[seed] for seed in both], [theirs[seed] for seed in both], same_data=True)


def inferred(sb: Rows) -> Claim:
    """About as many as the paper's."""
    size: Mean = mean_of(column(sb, "inferred"))
    within = size.least <= INFERRED_ON_MARS <= size.most
    seen = "yes" if abs(size.value - INFERRED_ON_MARS) <= ABOUT else "partly" if within else "no"
    told = (
        f"From {sb[0]['truncation']} nodes it comes to {size.value:.1f} per agent ({size.least:.1f} to {size.most:.1f} "
        "over seeds)."
    )
    rule = f"about: the mean over agents and seeds is within {ABOUT} of it; partly: it lies between our extremes."
    return Claim(f"The inferred number of nodes is about {INFERRED_ON_MARS}.", seen, told, rule)


def fitting(em: Rows) -> Claim | None:
    """Values of EM; None where a group has no size."""
    groups = _groups(em)
    if not all(groups.values()):
        return None
    sides = {name: against(groups["right"], groups[name]).side for name in ("few", "many")}
    words = set(sides.values())
    seen = "yes" if words == {"above"} else "partly" if "above" in words and "below" not in words else "no"
    evidence = (
        f"EM's values: {_words(groups, 'value')}. The middle is {sides['few']} and {sides['many']}, against fewer and "
        "more nodes."
    )
    rule = f"{READING}; yes: the middle is above both; partly: above one, below none."
    return Claim("EM under-fits when |Z| is too small and over-fits when it is too large.", seen, evidence, rule)


def paces(em: Rows) -> list[Claim]:
    """Sweeps until EM converges, with too few and too many nodes; nothing where a group has no size."""
    groups = _groups(em)
    if not all(groups.values()):
        return []
    ended = {name: sum(row["stopped"] == "iterations" for row in some) for name, some in groups.items()}
    told = (
        f"EM's sweeps: {_words(groups, 'sweeps')}. Ended at the limit of {em[0]['limit']} instead of converging: "
        f"{', '.join(str(count) for count in ended.values())} of "
        f"{', '.join(str(len(some)) for some in groups.values())} fits."
    )
    found = []
    for name, wanted, says in (("few", "below", FEW), ("many", "above", MANY)):
        side = against(groups[name], groups["right"], "sweeps").side
        right = side == wanted and not ended["right" if wanted == "above" else name]
        rule = f"{READING}; yes: {'more' if wanted == 'above' else 'fewer'} sweeps than with about the right number"
        rule += ", all of which converge." if wanted == "above" else ", and all converge."
        found.append(Claim(says, "yes" if right else "no", f"{told} Against the middle: {side}.", rule))
    return found


def _groups(em: Rows) -> dict[str, list[Row]]:
    return {name: [row for row in em if test(int(row["preset"]))] for name, test in GROUPS.items()}  # type: ignore[arg-type]


def _words(groups: dict[str, list[Row]], key: str) -> str:
    return "; ".join(
        f"|Z| of {', '.join(map(str, distinct(some, 'preset')))}: {mean_of(list(by_seed(some, key).values())).words()}"
        for some in groups.values()
    )
