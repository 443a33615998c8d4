"""A table or figure of the paper: the cells to compute, and the tables, pictures and verdicts of their results.

    effort --cells--> cells --results--> rows --+--> tables     words
                                                +--> pictures   curves, drawn by matplotlib (`drawing`)
                                                +--> verdicts   on the claims of the paper

Everything shown is a function of the rows; the same numbers give the same files.

The judge: claims of the paper are rows of `texts/NAME.toml`, and their rules decide "yes", "partly" or "no".

    claim (says, rule, on) --rule.compare(rows, *on)--> Evidence (items, facts) --judged--> ClaimVerdict

The evidence of a claim is a small function of the rows and of `on` (methods, sizes). It has items (problems, sizes,
curves), each with words that are true or false for it, such as "above". A rule has conditions for "yes" and "partly" on
the number of items: "all above", "some above, no below", "2 near", "half closer", with alternatives separated by "or".
Items without the word are only shown. Texts refer to facts in braces. With fewer than three seeds nothing is judged.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

from decpomdp.experiments.cells import Cell
from decpomdp.experiments.drawing import Picture
from decpomdp.experiments.rows import ResultRows, Results

LEAST_SEEDS = 3  # needed for a comparison over seeds
NOT_JUDGED = "not judged"
Kind = Literal["quick", "full"]
Effort = Mapping[str, Any]  # how much is run: `seeds`, and the experiment's own sizes


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement of the paper."""

    says: str
    rule: str
    on: tuple[str, ...] = ()  # further arguments of the rule's comparison


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How claims are judged."""

    compare: str  # name of the function that gives the evidence
    yes: str  # condition
    text: str  # both conditions in words, with interpretations of vague words
    numbers: str  # the evidence in words; {each}: the items, joined; {counts[WORD]}: items for which it holds
    partly: str = ""  # condition; without one there is no "partly"
    each: str = ""  # one item
    between: str = "; "  # items


class Texts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of an experiment, and how much is run."""

    title: str
    about: str  # the method used here, and departures from the paper
    full: dict[str, Any] = {}  # effort
    quick: dict[str, Any] = {}  # differences from the full effort
    limits: dict[str, int | float] = {}  # thresholds; rules refer to them in braces
    words: dict[str, str] = {}  # captions, notes, parts of rules
    columns: dict[str, dict[str, str]] = {}  # of tables: heading -> text of an entry
    claims: tuple[Claim, ...] = ()
    rules: dict[str, Rule] = {}

    def effort(self, kind: Kind) -> dict[str, Any]:
        """The quick or the full one."""
        return self.full | self.quick if kind == "quick" else self.full


@cache
def texts_of(name: str) -> Texts:
    """The content of texts/NAME.toml; lines are joined."""
    content = resources.files(__package__).joinpath(f"texts/{name}.toml").read_text(encoding="utf-8")
    return msgspec.convert(_joined(tomllib.loads(content)), Texts)


def _joined(value: Any) -> Any:
    """Every text on one line."""
    if isinstance(value, dict):
        return {key: _joined(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_joined(each) for each in value]
    return " ".join(value.split()) if isinstance(value, str) and "\n" in value else value


class Item:
    """One problem, size or curve of the evidence."""

    def __init__(self, holds: Mapping[str, bool], **facts: Any) -> None:
        self.holds, self.facts = holds, facts


class Evidence:
    """The evidence in the rows for or against a claim, with the facts for its texts."""

    def __init__(self, items: Sequence[Item], **facts: Any) -> None:
        self.items, self.facts = items, facts

    def meets(self, condition: str) -> bool:
        """Whether the items meet a condition."""
        alternatives = filter(None, condition.split(" or "))
        return any(all(map(self._holds, each.split(", "))) for each in alternatives)

    def _holds(self, part: str) -> bool:
        amount, _, word = part.partition(" ")
        held = [item.holds[word] for item in self.items if word in item.holds]
        if not held:
            raise KeyError(word)
        count = sum(held)
        enough = {"all": count == len(held), "half": 2 * count >= len(held), "some": count > 0, "no": count == 0}
        return enough[amount] if amount in enough else count >= int(amount)

    @property
    def counts(self) -> Counter[str]:
        """The number of items for which each word holds."""
        return Counter(word for item in self.items for word, holds in item.holds.items() if holds)

    def names(self, word: str) -> list[str]:
        """The names of the items for which a word holds."""
        return [item.facts["name"] for item in self.items if item.holds[word]]


Comparisons = Mapping[str, Callable[..., Evidence | None]]  # of rows and a claim's `on`; None: rows are missing


def sides(side: str) -> dict[str, bool]:
    """The words of a comparison."""
    return {word: side == word for word in ("above", "level", "below")}


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """A statement of the paper, and whether the results here confirm it."""

    says: str
    seen: str  # "yes", "partly", "no" or "not judged"
    numbers: str  # the evidence, in words
    rule: str

    @property
    def evidence(self) -> str:
        """The numbers with the rule by which they were judged."""
        return f"{self.numbers} Rule: {self.rule}"


def judged(experiment: "Experiment", rows: ResultRows, least_seeds: int = LEAST_SEEDS) -> list[ClaimVerdict]:
    """The verdict on every claim for which the rows hold evidence."""
    texts, verdicts = experiment.texts, []
    for claim in texts.claims:
        rule = texts.rules[claim.rule]
        evidence = experiment.comparisons[rule.compare](rows, *claim.on)
        if evidence is not None:
            seen = "yes" if evidence.meets(rule.yes) else "partly" if evidence.meets(rule.partly) else "no"
            each = rule.between.join(rule.each.format(**item.facts) for item in evidence.items)
            known = {"each": each, "items": len(evidence.items), "counts": evidence.counts}
            facts = {**texts.limits, **known, **evidence.facts}
            numbers, text = (words.format(**facts).rstrip() for words in (rule.numbers, rule.text))
            verdicts.append(ClaimVerdict(claim.says, seen, numbers, text))
    seeds = len(rows.distinct("seed"))
    return verdicts if seeds >= least_seeds else [not_judged(each, seeds) for each in verdicts]


def not_judged(verdict: ClaimVerdict, seeds: int) -> ClaimVerdict:
    """Too few seeds to compare."""
    few = f"Not judged: this needs at least three seeds, got {seeds}. "
    return replace(verdict, seen=NOT_JUDGED, numbers=few + verdict.numbers)


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def text_table(title: str, columns: Mapping[str, str], lines: Iterable[Mapping[str, Any]], note: str = "") -> TextTable:
    """One row per line: the texts of the columns, filled with the facts of the line."""
    rows = tuple(tuple(text.format(**facts) for text in columns.values()) for facts in lines)
    return TextTable(title, tuple(columns), rows, note)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure of the paper; its efforts, texts and claims are in texts/NAME.toml."""

    name: str
    cells: Callable[[Effort], list[Cell]]
    rows: Callable[[Results], ResultRows]
    tables: Callable[[ResultRows], list[TextTable]]
    comparisons: Comparisons  # by the names in rules
    pictures: Callable[[ResultRows], list[Picture]] = lambda rows: []
    judge: Callable[["Experiment", ResultRows], list[ClaimVerdict]] = judged

    @property
    def texts(self) -> Texts:
        """Title, efforts and claims."""
        return texts_of(self.name)

    def verdicts(self, rows: ResultRows) -> list[ClaimVerdict]:
        """The claims of the paper, and whether the results here confirm them."""
        return self.judge(self, rows)
