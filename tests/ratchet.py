"""The size of the project and its start-up times, against stored limits (`make test` runs this with the tests).

    python tests/ratchet.py            print the figures; exit code 1 if one of them is above its limit
    python tests/ratchet.py --write    store the present figures in ratchet.json

`ratchet.json` has, for every figure that does not depend on the machine, what was reached and how much it may grow.
Times are printed only. CONTRIBUTING.md says how to raise a limit on purpose.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_suffix(".json")
NOT_COUNTED = ("formulas.md", "reproduce.md", "licences.md", "reference/commands.md")  # derivations; generated pages
sys.path.append(str(ROOT / "benchmarks"))


def main() -> int:
    """Print every figure with its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store the present figures")
    given = parser.parse_args()
    limits, found = json.loads(LIMITS.read_text()), figures()
    if given.write:
        limits = {name: {**limit, "reached": found[name]} for name, limit in limits.items()}
        LIMITS.write_text(json.dumps(limits, indent=2) + "\n")
    over = exceeded(found, limits)
    for name, value in found.items():
        shown = f"{value:.2f} s" if isinstance(value, float) else f"{value:,}"
        limit = f"(at most {limits[name]['reached'] + limits[name]['allowance']:,})" if name in limits else ""
        print(f"{name:44}{shown:>9}  {limit}{'  TOO MUCH' if name in over else ''}")
    if over:
        print(f"error: {', '.join(over)}: above the limit in tests/ratchet.json (see CONTRIBUTING.md)")
    return int(bool(over))


def exceeded(found: dict[str, float], limits: dict[str, dict[str, int]]) -> list[str]:
    """The figures that grew by more than their allowance."""
    return [name for name, limit in limits.items() if found[name] > limit["reached"] + limit["allowance"]]


def figures() -> dict[str, float]:
    """Whole numbers do not depend on the machine; seconds are processor time."""
    import decpomdp

    compiled = first_command()
    source, tests = lines(ROOT / "src"), lines(ROOT / "tests")
    pages = {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")}
    pages -= {ROOT / "docs" / page for page in NOT_COUNTED}
    return {
        "names at the front door": len(decpomdp.__all__),
        "kernels compiled by the first learn": compiled["kernels"],
        "specialisations of these kernels": compiled["specialisations"],
        "lines of src": sum(source),
        "modules of src": len(source),
        "lines of tests": sum(tests),
        "words of documentation": sum(len(page.read_text().split()) for page in pages),
        "first learn: compiling": compiled["compiling"],
        "first learn: whole command": compiled["processor"],
        "decpomdp --help": processor_seconds("-m", "decpomdp", "--help"),
        "import decpomdp": processor_seconds("-c", "import decpomdp"),
    }


def lines(folder: Path) -> list[int]:
    """The number of lines of every Python file."""
    return [path.read_bytes().count(b"\n") for path in folder.rglob("*.py")]


def first_command() -> dict[str, float]:
    """What `decpomdp learn dectiger` compiles with an empty cache."""
    from compile_time import COMMANDS, fresh, totals

    with tempfile.TemporaryDirectory() as folder:
        return totals(fresh(COMMANDS["learn"], Path(folder), "cache"))


def processor_seconds(*arguments: str) -> float:
    """Of a Python process, the least of three; the first one may write bytecode."""
    seconds = []
    for _ in range(3):
        before = children()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        seconds.append(children() - before)
    return min(seconds)


def children() -> float:
    """Processor seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
