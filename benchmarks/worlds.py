"""World models from random logs.

    python benchmarks/worlds.py boxpushing 3000 --seeds 1 2 --time-limit 120
    python benchmarks/worlds.py coverage --seeds 1 2 3

The first prints one line per seed: exact value of the learned team in the true model, value and interval as the logs
support it, states, seconds. `--cpu-clock` counts CPU seconds instead of seconds: for comparisons on a busy machine.
`coverage` learns from logs of small problems and counts the intervals that hold the true value; without a time limit,
so that the result depends on the seeds alone.
"""

import argparse
import statistics
import time
import warnings
from types import SimpleNamespace

import decpomdp as dp
from decpomdp.core import run

SMALL = (  # problems that are fitted in a few seconds, and numbers of episodes
    ("dectiger", (300, 1000)),
    ("recycling", (100, 1000)),
    ("generated:sensing,agents=2,seed=17", (1000,)),
    ("generated:relay,agents=2,seed=17", (1000,)),
    ("generated:random,agents=2,seed=17", (1000,)),
)


def coverage(seeds: list[int]) -> None:
    """Print one line per log, then the shares of covered intervals and of warnings."""
    rows = []
    for seed in seeds:
        for name, sizes in SMALL:
            true = dp.load(name, discount=0.9)
            for count in sizes:
                logs = dp.simulate(true, "random", episodes=count, horizon=20, seed=seed)
                fit = dp.learn(logs, "world", iterations=10_000, seed=seed)
                facts, value = fit.facts, dp.evaluate(fit.team, true).value
                low, high = facts["low"], facts["high"]
                given, warned = low is not None, bool(facts["warnings"])
                rows.append((count, given, warned, given and low <= value <= high, high - low if given else 0.0))
                span = f"[{low:.4g}, {high:.4g}]" if given else "no interval"
                print(f"{name} {count} seed {seed}: true {value:.4f}, {span}; {facts['warnings']}", flush=True)
    given = [row for row in rows if row[1]]
    for text, chosen in (("", given), (" without a warning", [row for row in given if not row[2]])):
        width, covered = statistics.median(row[4] for row in chosen) if chosen else 0.0, sum(row[3] for row in chosen)
        print(f"{covered} of {len(chosen)} intervals{text} hold the true value; median width {width:.3g}")
    large = [row[2] for row in rows if row[0] >= 1000]
    print(f"warnings on {sum(large)} of {len(large)} logs of 1000 episodes or more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", help="a problem, or `coverage`")
    parser.add_argument("episodes", type=int, nargs="?", default=3000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cpu-clock", action="store_true")
    parser.add_argument("--rows", action="store_true", help="print the trace too")
    options = parser.parse_args()
    if options.cpu_clock:
        run.time = SimpleNamespace(monotonic=time.process_time, process_time=time.process_time, sleep=time.sleep)
    warnings.simplefilter("ignore", dp.LearningWarning)
    if options.problem == "coverage":
        coverage(options.seeds)
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
