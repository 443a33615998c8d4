"""The page of `decpomdp reproduce`: the paper's numbers beside ours, in one file that needs nothing else.

Beside it the same in Markdown (`reproduced_text`).
"""

import base64
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from decpomdp.experiments.experiment import Picture, Table
from decpomdp.experiments.judge import RULE, Verdict
from decpomdp.experiments.reproduction import Shown
from decpomdp.io.files import read_bytes, write_bytes
from decpomdp.report.markup import Markup, tag, text, trusted
from decpomdp.report.reproduced_text import TITLE, ordered_claims, run_words, seeds_words, write_text

PAGE = "index.html"
LIMIT = 50_000_000  # bytes of a figure that we drew ourselves
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
figure img { width: 100%; height: auto; background: white; border-radius: 8px; }
td.yes, td.agrees { color: #1b7f79; font-weight: 600; } td.no { color: #c2410c; font-weight: 600; }
td.partly { font-weight: 600; } h3 { margin: 22px 0 4px; }
.numbers td { white-space: nowrap; font-variant-numeric: tabular-nums; }
"""


def write_reproduced(shown: Sequence[Shown], folder: Path) -> Path:
    """Write the page beside the data and the figures it shows, and its words as Markdown."""
    write_text(shown, folder)
    target = folder / PAGE
    write_bytes(target, page(shown, folder).encode())
    return target


def page(shown: Sequence[Shown], folder: Path) -> str:
    """The whole file."""
    style = files("decpomdp.report").joinpath("page.css").read_text(encoding="utf-8") + STYLE
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{TITLE} \u2013 decpomdp"),
        tag("style", trusted(style)),
    )
    top = tag("header", tag("h1", TITLE), tag("p", run_words(shown)))
    body = [_section("claims", "What the paper claims, and what we see", _claims(shown))]
    body += [_shown(each, folder) for each in shown]
    return "<!doctype html>\n" + tag("html", head, tag("body", tag("main", top, *body)), lang="en") + "\n"


def _section(key: str, title: str, *content: object) -> Markup:
    return tag("section", tag("h2", title), *content, id=key)


def _claims(shown: Sequence[Shown]) -> Markup:
    """All claims; those that we do not see first."""
    head = tag("tr", *(tag("th", words, scope="col") for words in ("the paper", "seen", "evidence", "where")))
    rows = [_claim(claim, name) for name, claim in ordered_claims(shown)]
    note = tag("p", "Claims that we do not see come first. " + RULE, class_="note")
    return tag("div", note, tag("table", tag("thead", head), tag("tbody", *rows)), class_="wide")


def _claim(claim: Verdict, where: str) -> Markup:
    seen = tag("td", claim.seen, class_=claim.seen.replace(" ", "-"))
    return tag("tr", tag("td", claim.says), seen, tag("td", claim.evidence), tag("td", where))


def _shown(each: Shown, folder: Path) -> Markup:
    pictures = [_picture(picture, folder) for picture in each.pictures]
    tables = [_table(table) for table in each.tables]
    about = tag("p", each.experiment.about, class_="note")
    return _section(
        each.experiment.name,
        each.experiment.title,
        about,
        tag("p", seeds_words(each), class_="note"),
        *pictures,
        *tables,
    )


def _picture(picture: Picture, folder: Path) -> Markup:
    packed = base64.b64encode(read_bytes(folder / "figures" / f"{picture.name}.svg", LIMIT)).decode()
    drawn = trusted(f'<img src="data:image/svg+xml;base64,{packed}" alt="{text(picture.caption)}">')
    return tag("figure", drawn, tag("figcaption", picture.caption))


def _table(table: Table) -> Markup:
    head = tag("tr", *(tag("th", words, scope="col") for words in table.header))
    rows = [tag("tr", *(_cell(cell) for cell in row)) for row in table.rows]
    note = tag("p", table.note, class_="note") if table.note else None
    body = tag("table", tag("thead", head), tag("tbody", *rows), class_="numbers")
    return tag("div", tag("h3", table.title), note, body, class_="wide")


def _cell(words: str) -> Markup:
    return tag("td", words, class_="agrees" if words == "agrees" else None)
