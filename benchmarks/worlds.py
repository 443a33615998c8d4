"""World models from random logs.

    python benchmarks/worlds.py boxpushing 3000 --seeds 1 2 --time-limit 120
    python benchmarks/worlds.py coverage --seeds 1 2 3 --lines FILE

The first prints one line per seed: exact value of the learned team in the true model, value and interval as the logs
support it, states, seconds. `--cpu-clock` counts CPU seconds instead of seconds: for comparisons on a busy machine.
`coverage` learns from logs of small problems and counts the intervals that hold the true value; without a time limit,
but with one round of FB-HSVI, so that the result depends on the seeds alone. Each log is one line of FILE; logs that
have a line are not learned again.
"""

import argparse
import statistics
import time
import warnings
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import decpomdp as dp
from decpomdp.core import run
from decpomdp.interaction.world import method

SMALL = (  # problems that are fitted in a few seconds, and numbers of episodes
    ("recycling", (100, 1000)),
    ("generated:random,agents=3,size=3,seed=17", (1000,)),
    ("generated:sensing,agents=2,seed=17", (1000,)),
    ("firefighting:2,2,2", (1000,)),
    ("generated:random,agents=2,size=3,seed=17", (1000,)),
    ("dectiger", (300, 1000)),
    ("generated:relay,agents=2,seed=17", (1000,)),
    ("generated:door,agents=2,seed=17", (300, 1000)),
    ("dectiger:3", (1000,)),
)


def coverage(seeds: list[int], path: Path) -> None:
    """Append one line per log to `path`, then print the shares of covered intervals and of warnings."""
    done = [tuple(row[:3]) for row in lines_of(path)]
    method.ROUNDS = 1  # of FB-HSVI: the interval is of whichever team was planned
    for seed, (name, sizes) in product(seeds, SMALL):
        true = dp.load(name, discount=0.9)
        for count in sizes:
            if (name, str(count), str(seed)) in done:
                continue
            began = time.process_time()
            logs = dp.simulate(true, "random", episodes=count, horizon=20, seed=seed)
            fit = dp.learn(logs, "world", iterations=10_000, seed=seed, threads=1)
            facts, value = fit.facts, dp.evaluate(fit.team, true).value
            spent = f"{time.process_time() - began:.0f}"
            numbers = [f"{value:.5g}", *("" if facts[key] is None else f"{facts[key]:.5g}" for key in ("low", "high"))]
            line = "\t".join([name, str(count), str(seed), *numbers, spent, facts["warnings"]])
            print(line, flush=True)
            with path.open("a") as file:
                file.write(f"{line}\n")
    summary(lines_of(path))


def lines_of(path: Path) -> list[list[str]]:
    """The columns of every log: problem, episodes, seed, true value, low, high, CPU seconds, warnings."""
    return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []


def summary(rows: list[list[str]]) -> None:
    """Print how many intervals hold the true value, their widths, and the warnings."""
    given = [
        (name, float(value), float(low), float(high), told) for name, _, _, value, low, high, _, told in rows if low
    ]
    for text, chosen in (("", given), (" without a warning", [row for row in given if not row[-1]])):
        covered = sum(low <= value <= high for _, value, low, high, _ in chosen)
        print(f"{covered} of {len(chosen)} intervals{text} hold the true value")
    for problem in dict.fromkeys(row[0] for row in given):
        own = [row for row in given if row[0] == problem]
        width = statistics.median(high - low for _, _, low, high, _ in own)
        held = sum(low <= value <= high for _, value, low, high, _ in own)
        print(f"  {problem}: {held} of {len(own)}, median width {width:.3g}")
    large = [bool(row[-1]) for row in rows if int(row[1]) >= 1000]
    print(f"{len(rows)} logs; warnings on {sum(large)} of {len(large)} with 1000 episodes or more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", help="a problem, or `coverage`")
    parser.add_argument("episodes", type=int, nargs="?", default=3000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cpu-clock", action="store_true")
    parser.add_argument("--lines", type=Path, default=Path("coverage.txt"), help="file of `coverage`")
    parser.add_argument("--rows", action="store_true", help="print the trace too")
    options = parser.parse_args()
    if options.cpu_clock:
        run.time = SimpleNamespace(monotonic=time.process_time, process_time=time.process_time, sleep=time.sleep)
    warnings.simplefilter("ignore", dp.LearningWarning)
    if options.problem == "coverage":
        coverage(options.seeds, options.lines)
        return
    true = dp.load(options.problem, discount=0.9)
    for seed in options.seeds:
        logs = dp.simulate(true, "random", episodes=options.episodes, horizon=20, seed=seed)
        began, cpu = time.monotonic(), time.process_time()
        watch = (lambda row: print(row, flush=True)) if options.rows else None
        limits = {"time_limit": options.time_limit, "threads": options.threads, "seed": seed}
        fit = dp.learn(logs, "world", **limits, watch=watch)
        facts, value = fit.facts, dp.evaluate(fit.team, true).value
        span = "no interval" if facts["low"] is None else f"[{facts['low']:.4g}, {facts['high']:.4g}]"
        spent = f"{time.monotonic() - began:.0f} s, {time.process_time() - cpu:.0f} CPU s"
        print(
            f"{options.problem} {options.episodes} seed {seed}: value {value:.4f}, from the logs {facts['value']:.4f} "
            f"{span}, states {facts['states']} memory {facts['memory']} worlds {facts['worlds']}, "
            f"{facts['planned_by']}, {fit.stopped}, {spent}; {facts['warnings']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
