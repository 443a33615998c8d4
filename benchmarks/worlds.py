"""World models from random logs: python benchmarks/worlds.py boxpushing 3000 --seeds 1 2 --time-limit 120.

Prints one line per seed: exact value of the learned team in the true model, value and interval as the logs support
it, states, seconds. `--cpu-clock` counts CPU seconds instead of seconds: for comparisons on a busy machine.
"""

import argparse
import time
import warnings
from types import SimpleNamespace

import decpomdp as dp
from decpomdp.core import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem")
    parser.add_argument("episodes", type=int)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cpu-clock", action="store_true")
    parser.add_argument("--rows", action="store_true", help="print the trace too")
    options = parser.parse_args()
    if options.cpu_clock:
        run.time = SimpleNamespace(monotonic=time.process_time, process_time=time.process_time)
    warnings.simplefilter("ignore", dp.LearningWarning)
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
