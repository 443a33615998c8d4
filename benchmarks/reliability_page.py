"""Puts the figures of `reliability.py` and `fuzz.py` on docs/reliability.md, between the markers that name them.

    python benchmarks/reliability_page.py [--reliability reliability.json] [--fuzz fuzz.json] [--cluster cluster.json]

Those of `dask_engine.py` come to docs/howto/cluster.md in the same way.

Only parts for which there are figures are replaced. `make reliability` does all of it.
"""

import argparse
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, CLUSTER = DOCS / "reliability.md", DOCS / "howto/cluster.md"
TARGETS = "| input | executions | accepted | findings | peak memory |\n|---|---|---|---|---|\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reliability", type=Path, default=Path("reliability.json"))
    parser.add_argument("--fuzz", type=Path, default=Path("fuzz.json"))
    parser.add_argument("--cluster", type=Path, default=Path("cluster.json"))
    given = parser.parse_args()
    found = {PAGE: figures(given.reliability, given.fuzz), CLUSTER: engine(given.cluster)}
    if not any(found.values()):
        print("nothing to write: none of the files with figures is there", file=sys.stderr)
        return 2
    for page, tables in found.items():
        if tables:
            page.write_text(written(page.read_text(), tables))
            print(f"{page.name}: wrote {', '.join(tables)}")
    return 0


def engine(cluster: Path) -> dict[str, str]:
    """What a cluster costs and gains, if that was measured."""
    from dask_engine import part

    return {"cluster": part(json.loads(cluster.read_text()))} if cluster.exists() else {}


def figures(reliability: Path, fuzz: Path) -> dict[str, str]:
    """{marker: table} of what there is."""
    from reliability import table

    kept = json.loads(reliability.read_text()) if reliability.exists() else {}
    tables = {part: table(part, found) for part, found in kept.items()}
    if fuzz.exists():
        tables["fuzz"] = fuzzed(json.loads(fuzz.read_text()), fuzz.with_suffix(".findings"))
    return tables


def fuzzed(kept: dict, findings: Path) -> str:
    """What was thrown at every reader."""
    lines, sums = [], [0, 0, 0]
    for name, one in sorted(kept.items(), key=lambda item: -item[1]["executions"]):
        folder = findings / name
        found = len([path for path in folder.iterdir() if path.suffix != ".txt"]) if folder.is_dir() else 0
        share = one["accepted"] / one["executions"]
        lines.append(f"| {name} | {one['executions']:,} | {share:.0%} | {found} | {one['megabytes']} MB |")
        sums = [sums[0] + one["executions"], sums[1] + found, max(sums[2], one["megabytes"])]
    return TARGETS + "\n".join([*lines, f"| all | {sums[0]:,} | | {sums[1]} | {sums[2]} MB |"]) + "\n"


def written(page: str, tables: dict[str, str]) -> str:
    """The page with these tables between their markers."""
    for name, text in tables.items():
        marked = re.compile(rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->\n)", re.S)
        page, count = marked.subn(lambda found, text=text: f"{found[1]}\n{text}\n{found[2]}", page)
        if count != 1:
            raise SystemExit(f"expected markers for {name} once, got {count}")
    return page


if __name__ == "__main__":
    sys.exit(main())
