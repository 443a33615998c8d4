"""The page of `decpomdp reproduce` as Markdown, `index.md`: the same words as `index.html`, for other documents.

Figures are named by their place below the folder: figures/NAME.png.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from decpomdp.experiments.experiment import Picture, Table
from decpomdp.experiments.judge import RULE, Verdict
from decpomdp.experiments.reproduction import Shown, made_with
from decpomdp.io.files import write_bytes
from decpomdp.io.runs import versions

TEXT = "index.md"
TITLE = "Stick-breaking policy learning in Dec-POMDPs, reproduced"
SEEN = {"no": 0, "not judged": 1, "partly": 2, "yes": 3}  # what we do not see comes first
SPECIAL = re.compile(r"([\\|*<>`\[\]])")


def write_text(shown: Sequence[Shown], folder: Path) -> Path:
    """Write the Markdown beside the data and the figures it shows."""
    target = folder / TEXT
    write_bytes(target, whole_text(shown).encode())
    return target


def whole_text(shown: Sequence[Shown]) -> str:
    """The whole file."""
    parts = [f"# {TITLE}", run_words(shown), "## What the paper claims, and what we see", *_claims(shown)]
    for each in shown:
        parts += _shown(each)
    return "\n\n".join(parts) + "\n"


def run_words(shown: Sequence[Shown]) -> str:
    """Which run this is: quick or full (of what, if both), how many cells, made by which code, shown with what."""
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return f"{_kinds(shown)}, {sum(each.cells for each in shown)} cells; {used}; {made_with(shown)}"


def _kinds(shown: Sequence[Shown]) -> str:
    """full run, or: full run of table2 and figure1, quick run of robustness"""
    named: dict[str, list[str]] = {}
    for each in shown:
        named.setdefault(each.kind, []).append(each.experiment.name)
    if len(named) < 2:
        return f"{''.join(named)} run"
    return ", ".join(f"{kind} run of {' and '.join(names)}" for kind, names in named.items())


def ordered_claims(shown: Sequence[Shown]) -> list[tuple[str, Verdict]]:
    """All claims with the names of their experiments; those that we do not see first."""
    found = [(each.experiment.name, claim) for each in shown for claim in each.claims]
    return sorted(found, key=lambda pair: SEEN[pair[1].seen])


def _claims(shown: Sequence[Shown]) -> list[str]:
    lines = [
        (_plain(claim.says), f"**{claim.seen}**", _plain(claim.evidence), name) for name, claim in ordered_claims(shown)
    ]
    header = ("the paper", "seen", "evidence", "where")
    return ["Claims that we do not see come first. " + _plain(RULE), _lines(header, lines)]


def _shown(each: Shown) -> list[str]:
    parts = [f"## {_plain(each.experiment.title)}", _plain(each.experiment.about), seeds_words(each)]
    for picture in each.pictures:
        parts += _picture(picture)
    for table in each.tables:
        parts += _table(table)
    return parts


def seeds_words(each: Shown) -> str:
    """How much was run of one experiment, and where its rows are."""
    seeds = "seed 0" if each.seeds == 1 else f"seeds 0 to {each.seeds - 1}"
    return f"{each.kind} run, {each.cells} cells, {seeds}; data/{each.experiment.name}.parquet"


def _picture(picture: Picture) -> list[str]:
    caption = _plain(picture.caption)
    return [f"![{caption}](figures/{picture.name}.png)", caption]


def _table(table: Table) -> list[str]:
    rows = [tuple(_plain(cell) for cell in row) for row in table.rows]
    note = [_plain(table.note)] if table.note else []
    return [f"### {_plain(table.title)}", *note, _lines(tuple(_plain(word) for word in table.header), rows)]


def _lines(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    told = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(word.strip() for word in line) + " |" for line in told)


def _plain(words: str) -> str:
    """Words as they are: nothing in them is Markdown."""
    return SPECIAL.sub(r"\\\1", words)
