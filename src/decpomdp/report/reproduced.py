"""The page of `decpomdp reproduce`: the paper's numbers next to ours, as one HTML file and as Markdown.

The Markdown links figures relative to the folder: figures/NAME.png.
"""

import base64
import re
from collections.abc import Sequence
from pathlib import Path

from decpomdp.experiments.drawing import Picture
from decpomdp.experiments.experiment import ClaimVerdict, TextTable, texts_of
from decpomdp.experiments.reproduction import Section, made_with
from decpomdp.io.files import read_bytes, write_bytes
from decpomdp.io.runs import versions
from decpomdp.report.markup import Markup, table, tag, text, trusted
from decpomdp.report.page import html_file, section

PAGE, TEXT = "index.html", "index.md"
TITLE = "Stick-breaking policy learning in Dec-POMDPs, reproduced"
CLAIMS = "What the paper claims, and what we see"
ORDER = "Claims that we do not see come first. "
COLUMNS = ("the paper", "seen", "evidence", "where")
SEEN = {"no": 0, "not judged": 1, "partly": 2, "yes": 3}  # order of claims
SPECIAL = re.compile(r"([\\|*<>`\[\]])")  # in Markdown
LIMIT = 50_000_000  # bytes of a figure
STYLE = """
figure img { width: 100%; height: auto; background: white; border-radius: 8px; }
td.yes, td.agrees { color: #1b7f79; font-weight: 600; } td.no { color: #c2410c; font-weight: 600; }
td.partly { font-weight: 600; } h3 { margin: 22px 0 4px; }
.numbers td { white-space: nowrap; font-variant-numeric: tabular-nums; }
"""


def write_reproduced(shown: Sequence[Section], folder: Path) -> Path:
    """Write the page and its Markdown into the folder of data and figures."""
    write_bytes(folder / TEXT, markdown(shown).encode())
    write_bytes(folder / PAGE, page(shown, folder).encode())
    return folder / PAGE


def page(shown: Sequence[Section], folder: Path) -> str:
    """The HTML file."""
    top = tag("header", tag("h1", TITLE), tag("p", _run_words(shown)))
    claims = table(COLUMNS, [_claim(claim, name) for name, claim in _ordered_claims(shown)], "claims")
    body = [section("claims", CLAIMS, tag("p", ORDER + texts_of("judge").about, class_="note"), claims)]
    for each in shown:
        notes = [tag("p", words, class_="note") for words in (each.experiment.texts.about, _seeds_words(each))]
        pictures = [_picture(picture, folder) for picture in each.pictures]
        tables = [_table(one) for one in each.tables]
        body.append(section(each.experiment.name, each.experiment.texts.title, *notes, *pictures, *tables))
    return html_file(TITLE, "img-src data:", STYLE, tag("main", top, *body))


def _claim(claim: ClaimVerdict, where: str) -> list[Markup]:
    seen = tag("td", claim.seen, class_=claim.seen.replace(" ", "-"))
    return [tag("td", claim.says), seen, tag("td", claim.evidence), tag("td", where)]


def _picture(picture: Picture, folder: Path) -> Markup:
    packed = base64.b64encode(read_bytes(folder / "figures" / f"{picture.name}.svg", LIMIT)).decode()
    drawn = trusted(f'<img src="data:image/svg+xml;base64,{packed}" alt="{text(picture.caption)}">')
    return tag("figure", drawn, tag("figcaption", picture.caption))


def _table(one: TextTable) -> Markup:
    rows = [[tag("td", cell, class_="agrees" if cell == "agrees" else None) for cell in row] for row in one.rows]
    note = tag("p", one.note, class_="note") if one.note else None
    return tag("div", tag("h3", one.title), note, table(one.header, rows, "numbers"))


def markdown(shown: Sequence[Section]) -> str:
    """The Markdown file."""
    claims = [
        (_plain(claim.says), f"**{claim.seen}**", _plain(claim.evidence), name)
        for name, claim in _ordered_claims(shown)
    ]
    parts = [
        f"# {TITLE}",
        _run_words(shown),
        f"## {CLAIMS}",
        ORDER + _plain(texts_of("judge").about),
        _lines(COLUMNS, claims),
    ]
    for each in shown:
        parts += [f"## {_plain(each.experiment.texts.title)}", _plain(each.experiment.texts.about), _seeds_words(each)]
        for picture in each.pictures:
            caption = _plain(picture.caption)
            parts += [f"![{caption}](figures/{picture.name}.png)", caption]
        for one in each.tables:
            rows = [[_plain(cell) for cell in row] for row in one.rows]
            note = [_plain(one.note)] if one.note else []
            parts += [f"### {_plain(one.title)}", *note, _lines([_plain(word) for word in one.header], rows)]
    return "\n\n".join(parts) + "\n"


def _run_words(shown: Sequence[Section]) -> str:
    """The run: quick or full (of which experiments, if both), number of cells, versions, code."""
    kinds: dict[str, list[str]] = {}
    for each in shown:
        kinds.setdefault(each.kind, []).append(each.experiment.name)
    mixed = ", ".join(f"{kind} run of {' and '.join(names)}" for kind, names in kinds.items())
    run = mixed if len(kinds) > 1 else f"{''.join(kinds)} run"
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return f"{run}, {sum(each.cells for each in shown)} cells; {used}; {made_with(shown)}"


def _seeds_words(each: Section) -> str:
    """The effort of one experiment, and the file of its rows."""
    seeds = "seed 0" if each.seeds == 1 else f"seeds 0 to {each.seeds - 1}"
    return f"{each.kind} run, {each.cells} cells, {seeds}; data/{each.experiment.name}.parquet"


def _ordered_claims(shown: Sequence[Section]) -> list[tuple[str, ClaimVerdict]]:
    """All claims with the names of their experiments; claims that we do not see first."""
    claims = [(each.experiment.name, claim) for each in shown for claim in each.claims]
    return sorted(claims, key=lambda pair: SEEN[pair[1].seen])


def _lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(word.strip() for word in line) + " |" for line in lines)


def _plain(words: str) -> str:
    """Text with the special characters of Markdown escaped."""
    return SPECIAL.sub(r"\\\1", words)
