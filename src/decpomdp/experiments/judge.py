"""The judge: claims of the paper are rows of `texts/NAME.toml`, and one rule decides "yes", "partly" or "no".

    claim (says, rule, numbers, evidence, on) --rows--> Evidence (yes, partly, facts) --judged--> ClaimVerdict

The evidence of a claim is a small function of the rows and of `on` (methods, sizes): whether they meet what the rule
asks for "yes" and for "partly", and the facts that the claim's texts name in braces. A fact may be a set of rows:
{ours[value]} is its mean, {ours[value].most:.2f} its largest value, {ours[0][limit]} an entry of its first row. With
fewer than three seeds nothing is judged.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from operator import itemgetter
from typing import Any, Literal, SupportsIndex, overload

import msgspec

from decpomdp.experiments.means import Comparison, Mean, compare, mean_of

LEAST_SEEDS = 3  # with which seeds can be compared
NOT_JUDGED = "not judged"
OPPOSITE = {"above": "below", "below": "above"}
Kind = Literal["quick", "full"]
Facts = Mapping[str, Any]
Effort = Mapping[str, Any]  # how much is run: `seeds`, and sizes of the experiment's own


class Claim(msgspec.Struct, frozen=True):
    """A statement of the paper, and how it is judged."""

    says: str
    rule: str  # conditions for "yes" and "partly", and how vague words are read; facts and limits in braces
    evidence: str  # name of the function that weighs it
    numbers: str  # the evidence in words; {each}: the items, joined
    each: str = ""  # one item: a problem, a size
    between: str = ";"  # after each item but the last
    on: tuple[str, ...] = ()  # further arguments of the function


class Texts(msgspec.Struct, frozen=True):
    """The texts of an experiment, and how much is run."""

    title: str
    about: str  # how it is done here, and departures from the paper
    full: dict[str, Any] = {}  # effort
    quick: dict[str, Any] = {}  # its differences from the full one
    limits: dict[str, int | float] = {}  # numbers that decide; named in braces by rules
    words: dict[str, str] = {}  # captions, notes, parts of rules
    claims: tuple[Claim, ...] = ()

    def effort(self, kind: Kind) -> dict[str, Any]:
        """The quick or the full one."""
        return self.full | self.quick if kind == "quick" else self.full


@cache
def texts_of(name: str) -> Texts:
    """The content of texts/NAME.toml; lines are joined, parts of rules put in."""
    content = resources.files(__package__).joinpath(f"texts/{name}.toml").read_text(encoding="utf-8")
    found = msgspec.convert(_joined(tomllib.loads(content)), Texts)
    parts = {f"{{{key}}}": text for key, text in found.words.items()}
    claims = []
    for claim in found.claims:
        rule, numbers = claim.rule, claim.numbers
        for key, text in parts.items():
            rule, numbers = rule.replace(key, text), numbers.replace(key, text)
        claims.append(msgspec.structs.replace(claim, rule=rule, numbers=numbers))
    return msgspec.structs.replace(found, claims=tuple(claims))


def _joined(value: Any) -> Any:
    """All texts on one line."""
    if isinstance(value, dict):
        return {key: _joined(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_joined(each) for each in value]
    return " ".join(value.split()) if isinstance(value, str) else value


class ResultRows(list[Mapping[str, Any]]):
    """One mapping per point, all with the same keys."""

    @overload
    def __getitem__(self, key: SupportsIndex) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> list[Mapping[str, Any]]: ...
    @overload
    def __getitem__(self, key: str) -> Mean: ...
    def __getitem__(self, key: Any) -> Any:
        """A row or, by the name of a column, the mean of it with its interval."""
        return mean_of(self.column(key)) if isinstance(key, str) else super().__getitem__(key)

    def where(self, **wanted: Any) -> "ResultRows":
        """The rows with these values."""
        return ResultRows(row for row in self if all(row[key] == value for key, value in wanted.items()))

    def distinct(self, key: str) -> list[Any]:
        """The different values of a column, in the order in which they come."""
        return list(dict.fromkeys(row[key] for row in self))

    def column(self, key: str) -> list[float]:
        """A column of numbers, without missing ones."""
        return [float(row[key]) for row in self if row[key] is not None]

    def ends(self, key: str) -> tuple["ResultRows", "ResultRows"]:
        """The rows with the least and with the greatest value of a column."""
        values = self.distinct(key)
        return self.where(**{key: min(values)}), self.where(**{key: max(values)})

    def groups(self, *keys: str) -> dict[Any, "ResultRows"]:
        """The rows of every value of a column, or of every tuple of values of several, as they come."""
        found: dict[Any, ResultRows] = {}
        for row in self:
            found.setdefault(itemgetter(*keys)(row), ResultRows()).append(row)
        return found

    def means(self, key: str, *by: str) -> dict[Any, Mean]:
        """The mean of a column in every group."""
        return {group: some[key] for group, some in self.groups(*by).items()}

    def tested(self, key: str, error: str) -> Mean:
        """The mean with an interval for a published value, a mean of test episodes with this error, if recorded."""
        return mean_of(self.column(key), self[error].value if self.column(error) else 0.0)

    def by_seed(self, key: str) -> dict[int, float]:
        """The mean of a column for every seed."""
        return {seed: mean.value for seed, mean in self.means(key, "seed").items()}

    def against(self, other: "ResultRows", key: str = "value") -> Comparison:
        """This method against another that learned from the same episodes, seed by seed."""
        ours, theirs = self.by_seed(key), other.by_seed(key)
        both = [seed for seed in ours if seed in theirs]
        return compare([ours[seed] for seed in both], [theirs[seed] for seed in both], same_data=True)


class Evidence:
    """The evidence in the rows for or against a claim, with the facts that its texts name in braces."""

    def __init__(self, yes: bool, partly: bool = False, each: Sequence[Facts] = (), **facts: Any) -> None:
        self.yes, self.partly, self.each, self.facts = yes, partly, each, facts


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """A statement of the paper, and whether it is seen here."""

    says: str
    seen: str  # "yes", "partly", "no" or "not judged"
    numbers: str  # the evidence, in words
    rule: str

    @property
    def evidence(self) -> str:
        """The numbers with the rule by which they were judged."""
        return f"{self.numbers} Rule: {self.rule}"


Weigh = Callable[..., Evidence | None]  # of rows and a claim's `on`; None: rows are missing
Judge = Callable[[Texts, Mapping[str, Weigh], ResultRows], list[ClaimVerdict]]


def judged(
    texts: Texts, weigh: Mapping[str, Weigh], rows: ResultRows, least_seeds: int = LEAST_SEEDS
) -> list[ClaimVerdict]:
    """The verdict on every claim for which the rows hold evidence."""
    verdicts = []
    for claim in texts.claims:
        evidence = weigh[claim.evidence](rows, *claim.on)
        if evidence is not None:
            seen = "yes" if evidence.yes else "partly" if evidence.partly else "no"
            each = f"{claim.between} ".join(claim.each.format(**facts) for facts in evidence.each)
            facts = {**texts.limits, "each": each, **evidence.facts}
            verdicts.append(
                ClaimVerdict(claim.says, seen, claim.numbers.format(**facts).rstrip(), claim.rule.format(**facts))
            )
    seeds = len(rows.distinct("seed"))
    return verdicts if seeds >= least_seeds else [not_judged(each, seeds) for each in verdicts]


def not_judged(verdict: ClaimVerdict, seeds: int) -> ClaimVerdict:
    """Too few seeds to compare."""
    few = f"Not judged: that takes at least three seeds, here {seeds}. "
    return replace(verdict, seen=NOT_JUDGED, numbers=few + verdict.numbers)


def on_side(sides: Sequence[str], wanted: str) -> tuple[bool, bool]:
    """Whether all comparisons are on the wanted side; and whether some are, and none is on the opposite side.

    >>> on_side(["above", "above"], "above"), on_side(["above", "level"], "above"), on_side(["below", "above"], "above")
    ((True, True), (False, True), (False, False))
    """
    return set(sides) == {wanted}, wanted in sides and OPPOSITE[wanted] not in sides
