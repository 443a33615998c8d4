"""What the paper reads off figure 2, and whether we see it: each claim with the rule by which it is judged."""

from decpomdp.experiments.experiment import Claim, Rows, chosen, column, distinct
from decpomdp.experiments.judging import Mean, above, mean_of

NAMES = {
    "sbpr-heuristic": "Dec-SBPR, heuristic first",
    "sbpr-exploration": "Dec-SBPR, exploration only",
    "mcem": "MCEM, 3 nodes",
}
POLICIES = ("random", "all-row", "all-column", "heuristic", "clock")  # that need no learning
FEW = 10  # iterations: "a few"


def claims(rows: Rows) -> list[Claim]:
    """What the paper reads off its figure, and what we ask beside it."""
    last = max(column(rows, "iteration"))
    ends = {m: mean_of(column(chosen(rows, method=m, iteration=last), "value")) for m in NAMES}
    levels = [_level(rows, ends["sbpr-heuristic"], name) for name in ("heuristic", "clock")]
    return [_order(ends), *levels, _soon(rows, ends["mcem"]), _sizes(rows, last)]


def _order(ends: dict[str, Mean]) -> Claim:
    best = ends["sbpr-heuristic"]
    sides = [above(best, ends[other]) for other in ("sbpr-exploration", "mcem")]
    seen = "yes" if sides == ["above", "above"] else "no" if "below" in sides else "partly"
    told = "At the end: " + "; ".join(f"{NAMES[m]} {ends[m].words(1)}" for m in NAMES) + "."
    rule = "yes: above both other curves at the last iteration; partly: below none."
    return Claim("With the heuristic Dec-SBPR achieves the best performance.", seen, told, rule)


def _level(rows: Rows, learned: Mean, name: str) -> Claim:
    """Against a policy that needs no learning; its value has an error of testing, too."""
    level = chosen(rows, method=name)[0]
    value, side = mean_of(column([level], "value"), column([level], "error")[0]), rows[0]["side"]
    seen = {"above": "yes", "level": "partly", "below": "no"}[above(learned, value)]
    told = f"At the end {learned.words(1)}, where the {name} has {value.value:.1f}; {side} x {side} lights."
    says = f"(Ours, not the paper's:) learning that begins with the heuristic ends above the {name}."
    return Claim(says, seen, told, "yes: above it at the last iteration; partly: level.")


def _soon(rows: Rows, mcem: Mean) -> Claim:
    some = chosen(rows, method="sbpr-exploration")
    means = [(i, mean_of(column(chosen(some, iteration=i), "value"))) for i in distinct(some, "iteration")]
    behind = [i for i, mean in means if above(mean, mcem) != "above"]
    passed = [i for i, _ in means if not behind or i > behind[-1]]  # for good
    seen = "yes" if passed and passed[0] <= FEW else "partly" if passed else "no"
    when = f"from iteration {passed[0]} on" if passed else "never for good"
    tests = ", ".join(str(i) for i, _ in means[:4])
    told = f"It is above what MCEM has at the end ({mcem.words(1)}) {when}; tested at {tests} ... of {means[-1][0]}."
    rule = f"a few: at most {FEW}, from there on above what MCEM has at its end; partly: later."
    return Claim("With exploration only, Dec-SBPR beats MCEM in a few iterations.", seen, told, rule)


def _sizes(rows: Rows, last: float) -> Claim:
    some = chosen(rows, method="sbpr-exploration")
    first, end = (mean_of(column(chosen(some, iteration=i), "nodes")).value for i in (1, last))
    preset = mean_of(column(chosen(rows, method="mcem"), "nodes")).value
    smaller, inferred = end < preset - 1e-9, end < first - 1e-9
    told = (
        f"It has {end:.2f} nodes per agent at the end, MCEM {preset:g}; it began with {first:.2f}, one node per action"
    )
    told += ", so the size was inferred." if inferred else ": the size is that of the start, the prior dropped no node."
    seen = "yes" if smaller and inferred else "partly" if smaller else "no"
    rule = "yes: fewer than MCEM's, and fewer than it began with, so that they were inferred; partly: only the first."
    return Claim("The inferred number of nodes is smaller than MCEM's preset one.", seen, told, rule)
