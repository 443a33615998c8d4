"""What a first command compiles: kernels, signatures, and seconds of processor time, with an empty cache.

    python benchmarks/compile_time.py                          the commands of COMMANDS, in this order
    python benchmarks/compile_time.py plan                     those whose name begins with "plan"
    python benchmarks/compile_time.py --details                also every specialisation, the most expensive first
    python benchmarks/compile_time.py --json                   the totals, for comparison by a script

Every command runs in a process of its own. `kernels` and `specialisations` do not depend on the machine, seconds do.
Code compiled by a second process at the same time (`core.run.warm_up`) is not listed; its seconds are shown separately.
`own` seconds of a function exclude the functions that it had to wait for; numba's library functions (`np.empty`, ...)
are compiled like ours and listed with their module.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHORT = ["--time-limit", "1"]
COMMANDS = {
    "learn": ["learn", "dectiger", *SHORT, "--out", "learned"],
    "learn EPISODES": ["learn", "logs.parquet", *SHORT, "--out", "fitted"],
    "plan fb-hsvi": ["plan", "dectiger", "--method", "fb-hsvi", *SHORT, "--out", "planned"],
    "plan pbvi": ["plan", "dectiger", "--method", "pbvi", *SHORT, "--out", "planned"],
    "evaluate": ["evaluate", "learned/team.json"],
    "evaluate, sampled": ["evaluate", "learned/team.json", "--test-episodes", "1000"],
}
PREPARATION = [  # with a cache of its own
    ["simulate", "dectiger", "--episodes", "200", "--horizon", "10", "--out", "logs.parquet"],
    ["learn", "dectiger", *SHORT, "--out", "learned"],
]


def measured(arguments: list[str]) -> dict:
    """Run one command in this process and listen to the compiler."""
    from numba.core import event

    open_events: list[list[float]] = []
    rows = []

    class Listener(event.Listener):
        def on_start(self, begun):
            open_events.append([time.thread_time(), 0.0])

        def on_end(self, ended):
            begin, inner = open_events.pop()
            seconds = time.thread_time() - begin
            if open_events:
                open_events[-1][1] += seconds
            function = ended.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            rows.append({"name": name, "signature": str(ended.data["args"]), "own": seconds - inner, "all": seconds})

    event.register("numba:compile", Listener())
    from decpomdp.cli.main import code_of

    code = code_of(arguments)
    elsewhere = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    return {"code": code, "processor": time.process_time(), "elsewhere": elsewhere, "rows": rows}


def fresh(arguments: list[str], folder: Path, cache: str) -> dict:
    """The same in a process of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / cache)}
    command = [sys.executable, str(Path(__file__).resolve()), "--inside", str(folder / "result.json"), *arguments]
    subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return json.loads((folder / "result.json").read_text())


def totals(result: dict) -> dict:
    """Counts and seconds of one command."""
    ours = [row for row in result["rows"] if row["name"].startswith("decpomdp.")]
    return {
        "kernels": len({row["name"] for row in ours}),
        "specialisations": len(ours),
        "library": len(result["rows"]) - len(ours),
        "compiling": round(sum(row["own"] for row in result["rows"]), 2),
        "processor": round(result["processor"], 2),
        "in a second process": round(result["elsewhere"], 2),
    }


def main() -> None:
    if sys.argv[1:2] == ["--inside"]:
        Path(sys.argv[2]).write_text(json.dumps(measured(sys.argv[3:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="?", default="")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = {name: command for name, command in COMMANDS.items() if name.startswith(given.only)}
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if any(arguments[1] in ("logs.parquet", "learned/team.json") for arguments in chosen.values()):
            for arguments in PREPARATION:
                fresh(arguments, folder, "preparation")
        for number, (command, arguments) in enumerate(chosen.items()):
            if "--out" in arguments:
                arguments = [*arguments[:-1], f"{arguments[-1]}-{number}"]
            result = fresh(arguments, folder, f"cache-{number}")
            found[command] = totals(result)
            if not given.json:
                print(f"{command}: " + ", ".join(f"{value} {key}" for key, value in found[command].items()), flush=True)
            if given.details:
                for row in sorted(result["rows"], key=lambda row: -row["own"]):
                    print(f"  {row['own']:6.2f} own {row['all']:6.2f} all  {row['name']}  {row['signature']}")
    if given.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
