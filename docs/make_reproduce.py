"""Put the results of a run into the documents: python docs/make_reproduce.py FOLDER

FOLDER is the output of `decpomdp reproduce`. Its `index.md` becomes the part of `reproduce.md` between the two marks:
how many claims were seen, the list of claims, the figures and the short tables. The evidence for every claim and the
tables of figure 1 and robustness go to CSV files in `reproduce/`, the figures to `pictures/reproduce_NAME.png`.
Experiments that FOLDER does not have stay as they are. Everything outside the marks is written by hand.
"""

import csv
import io
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

DOCS = Path(__file__).parent
BEGIN, END = "<!-- made by docs/make_reproduce.py: begin -->", "<!-- made by docs/make_reproduce.py: end -->"
FIGURE = re.compile(r"\]\(figures/(\w+\.png)\)")
DOCUMENT = re.compile(r"\bdocs/(\w+\.md)\b")
CELLS = re.compile(r"(?<!\\)\|")
FORMS = ("as printed", "episodes counted", "utility-weighted")
FORM = re.compile(rf"^(.*?)(?: \(({'|'.join(FORMS)})\))?$")
VERDICTS = ("yes", "partly", "no", "not judged")
AS_FILES = ("figure1", "robustness")  # their tables are too long for the page


def put(folder: Path, docs: Path = DOCS) -> list[Path]:
    """Write the page, its data files and its pictures; returns their paths."""
    page, index = docs / "reproduce.md", (folder / "index.md").read_text(encoding="utf-8")
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    old, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{page}: expected the marks {BEGIN} and {END}")
    names = FIGURE.findall(index)
    pictures = [docs / "pictures" / f"reproduce_{name}" for name in names]
    for name, target in zip(names, pictures, strict=True):
        shutil.copyfile(folder / "figures" / name, target)
    claims = docs / "reproduce/claims.csv"
    shown = list(csv.reader(io.StringIO(claims.read_text(encoding="utf-8"))))[1:] if claims.exists() else []
    text, files = shortened(index, old, shown)
    (docs / "reproduce").mkdir(exist_ok=True)
    written = [docs / "reproduce" / name for name in files]
    for path, content in zip(written, files.values(), strict=True):
        path.write_text(content, encoding="utf-8")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
    return [page, *written, *pictures]


def shortened(index: str, old: str = "", shown: list[list[str]] | None = None) -> tuple[str, dict[str, str]]:
    """The text for the page, and {name of a data file: its content}.

    `old` is the text that it replaces, `shown` the rows of its claims: experiments that the index lacks are kept.
    """
    _, _, body = index.partition("\n\n")
    line, _, rest = body.partition("\n\n")
    claims, *sections = split(rest)[1:]
    files, new = dict[str, str](), dict[str, str]()
    for section in sections:
        name = name_of(section)
        if name in AS_FILES:
            section, files[f"{name}.csv"] = without_tables(section)
            section += f"Tables: [{name}.csv](reproduce/{name}.csv).\n\n"
        new[name] = DOCUMENT.sub(r"[\1](\1)", FIGURE.sub(r"](pictures/reproduce_\1)", short_alt(section)))
    kept = {name_of(section): section for section in split(old.strip() + "\n\n")[1:]}
    rows = table_rows(claims) + [row for row in shown or [] if row[3] in kept.keys() - new.keys()]
    files["claims.csv"] = csv_text(("claim", "verdict", "evidence", "experiment"), rows)
    runs = f"of this run: {line}."
    if kept.keys() - new.keys():
        first = re.search(r"\*\*These numbers are (.*?)(?: Newer, .*?)?\*\*", old)
        runs = f"{first[1] if first else ''} Newer, {', '.join(new)}: {line}."
    parts = [f"**These numbers are {runs}**\n\n{summary(rows)}", *(kept | new).values()]
    return "".join(parts).rstrip() + "\n", files


def split(text: str) -> list[str]:
    """The text before the first section, and the sections."""
    return re.split(r"^(?=## )", text, flags=re.M)


def name_of(section: str) -> str:
    """The experiment of a section: the name of its data."""
    found = re.search(r"data/(\w+)\.parquet", section)
    return found[1] if found else section.splitlines()[0]


def summary(rows: list[list[str]]) -> str:
    """How many claims were seen, and the list of them, those that hold first; forms of a claim share a row."""
    counts = {where: Counter(row[1] for row in rows if row[3] == where) for where in dict.fromkeys(r[3] for r in rows)}
    used = [verdict for verdict in VERDICTS if any(counts[where][verdict] for where in counts)]
    total = sum(counts.values(), Counter())
    lines = [f"| claims about | {' | '.join(used)} |", "|---" * (len(used) + 1) + "|"]
    lines += [f"| {where} | {' | '.join(str(counts[where][v]) for v in used)} |" for where in counts]
    lines += [f"| **all** | {' | '.join(f'**{total[v]}**' for v in used)} |"]
    claims: dict[tuple[str, str], dict[str | None, str]] = {}
    for claim, verdict, _, where in rows:
        says, form = FORM.match(claim).groups()
        claims.setdefault((says, where), {})[form] = verdict
    lines += ["", "| claim of the paper | seen | about |", "|---|---|---|"]
    for (says, where), seen in sorted(claims.items(), key=lambda item: _strength(item[1].values())):
        verdicts = (
            f"{form}: **{seen[form]}**" if form else f"**{seen[form]}**" for form in (*FORMS, None) if form in seen
        )
        lines.append(f"| {says} | {', '.join(verdicts)} | {where} |")
    return (
        "\n".join(lines) + "\n\nThe numbers and the rule behind every verdict: [claims.csv](reproduce/claims.csv).\n\n"
    )


def _strength(verdicts: Iterable[str]) -> tuple[int, int]:
    """The weakest verdict on a claim, then the strongest."""
    places = [VERDICTS.index(verdict) for verdict in verdicts]
    return max(places), min(places)


def table_rows(text: str) -> list[list[str]]:
    """The cells of the rows of a table, without its header and without bold."""
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("*") for cell in CELLS.split(line)[1:-1]] for line in lines]


def without_tables(section: str) -> tuple[str, str]:
    """A section up to its first table, and all its tables as CSV: heading of the table, then its columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    kept, *tables = re.split(r"^(?=### )", section, flags=re.M)
    for table in tables:
        title, header = table.splitlines()[0].removeprefix("### "), CELLS.split(_header(table))[1:-1]
        writer.writerow(["table", *(cell.strip().replace("\\|", "|") for cell in header)])
        writer.writerows([title, *(cell.replace("\\|", "|") for cell in row)] for row in table_rows(table))
    return kept, out.getvalue()


def _header(table: str) -> str:
    return next(line for line in table.splitlines() if line.startswith("|"))


def short_alt(section: str) -> str:
    """A section whose pictures have the first sentence of their caption as alternative text; the caption is below."""
    return re.sub(r"^!\[([^\].:]*)[^\]]*\]\(", r"![\1](", section, flags=re.M)


def csv_text(header: tuple[str, ...], rows: list[list[str]]) -> str:
    """Rows below their header, without Markdown's escapes."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *([c.replace("\\|", "|") for c in row] for row in rows)])
    return out.getvalue()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/make_reproduce.py FOLDER")
    for path in put(Path(sys.argv[1])):
        print(path)
