"""Put the results of a run into the documents: python docs/make_reproduce.py FOLDER

FOLDER is what `decpomdp reproduce` wrote. What `index.md` in it says goes between the two marks of `reproduce.md`, its
figures go to `pictures/reproduce_NAME.png`. Everything outside the marks is written by hand.
"""

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
BEGIN, END = "<!-- made by docs/make_reproduce.py: begin -->", "<!-- made by docs/make_reproduce.py: end -->"
FIGURE = re.compile(r"\]\(figures/(\w+\.png)\)")
DOCUMENT = re.compile(r"\bdocs/(\w+\.md)\b")


def put(folder: Path, docs: Path = DOCS) -> list[Path]:
    """Write the page and its pictures; says which files those are."""
    page, told = docs / "reproduce.md", (folder / "index.md").read_text(encoding="utf-8")
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{page}: expected the marks {BEGIN} and {END}")
    pictures = [docs / "pictures" / f"reproduce_{name}" for name in FIGURE.findall(told)]
    for name, target in zip(FIGURE.findall(told), pictures, strict=True):
        shutil.copyfile(folder / "figures" / name, target)
    page.write_text(before + BEGIN + "\n\n" + _adapted(told) + "\n" + END + after, encoding="utf-8")
    return [page, *pictures]


def _adapted(told: str) -> str:
    """The page has a title of its own; figures and other documents are elsewhere."""
    _, _, body = told.partition("\n\n")
    line, _, rest = body.partition("\n\n")
    linked = DOCUMENT.sub(r"[\1](\1)", FIGURE.sub(r"](pictures/reproduce_\1)", rest))
    return f"**These numbers are of this run: {line}.**\n\n{linked}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/make_reproduce.py FOLDER")
    for path in put(Path(sys.argv[1])):
        print(path)
