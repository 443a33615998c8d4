"""Put benchmark tables into the documents: python docs/make_benchmark.py [FOLDER...]

Every FOLDER is an output of `decpomdp benchmark`. Its table, with the value of every seed, goes to `benchmark.json`, in
place of the table of the same command. All tables go between the two marks of `benchmark.md`, those with many problems
as a summary. Everything outside the marks is written by hand.
"""

import json
import sys
from pathlib import Path
from typing import Any

from decpomdp.domains.load import load
from decpomdp.domains.references import best_value
from decpomdp.experiments.benchmark import (
    BLOCK,
    PLAN,
    BenchmarkPlan,
    finished_runs,
    lines_of,
    suite_problems,
)

DOCS = Path(__file__).parent
BEGIN, END = "<!-- made by docs/make_benchmark.py: begin -->", "<!-- made by docs/make_benchmark.py: end -->"
COMPACT = 10  # problems; larger tables are summarised
CLOSE = (0.001, 0.05)  # of the best known value: equal to it, close to it
HEADER = ("problem", "method", "median", "worst", "best", "best known", "nodes", "seconds", "million steps")


def plan_of(folder: Path) -> BenchmarkPlan:
    """The plan of the folder, with as many seeds as it has."""
    stored = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    plan = {key: stored[key] for key in ("problems", "methods", "time_limit", "steps", "threads")}
    plan.update(problems=tuple(plan["problems"]), methods=tuple(plan["methods"]))
    seeds = {int(found.parent.name.rpartition("-")[2]) for found in folder.glob("*/run.json")}
    return BenchmarkPlan(**plan, seeds=max(seeds, default=0) + 1)


def command_of(plan: BenchmarkPlan) -> str:
    """The command."""
    words = [_problems_of(plan), f"--methods {','.join(plan.methods)}", f"--seeds {plan.seeds}"]
    limits = {"time-limit": plan.time_limit, "steps": plan.steps, "threads": plan.threads}
    return " ".join(["decpomdp benchmark", *words, *(f"--{k} {v:.15g}" for k, v in limits.items() if v is not None)])


def _problems_of(plan: BenchmarkPlan) -> str:
    seed = plan.problems[-1].rpartition("seed=")[2]
    block = int(seed) // BLOCK if seed.isdigit() else 0
    suite = block > 0 and plan.problems == suite_problems(block)
    return f"--suite --block {block}" if suite else f"--problems {','.join(plan.problems)}"


def table_of(folder: Path) -> dict[str, Any]:
    """The table as data."""
    plan = plan_of(folder)
    runs = finished_runs(folder, plan)
    lines = [
        _whole(line, [run.value for run in runs[line["problem"], line["method"]]]) for line in lines_of(folder, plan)
    ]
    return {"command": command_of(plan), "lines": lines}


def _whole(line: dict[str, Any], values: list[float]) -> dict[str, Any]:
    known = None if line["method"] == "pbvi" else best_value(load(line["problem"]))  # now, not when the run started
    return {**line, "known": known, "values": values}


def text_of(table: dict[str, Any]) -> str:
    """The table as Markdown."""
    rows = [HEADER, ("---",) * len(HEADER), *map(_row, table["lines"])]
    if len({line["problem"] for line in table["lines"]}) > COMPACT:
        rows = _compact(table["lines"])
    return "\n".join([f"`{table['command']}`", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _compact(lines: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """How many problems every method solves as well as the best known team, and nearly as well."""
    methods = list(dict.fromkeys(line["method"] for line in lines))
    rows = [("problems", *methods), ("---",) * (len(methods) + 1)]
    for group, generated in (("named", False), ("generated", True)):
        chosen = [line for line in lines if line["problem"].startswith("generated:") is generated]
        count = len({line["problem"] for line in chosen})
        rows.append((f"{count} {group}", *(_reached(chosen, method) for method in methods)))
    return rows


def _reached(lines: list[dict[str, Any]], method: str) -> str:
    known = [line for line in lines if line["method"] == method and line["known"]]
    gaps = [(line["known"] - line["median"]) / abs(line["known"]) for line in known]
    return " / ".join(str(sum(gap <= close for gap in gaps)) for close in CLOSE)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _row(line: dict[str, Any]) -> tuple[str, ...]:
    values = [_number(line[name]) for name in ("median", "worst", "best", "known")]
    steps = "" if line["steps"] is None else f"{line['steps'] / 1e6:.3g}"
    return (line["problem"], line["method"], *values, line["nodes"], f"{line['seconds']:.0f}", steps)


def put(folders: list[Path], docs: Path = DOCS) -> list[Path]:
    """Write the page and the data; says which files those are."""
    page, data = docs / "benchmark.md", docs / "benchmark.json"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{page}: expected the marks {BEGIN} and {END}")
    stored = json.loads(data.read_text(encoding="utf-8")) if data.is_file() else []
    tables = list({table["command"]: table for table in (*stored, *map(table_of, folders))}.values())
    text = "\n\n".join(map(text_of, tables))
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    data.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    return [page, data]


if __name__ == "__main__":
    for path in put([Path(name) for name in sys.argv[1:]]):
        print(path)
