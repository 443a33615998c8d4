"""Frozen results: digests of the teams and traces of nine methods on three problems with two seeds.

    python benchmarks/frozen.py                    compare with benchmarks/frozen.json; exit code 1 if anything differs
    python benchmarks/frozen.py --only em pbvi     some methods
    python benchmarks/frozen.py --resumed          three runs that are killed and resumed through the command
    python benchmarks/frozen.py --write            store the present results

Budgets are steps or iterations, so that a result does not depend on the machine's speed. A trace is compared column by
column, without the columns that hold seconds; columns that only one side has are reported and do not count.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import decpomdp as dp
from decpomdp.io.team import team_to_json

REFERENCE = Path(__file__).with_name("frozen.json")
MODELS, SEEDS = ("dectiger", "recycling", "gridsmall"), (1, 2)


def episodes(problem, seed):
    return dp.simulate(problem, "random", episodes=300, horizon=8, seed=seed)


METHODS = {
    "search": lambda p, s: dp.learn(p, "search", steps=12_000_000, seed=s),
    "sbpr": lambda p, s: dp.learn(p, "sbpr", iterations=40, seed=s),
    "mcem": lambda p, s: dp.learn(p, "mcem", iterations=170, seed=s),
    "many": lambda p, s: dp.learn(p, "sbpr", iterations=12, seed=s),
    "episodes": lambda p, s: dp.learn(
        episodes(p, s), dp.Sbpr(preset="default" if s == 1 else "as-printed", truncation=8, sweeps=40), seed=s
    ),
    "em": lambda p, s: dp.plan(p, "em", nodes=2, iterations_per_start=40, restarts=6, seed=s),
    "periem": lambda p, s: dp.plan(p, "periem", restarts=5, seed=s),
    "pbvi": lambda p, s: dp.plan(p, "pbvi", epsilon=0.05, beliefs=150, seed=s),
    "fb-hsvi": lambda p, s: dp.plan(p, "fb-hsvi", iterations=2, epsilon=0.1, seed=s),
}
PROBLEMS = {"many": ("traffic:3", "traffic:4", "traffic:5")}


def digest(value) -> str:
    return hashlib.sha256(value if isinstance(value, bytes) else repr(value).encode()).hexdigest()[:16]


def result(method: str, problem: str, seed: int) -> dict:
    """Digests of one run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = METHODS[method](problem, seed)
    columns = {key: [row[key] for row in fit.trace] for key in fit.trace[0] if "seconds" not in key}
    trace = {
        key: digest([float(x) if isinstance(x, int | float) else x for x in column]) for key, column in columns.items()
    }
    return {"team": digest(team_to_json(fit.team)), "stopped": fit.stopped, "rows": len(fit.trace), "trace": trace}


RESUMED = {  # the same runs as commands
    "search dectiger 1": "learn dectiger --steps 12000000 --seed 1",
    "em dectiger 1": "plan dectiger --method em --nodes 2 --iterations-per-start 40 --restarts 6 --seed 1",
    "fb-hsvi recycling 1": "plan recycling --iterations 2 --epsilon 0.1 --seed 1",
}


def resumed(line: str) -> dict:
    """The digest of a team whose run is killed after its first checkpoint and resumed."""
    command, arguments = [sys.executable, "-m", "decpomdp"], line.split()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        own = [*command, *arguments, "--out", str(run), "--no-report", "--quiet", "--checkpoint-every", "0"]
        with subprocess.Popen(own, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and not (run / "checkpoint.bin").exists():
                time.sleep(0.005)
            process.kill()
        subprocess.run([*command, arguments[0], "--resume", str(run), "--no-report", "--quiet"], check=True)
        return {"team": digest((run / "team.json").read_bytes())}


def differences(old: dict, new: dict) -> list[str]:
    found = [key for key in ("team", "stopped", "rows") if old[key] != new[key]]
    return found + [
        f"trace:{key}" for key in old["trace"] if key in new["trace"] and old["trace"][key] != new["trace"][key]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--resumed", action="store_true")
    given = parser.parse_args()
    kept = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    different = 0
    for name, line in RESUMED.items() if given.resumed else ():
        same = resumed(line)["team"] == kept[name]["team"]
        different += not same
        print(f"{name}, killed and resumed: {'same' if same else 'DIFFERS'}", flush=True)
    if given.resumed:
        print(f"{different} differ")
        return int(different > 0)
    for method in given.only:
        for problem in PROBLEMS.get(method, MODELS):
            for seed in SEEDS:
                name, new = f"{method} {problem} {seed}", result(method, problem, seed)
                moved = differences(kept[name], new) if name in kept and not given.write else []
                missing = [] if name not in kept else sorted(set(kept[name]["trace"]) ^ set(new["trace"]))
                different += bool(moved)
                said = "stored" if given.write else "DIFFERS: " + ", ".join(moved) if moved else "same"
                print(f"{name}: {said}{' (columns: ' + ', '.join(missing) + ')' if missing else ''}", flush=True)
                if given.write:
                    kept[name] = new
    if given.write:
        REFERENCE.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"{different} differ")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
