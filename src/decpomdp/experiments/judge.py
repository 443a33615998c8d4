"""The judge: claims of the paper are rows, and one rule turns their evidence into "yes", "partly" or "no".

    claim (says, rule, evidence) --rows--> Evidence (told, yes, partly) --judged--> Verdict (says, seen, told, rule)

The evidence of a claim is a small function of the rows: the numbers in words, and whether they meet what the rule asks
for "yes" and for "partly". With fewer than three seeds nothing that compares seeds is judged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from decpomdp.experiments.means import ROUNDED, Comparison, Mean, compare, mean_of

LEAST_SEEDS = 3  # with which seeds can be compared
NOT_JUDGED = "not judged"
OPPOSITE = {"above": "below", "below": "above"}
RULE = (
    "In the tables a published value of a learner agrees when it lies in our 95 % interval: the mean over seeds plus "
    "or minus Student's t times its standard error, widened by the error of a mean of 100 test episodes, which the "
    "published values of learners are. A published value of a planner (PeriEM, FB-HSVI) agrees when it is ours to its "
    f"two digits, within {ROUNDED}: it is no mean of test episodes, and ours has one seed. "
    "Otherwise ours is higher or lower. A published size of Dec-SBPR agrees when it lies between the smallest and the "
    "largest of ours. Times are of different machines and are not judged. "
    "Claims have their rules beside them. In these, two methods of ours are level when the 95 % interval of the "
    "difference of their means (Welch's; where both learned from the same episodes, that of the differences seed by "
    "seed) holds 0 and a Mann-Whitney test of their seeds (two-sided, 5 %) finds no difference; "
    "else one is above (by mistake in at most 8 of 100 cases, simulated). A planner of ours has one value for all "
    "seeds: there a sign test takes the place of the ranks, and all of at least five seeds on one side are on that "
    "side (one-sided, 1 of 32; with the interval by mistake in at most 8 of 100 cases when the value is the median "
    "of what seeds give, in at most 14 when it is the mean and seeds are skewed). "
    "With few seeds only large differences stand out; with fewer than three nothing that "
    "compares seeds is judged. Level is not seen: what the paper says is not partly so because we see no "
    "difference. What the paper says in "
    "vague words is read as the rule says. Rules were written after results had been seen; none refers to a number "
    "of ours."
)


class Rows(list[Mapping[str, Any]]):
    """One mapping per point, all with the same keys."""

    def where(self, **wanted: Any) -> "Rows":
        """The rows with these values."""
        return Rows(row for row in self if all(row[key] == value for key, value in wanted.items()))

    def distinct(self, key: str) -> list[Any]:
        """The different values of a column, in the order in which they come."""
        return list(dict.fromkeys(row[key] for row in self))

    def column(self, key: str) -> list[float]:
        """A column of numbers, without missing ones."""
        return [float(row[key]) for row in self if row[key] is not None]

    def mean(self, key: str, test_error: float = 0.0) -> Mean:
        """The mean of a column with its interval."""
        return mean_of(self.column(key), test_error)

    def by_seed(self, key: str) -> dict[int, float]:
        """The mean of a column for every seed."""
        return {seed: self.where(seed=seed).mean(key).value for seed in self.distinct("seed")}

    def against(self, other: "Rows", key: str = "value") -> Comparison:
        """This method against another that learned from the same episodes, seed by seed."""
        ours, theirs = self.by_seed(key), other.by_seed(key)
        both = [seed for seed in ours if seed in theirs]
        return compare([ours[seed] for seed in both], [theirs[seed] for seed in both], same_data=True)


class Evidence(NamedTuple):
    """What the rows say about a claim."""

    told: str  # the numbers
    yes: bool
    partly: bool = False
    facts: Mapping[str, Any] = {}  # named in braces by the rule


@dataclass(frozen=True, slots=True)
class Claim:
    """Something the paper says, and how it is judged."""

    says: str
    rule: str  # what "yes" and "partly" take, and how vague words are read
    evidence: Callable[[Rows], Evidence | None]  # None: the rows do not hold what it takes


@dataclass(frozen=True, slots=True)
class Verdict:
    """Something the paper says, and whether it is seen here."""

    says: str
    seen: str  # "yes", "partly", "no" or "not judged"
    told: str  # the numbers
    rule: str

    @property
    def evidence(self) -> str:
        """The numbers with the rule by which they were judged."""
        return f"{self.told} Rule: {self.rule}"


def judged(claims: Iterable[Claim], rows: Rows, least_seeds: int = LEAST_SEEDS) -> list[Verdict]:
    """The verdict on every claim for which the rows hold evidence."""
    found = []
    for claim in claims:
        evidence = claim.evidence(rows)
        if evidence is not None:
            seen = "yes" if evidence.yes else "partly" if evidence.partly else "no"
            found.append(Verdict(claim.says, seen, evidence.told, claim.rule.format(**evidence.facts)))
    return (
        found if len(seeds := rows.distinct("seed")) >= least_seeds else [not_judged(one, len(seeds)) for one in found]
    )


def not_judged(verdict: Verdict, seeds: int) -> Verdict:
    """Too few seeds to compare."""
    few = f"Not judged: that takes at least three seeds, here {seeds}. "
    return replace(verdict, seen=NOT_JUDGED, told=few + verdict.told)


def on_side(sides: Sequence[str], wanted: str) -> tuple[bool, bool]:
    """Whether all comparisons are on the wanted side; and whether some are, and none is on the opposite side.

    >>> on_side(["above", "above"], "above"), on_side(["above", "level"], "above"), on_side(["below", "above"], "above")
    ((True, True), (False, True), (False, False))
    """
    return set(sides) == {wanted}, wanted in sides and OPPOSITE[wanted] not in sides
