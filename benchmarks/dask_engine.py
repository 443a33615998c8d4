"""What a Dask cluster costs and gains: one sweep of the learner on threads and on workers of this machine.

    python benchmarks/dask_engine.py                                    (two workers of one thread at most)
    python benchmarks/dask_engine.py --episodes 2000 --repeats 3        (a quick look)
    python benchmarks/dask_engine.py --out cluster.json                 (stores all times)

A sweep is count, update, evaluate: what `decpomdp learn EPISODES` does again and again. On every engine the first one
is not timed, and all must end with the same counts, bit by bit, or the script fails. The overhead of an iteration is
what one worker of one thread takes more than one thread on the same data; data of a few episodes show it alone.
Seconds are medians over the repeats, with the least and the most.
"""

import argparse
import json
import os
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

HORIZON = 50


def task_of(data, nodes, threads, cluster=None):
    from decpomdp.filtering.filter import lay_out
    from decpomdp.learners.behaviour import log_behaviour
    from decpomdp.learners.sweep import Task
    from decpomdp.learners.weighing import by_reward

    steps = by_reward(data, log_behaviour(data))
    return Task(lay_out(data, nodes, cluster), steps, evidence=float(data.count), power=1.0, threads=threads)


def timed(data, nodes, repeats, threads, cluster=None):
    """([seconds of a sweep], the bytes of the last counts)."""
    from decpomdp.engines.threads import serial_products
    from decpomdp.learners.priors import StickBreaking
    from decpomdp.learners.start import beginning
    from decpomdp.learners.sweep import count, evaluate, update

    took = []
    with serial_products():
        task = task_of(data, nodes, threads, cluster)
        now = evaluate(task, beginning(data, StickBreaking(), "random", nodes, 1))
        for _ in range(repeats + 1):
            begin = time.perf_counter()
            counts = count(task, now)
            now = evaluate(task, update(now, counts))
            took.append(time.perf_counter() - begin)
    return took[1:], b"".join(table.tobytes() for c in counts for table in (c.visits, c.moves))


def shown(took):
    middle, low, high = (1e3 * seconds for seconds in (statistics.median(took), min(took), max(took)))
    digits = 0 if middle >= 10 else 2
    return f"{middle:.{digits}f} ms ({low:.{digits}f} - {high:.{digits}f})"


def compare(episodes, nodes, repeats, most):
    """Seconds of sweeps: {agent_steps, one thread, workers: {count: ...}}."""
    import decpomdp as dp
    from decpomdp.engines.cluster import Cluster

    data = dp.simulate("dectiger", episodes=episodes, horizon=HORIZON, seed=1)
    one, wanted = timed(data, nodes, repeats, 1)
    measured = {"agent_steps": data.actions.size, "thread": one, "workers": {}}
    for workers in range(1, most + 1):
        with Cluster(workers=workers) as cluster:
            measured["workers"][str(workers)], found = timed(data, nodes, repeats, None, cluster)
        if found != wanted:
            raise SystemExit(f"{workers} workers: other counts than on one thread")
    return measured


def latency(tasks):
    """Seconds of tasks that do nothing, one at a time, and processor time of each; the scheduler runs in here."""
    from decpomdp.engines.cluster import Cluster, same

    with Cluster(workers=1) as cluster:
        cluster.results([cluster.submit(same, 0)])
        processor = time.process_time()
        cluster.results([cluster.submit(same, n) for n in range(tasks)])
        own = (time.process_time() - processor) / tasks
        single = []
        for n in range(20):
            begin = time.perf_counter()
            cluster.results([cluster.submit(same, n)])
            single.append(time.perf_counter() - begin)
    return {"seconds": single, "processor": own}


def part(kept):
    """The figures as Markdown."""
    most = max(len(each["workers"]) for each in kept["sweeps"])
    heads = ["agent-steps", "1 thread", *(f"{n + 1} worker{'s' * (n > 0)}" for n in range(most))]
    lines = [f"| {' | '.join([*heads, f'{most} workers over one'])} |", "|---" * (len(heads) + 1) + "|"]
    for each in kept["sweeps"]:
        took = [each["thread"], *each["workers"].values()]
        gain = statistics.median(took[1]) / statistics.median(took[-1])
        lines.append(f"| {each['agent_steps']:,} | {' | '.join(map(shown, took))} | {gain:.2f} |")
    least = min(kept["sweeps"], key=lambda each: each["agent_steps"])
    more = statistics.median(least["workers"]["1"]) - statistics.median(least["thread"])
    return "\n".join(
        [
            *lines,
            "",
            f"Medians of {len(least['thread'])} sweeps, the least and the most in brackets; {kept['nodes']} nodes. The",
            f"machine has {kept['cores']} cores, and {kept['load'][0]:.1f} processes wanted them when it began,",
            f"{kept['load'][1]:.1f} when it ended: the more of them, the less the seconds say. The overhead of an",
            f"iteration is {more * 1e3:.3g} ms, on data so small that there is hardly anything else. A task that does",
            f"nothing came back after {shown(kept['task']['seconds'])}; of that, scheduler and client take",
            f"{kept['task']['processor'] * 1e3:.2g} ms of processor time.",
            "",
        ]
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, nargs="+", default=[100, 20_000])
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2, help="at most")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    load = [os.getloadavg()[0]]
    kept = {
        "nodes": options.nodes,
        "cores": len(os.sched_getaffinity(0)),
        "task": latency(options.tasks),
        "sweeps": [compare(episodes, options.nodes, options.repeats, options.workers) for episodes in options.episodes],
        "load": [*load, os.getloadavg()[0]],
    }
    if options.out:
        options.out.write_text(json.dumps(kept, indent=2) + "\n")
    print(part(kept), end="")


if __name__ == "__main__":
    main()
